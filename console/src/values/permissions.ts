// Rights in words, and permissions for single devices.

/** Returns `ROLE_ALARM_READ` as "alarm read". */
export const roleInWords = (role: string) =>
  role
    .replace(/^ROLE_/, "")
    .toLowerCase()
    .replaceAll("_", " ");

/** `ALARM:*:READ` in words: alarm read; `EVENT:plat_Position:*`: event with plat_Position, read and write. */
export function permissionInWords(permission: string): string {
  const [api, fragment, right] = permission.split(":");
  const what = api === "*" ? "everything" : api.toLowerCase().replaceAll("_", " ");
  const may = { READ: "read", ADMIN: "write", "*": "read and write" }[right] ?? right;
  return `${what}${fragment === "*" ? "" : ` with ${fragment},`} ${may}`;
}

/** Parses `<device or group>: ALARM:*:READ, EVENT:*:READ`, with one line for each. */
export function permissionsOf(text: string): Record<string, string[]> {
  const lines = text.split("\n").filter((line) => line.trim());
  return Object.fromEntries(
    lines.map((line) => {
      const [, id, permissions] = line.match(/^\s*(\d+)\s*:\s*(\S.*)$/) ?? [];
      if (!id) throw new Error(`"${line}" does not begin with the id of a device and a colon.`);
      return [
        id,
        permissions
          .split(",")
          .map((one) => one.trim())
          .filter(Boolean),
      ];
    }),
  );
}

type Permissions = Record<string, string[]>;

/** A permission for a device or a group of devices, and what gives it. */
export interface Held {
  id: string;
  permissions: string[];
  from: string;
}

/** Returns the permissions that a user holds itself, and those that its groups give it. */
export function heldBy(own: Permissions, groups: { name: string; devicePermissions?: Permissions }[]): Held[] {
  const holders = groups.map(({ name, devicePermissions }): [string, Permissions] => [
    `group ${name}`,
    devicePermissions ?? {},
  ]);
  return [["your own", own] as [string, Permissions], ...holders].flatMap(([from, of]) =>
    Object.entries(of).map(([id, permissions]) => ({ id, permissions, from })),
  );
}
