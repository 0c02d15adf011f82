// The roles that a user or a group holds directly, as boxes of a form.

import { call } from "../../api";
import { readPages } from "../../collection";
import type { Role } from "../../reference";
import { path } from "../../values/addresses";
import { roleInWords } from "../../values/permissions";

/** Reads all roles that there are. */
export const readRoles = async () => (await readPages<Role>("/user/roles?pageSize=2000", "roles", { keyOf })).items;
const keyOf = ({ name }: Role) => name;

export function RoleBoxes(props: { label: string; roles: Role[]; held: Set<string>; disabled?: boolean }) {
  return (
    <div class="checks" role="group" aria-label={props.label}>
      {props.roles.map(({ name }) => (
        <label key={name} class="check" title={name}>
          <input
            type="checkbox"
            name="role"
            value={name}
            defaultChecked={props.held.has(name)}
            disabled={props.disabled}
          />{" "}
          {roleInWords(name)}
        </label>
      ))}
    </div>
  );
}

/** Gives a holder the roles of a form, and takes the others away. `address` is that of the user or the group. */
export async function setRoles(address: string, form: FormData, roles: Role[], held: Set<string>): Promise<void> {
  const wanted = new Set(form.getAll("role").map(String));
  for (const role of roles) {
    if (wanted.has(role.name) && !held.has(role.name))
      await call("POST", `${address}/roles`, { body: { role: { self: role.self } } });
    if (!wanted.has(role.name) && held.has(role.name)) await call("DELETE", address + path`/roles/${role.name}`);
  }
}
