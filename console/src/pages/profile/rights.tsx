// The rights of the user who is logged in: its roles, and its permissions for single devices with their origin.

import { get, path, withQuery } from "../../api";
import { useLoad } from "../../load";
import type { CurrentUser, User } from "../../reference";
import { link } from "../../router";
import { session } from "../../session";
import type { ManagedObject } from "../../types";
import { Card, States } from "../../ui/kit";
import { Standing } from "../../ui/standing";
import { permissionInWords, roleInWords } from "../../values/words";

type Permissions = Record<string, string[]>;
/** A permission for a device or a group of devices, and what gives it. */
interface Permission {
  id: string;
  name: string;
  permissions: string[];
  from: string;
}
interface Rights {
  roles: string[];
  permissions: Permission[];
}

/** The permissions whose devices are named. */
const MOST_NAMES = 200;

/** Reads the rights. The current user has no groups, so its record among the users is read too. */
async function read(): Promise<Rights> {
  const { tenant, user } = session.peek()!;
  const [me, record] = await Promise.all([
    get<CurrentUser>("/user/currentUser"),
    get<User>(path`/user/${tenant}/users/${user}`),
  ]);
  const holders: [string, Permissions][] = [
    ["your own", me.devicePermissions ?? {}],
    ...(record.groups?.references ?? []).map(({ group }): [string, Permissions] => [
      `group ${group.name}`,
      group.devicePermissions ?? {},
    ]),
  ];
  const held = holders.flatMap(([from, of]) =>
    Object.entries(of).map(([id, permissions]) => ({ id, permissions, from })),
  );
  const ids = [...new Set(held.map(({ id }) => id))].slice(0, MOST_NAMES);
  const found =
    ids.length === 0
      ? []
      : (
          await get<{ managedObjects: ManagedObject[] }>(
            withQuery("/inventory/managedObjects", { ids: ids.join(","), pageSize: MOST_NAMES, withChildren: false }),
          )
        ).managedObjects;
  const names = new Map(found.map(({ id, name }) => [id, name]));
  return {
    roles: (me.effectiveRoles ?? []).map(({ name }) => name).sort(),
    permissions: held.map((one) => ({ ...one, name: names.get(one.id) ?? one.id })),
  };
}

export function RightsCard() {
  const rights = useLoad(read, [session.value?.user]);
  return (
    <Card title="Rights" aside={<Standing of={rights} />}>
      <States of={rights}>
        {({ roles, permissions }) => (
          <>
            <p>{roles.map(roleInWords).join(", ") || "You hold no role."}</p>
            {permissions.length > 0 && (
              <ul class="rows" aria-label="Permissions for single devices and groups of devices">
                {permissions.map((one) => (
                  <li key={`${one.from} ${one.id}`}>
                    <a href={link(["devices", one.id])}>{one.name}</a>
                    <span class="grow">{one.permissions.map(permissionInWords).join("; ")}</span>
                    <span class="faint nowrap">{one.from}</span>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </States>
    </Card>
  );
}
