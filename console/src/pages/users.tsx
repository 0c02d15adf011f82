// Users and groups of the tenant.

import { useSignal } from "@preact/signals";
import { call, get, withQuery } from "../api";
import { useLoad } from "../load";
import { route, setParams } from "../router";
import { can, session } from "../session";
import { Time } from "../time";
import { Action, Card, Choice, Dialog, Field, Form, Page, States, tell } from "../ui/kit";

interface User {
  userName: string;
  email?: string;
  enabled: boolean;
  owner?: string;
  lastPasswordChange?: string;
  groups?: { references: { group: Group }[] };
  roles?: { references: { role: { name: string } }[] };
}
interface Group {
  id: number;
  name: string;
  description?: string;
}

const base = () => `/user/${encodeURIComponent(session.value!.tenant)}`;

export function Users() {
  const devices = route.value.params.get("kind") === "devices";
  const users = useLoad(() => get<{ users: User[] }>(withQuery(`${base()}/users`, { pageSize: 2000, onlyDevices: devices })).then((page) => page.users), [devices]);
  const groups = useLoad(() => get<{ groups: Group[] }>(`${base()}/groups?pageSize=2000`).then((page) => page.groups), []);
  const creating = useSignal(false);
  const mayChange = can("ROLE_USER_MANAGEMENT_ADMIN");
  const path = (user: User) => `${base()}/users/${encodeURIComponent(user.userName)}`;
  return (
    <Page title="Users" actions={mayChange && <button type="button" class="primary" onClick={() => (creating.value = true)}>New user</button>}>
      <div class="filters">
        <Choice label="Kind" value={devices ? "devices" : ""} onChange={(kind) => setParams({ kind })} options={[["", "People"], ["devices", "Devices"]]} />
      </div>
      <Card>
        <States of={users} isEmpty={(list) => list.length === 0} empty={<p>{devices ? "No device has a user yet." : "There is no user."}</p>}>
          {(list) => (
            <div class="scroll" tabIndex={0} role="region" aria-label="Users">
              <table>
                <thead><tr><th scope="col">User</th><th scope="col">Groups</th><th scope="col">Roles of its own</th><th scope="col">Password changed</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
                <tbody>
                  {list.map((user) => (
                    <tr key={user.userName} class={user.enabled ? "" : "past"}>
                      <td><b>{user.userName}</b> <span class="faint">{user.email}</span>{!user.enabled && <span class="mark">disabled</span>}</td>
                      <td>{user.groups?.references.map(({ group }) => group.name).join(", ")}</td>
                      <td class="faint" title={user.roles?.references.map(({ role }) => role.name).join("\n")}>{user.roles?.references.length ?? 0}</td>
                      <td><Time at={user.lastPasswordChange} /></td>
                      <td>
                        {mayChange && user.userName !== session.value?.user && (
                          <span class="row-actions">
                            <Action class="small" label={`${user.enabled ? "Disable" : "Enable"} ${user.userName}`} run={() => call("PUT", path(user), { body: { enabled: !user.enabled } }).then(users.reload)}>{user.enabled ? "Disable" : "Enable"}</Action>
                            <Action class="small" label={`Delete ${user.userName}`} confirm="Delete?" run={() => call("DELETE", path(user)).then(users.reload)}>Delete</Action>
                          </span>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </States>
      </Card>
      <Card title="Groups">
        <States of={groups} isEmpty={(list) => list.length === 0}>
          {(list) => <ul class="chips">{list.map((group) => <li key={group.id} class="chip" title={group.description}>{group.name}</li>)}</ul>}
        </States>
      </Card>
      {creating.value && <NewUser groups={groups.data.value ?? []} onClose={() => (creating.value = false)} onCreated={users.reload} />}
    </Page>
  );
}

function NewUser({ groups, onClose, onCreated }: { groups: Group[]; onClose: () => void; onCreated: () => void }) {
  const send = async (form: FormData) => {
    const userName = String(form.get("userName")).trim();
    const { self } = await call<{ self: string }>("POST", `${base()}/users`, { body: { userName, password: form.get("password"), email: form.get("email") || undefined } });
    const group = form.get("group");
    if (group) await call("POST", `${base()}/groups/${group}/users`, { body: { user: { self } } });
    tell(`${userName} can log in now.`);
    onCreated();
    onClose();
  };
  return (
    <Dialog title="New user" onClose={onClose}>
      <Form send={send} action="Create">
        <Field label="User name"><input name="userName" required autocomplete="off" autocapitalize="none" /></Field>
        <Field label="Password" hint="6 to 32 characters"><input name="password" type="password" required minLength={6} maxLength={32} autocomplete="new-password" /></Field>
        <Field label="E-mail"><input name="email" type="email" autocomplete="off" /></Field>
        <Field label="Group" hint="A group gives rights. Without one the user may only log in.">
          <select name="group"><option value="">none</option>{groups.filter((group) => group.name !== "devices").map((group) => <option key={group.id} value={group.id}>{group.name}</option>)}</select>
        </Field>
      </Form>
    </Dialog>
  );
}
