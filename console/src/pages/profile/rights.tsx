// The rights of the user who is logged in: its roles, and its permissions for single devices with their origin.

import { get, path } from "../../api";
import { readObjects } from "../../collection";
import { useLoad } from "../../load";
import type { CurrentUser, User } from "../../reference";
import { link } from "../../router";
import { session } from "../../session";
import { LoadedCard } from "../../ui/loaded";
import { type Held, heldBy, permissionInWords, roleInWords } from "../../values/permissions";

/** A permission with the name of its device or group of devices. */
type Permission = Held & { name: string };

/** The permissions whose devices are named. */
const MOST_NAMES = 200;

/** Reads the rights. The current user has no groups, so its record among the users is read too. */
async function read(): Promise<{ roles: string[]; permissions: Permission[] }> {
  const { tenant, user } = session.peek()!;
  const [me, record] = await Promise.all([
    get<CurrentUser>("/user/currentUser"),
    get<User>(path`/user/${tenant}/users/${user}`),
  ]);
  const groups = record.groups.references.map(({ group }) => group);
  const held = heldBy(me.devicePermissions ?? {}, groups);
  const ids = [...new Set(held.map(({ id }) => id))].slice(0, MOST_NAMES);
  const found = ids.length === 0 ? [] : (await readObjects({ ids: ids.join(","), pageSize: MOST_NAMES })).items;
  const names = new Map(found.map(({ id, name }) => [id, name]));
  return {
    roles: (me.effectiveRoles ?? []).map(({ name }) => name).sort(),
    permissions: held.map((one) => ({ ...one, name: names.get(one.id) ?? one.id })),
  };
}

export function RightsCard() {
  const rights = useLoad(read, [session.value?.user]);
  return (
    <LoadedCard title="Rights" of={rights}>
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
    </LoadedCard>
  );
}
