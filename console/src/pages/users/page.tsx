// Users and groups of the tenant.

import { useSignal } from "@preact/signals";
import { call, count, path } from "../../api";
import { useList } from "../../list";
import { useLoad } from "../../load";
import type { Group, User } from "../../reference";
import { QuietLink } from "../../parts/quiet";
import { chooseParams, route } from "../../router";
import { can, session } from "../../session";
import { Time } from "../../time";
import { TextFilter } from "../../ui/filters";
import {
  Action,
  Button,
  Card,
  Choice,
  Dialog,
  Field,
  Form,
  FormDialog,
  Page,
  StatusMark,
  tell,
  type WindowProps,
} from "../../ui/kit";
import { States } from "../../ui/loaded";
import { ask } from "../../ui/question";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { ListStanding, MoreRows } from "../../ui/standing";
import { permissionsOf } from "../../values/permissions";
import { Groups } from "./groups";
import { readRoles, RoleBoxes, setRoles } from "./roles";

const base = () => path`/user/${session.value!.tenant}`;

export function Users() {
  const devices = route.value.params.get("kind") === "devices";
  const begin = route.value.params.get("name") ?? "";
  const users = useList<User>({
    path: `${base()}/users`,
    member: "users",
    params: { onlyDevices: devices, username: begin },
  });
  const groups = useList<Group>({ path: `${base()}/groups`, member: "groups", pageSize: 2000 });
  const creating = useSignal(false);
  const editing = useSignal<User | null>(null);
  const mayChange = can("ROLE_USER_MANAGEMENT_ADMIN");
  const edit = (user: User) => (editing.value = user);
  const columns: SmallColumn<User>[] = [
    ...COLUMNS,
    [
      "Actions",
      (user) => (
        <span class="row-actions">
          <QuietLink of={{ user: user.userName }} class="button small" label={`Quiet? Explain it for ${user.userName}`}>
            Quiet?
          </QuietLink>
          {mayChange && <Actions of={user} edit={edit} onChanged={users.reload} />}
        </span>
      ),
      "actions",
    ],
  ];
  return (
    <Page
      title="Users"
      sub={<ListStanding of={users} noun="user" />}
      actions={
        mayChange && (
          <Button class="primary" onClick={() => (creating.value = true)}>
            New user
          </Button>
        )
      }>
      <div class="filters">
        <Choice
          label="Kind"
          value={devices ? "devices" : ""}
          onChange={(kind) => chooseParams({ kind })}
          options={[
            ["", "People"],
            ["devices", "Devices"],
          ]}
        />
        <TextFilter label="Begin of the name" param="name" />
      </div>
      <Card>
        <States
          of={users}
          isEmpty={(list) => list.length === 0}
          empty={
            <p>
              {begin
                ? "No user has a name that begins so."
                : devices
                  ? "No device has a user yet."
                  : "There is no user."}
            </p>
          }>
          {(list) => (
            <SmallTable
              label="Users"
              columns={columns}
              rows={list}
              rowClass={(user) => (user.enabled ? undefined : "past")}
            />
          )}
        </States>
        <MoreRows of={users} noun="user" />
      </Card>
      <Groups base={base()} of={groups} mayChange={mayChange} />
      {editing.value && (
        <EditUser
          user={editing.value}
          groups={groups.data.value ?? []}
          onClose={() => (editing.value = null)}
          onChanged={users.reload}
        />
      )}
      {creating.value && (
        <NewUser groups={groups.data.value ?? []} onClose={() => (creating.value = false)} onChanged={users.reload} />
      )}
    </Page>
  );
}

const COLUMNS: SmallColumn<User>[] = [
  [
    "User",
    (user) => (
      <>
        <b>{user.userName}</b> <span class="faint">{user.email}</span>
        {!user.enabled && <span class="mark">disabled</span>}
      </>
    ),
  ],
  ["Groups", (user) => user.groups.references.map(({ group }) => group.name).join(", ")],
  [
    "Roles of its own",
    ({ roles: { references } }) => (
      <span class="faint" title={references.map(({ role }) => role.name).join("\n")}>
        {references.length}
      </span>
    ),
  ],
  ["Second factor", (user) => <Factor of={user} />],
  ["Password changed", (user) => <Time at={user.lastPasswordChange} />],
];

/** Whether a person has a second factor, or lacks one that a group requires. */
function Factor({ of: { twoFactorAuthenticationEnabled: isActive, groups } }: { of: User }) {
  if (isActive) return <StatusMark of="ACTIVE" />;
  // A server of an earlier version does not say whether there is one.
  const isRequired = isActive === false && groups.references.some(({ group }) => group.secondFactor === "REQUIRED");
  return isRequired ? <StatusMark of="NOT_SET_UP" /> : <span class="faint">–</span>;
}

function Actions(props: { of: User; edit: (user: User) => void; onChanged: () => void }) {
  const { userName: name, enabled, twoFactorAuthenticationEnabled: hasFactor } = props.of;
  if (name === session.value?.user) return null;
  const address = base() + path`/users/${name}`;
  const question = { title: `Delete the user ${name}?`, text: "Its sessions end at once.", button: "Delete user" };
  const removal = {
    title: `Remove the second factor of ${name}?`,
    text: "This is for somebody who has lost the authenticator and the recovery codes. The password alone suffices then.",
    button: "Remove second factor",
  };
  const verb = enabled ? "Disable" : "Enable";
  return (
    <span class="row-actions">
      <Button class="small" label={`Edit ${name}`} onClick={() => props.edit(props.of)}>
        Edit
      </Button>
      <Action
        class="small"
        label={`${verb} ${name}`}
        run={() => call("PUT", address, { body: { enabled: !enabled } }).then(props.onChanged)}>
        {verb}
      </Action>
      {hasFactor && (
        <Action
          class="small"
          label={`Remove factor of ${name}`}
          confirm={removal}
          run={() => call("DELETE", `${address}/totpSecret`).then(props.onChanged)}
          done={`The second factor of ${name} was removed.`}>
          Remove factor
        </Action>
      )}
      <Action
        class="small"
        label={`Delete ${name}`}
        confirm={question}
        run={() => call("DELETE", address).then(props.onChanged)}>
        Delete
      </Action>
    </span>
  );
}

/** Asks before a new user gets the objects of an earlier one of the same name, because ownership is by name (U-12a). */
async function mayInherit(userName: string): Promise<boolean> {
  if (!can("ROLE_INVENTORY_READ")) return true;
  const owned = await count("/inventory/managedObjects", { owner: userName });
  if (!owned) return true;
  const objects = owned === 1 ? "1 object" : `${owned.toLocaleString()} objects`;
  return ask({
    title: `Create ${userName} as the owner of ${objects}?`,
    text:
      `A user of this name existed before and owned ${objects}. ` +
      "The new user will own them: it may change and delete them with all their data.",
    button: "Create the owner",
  });
}

function NewUser({ groups, onClose, onChanged }: WindowProps & { groups: Group[] }) {
  const send = async (form: FormData) => {
    const userName = String(form.get("userName")).trim();
    if (!(await mayInherit(userName))) return;
    const { self } = await call<{ self: string }>("POST", `${base()}/users`, {
      body: { userName, password: form.get("password"), email: form.get("email") || undefined },
    });
    const group = form.get("group");
    if (group) await call("POST", `${base()}/groups/${group}/users`, { body: { user: { self } } });
    tell(`${userName} can log in now.`);
    onChanged();
    onClose();
  };
  return (
    <Dialog title="New user" onClose={onClose}>
      <Form send={send} action="Create">
        <Field
          label="User name"
          hint={
            can("ROLE_INVENTORY_READ")
              ? undefined
              : "A name that was in use before owns the objects of the earlier user."
          }>
          <input name="userName" required autocomplete="off" autocapitalize="none" />
        </Field>
        <Field label="Password" hint="6 to 32 characters">
          <input name="password" type="password" required minLength={6} maxLength={32} autocomplete="new-password" />
        </Field>
        <Field label="E-mail">
          <input name="email" type="email" autocomplete="off" />
        </Field>
        <Field label="Group" hint="A group gives rights. Without one the user may only log in.">
          <select name="group">
            <option value="">none</option>
            {groups
              .filter((group) => group.name !== "devices")
              .map((group) => (
                <option key={group.id} value={group.id}>
                  {group.name}
                </option>
              ))}
          </select>
        </Field>
      </Form>
    </Dialog>
  );
}

function EditUser({ user, groups, onClose, onChanged }: WindowProps & { user: User; groups: Group[] }) {
  const address = base() + path`/users/${user.userName}`;
  const member = new Set(user.groups?.references.map(({ group }) => group.id));
  const own = new Set(user.roles?.references.map(({ role }) => role.name));
  const loaded = useLoad(readRoles, []);
  const before = Object.entries(user.devicePermissions ?? {})
    .map(([id, list]) => `${id}: ${list.join(", ")}`)
    .join("\n");
  const send = async (form: FormData) => {
    const permissions = String(form.get("permissions"));
    const body: Record<string, unknown> = { email: form.get("email") || null };
    if (form.get("password")) body.password = form.get("password");
    if (permissions.trim() !== before) body.devicePermissions = permissionsOf(permissions);
    const { self } = await call<{ self: string }>("PUT", address, { body });
    const wanted = new Set(form.getAll("group").map(Number));
    for (const { id } of groups) {
      if (wanted.has(Number(id)) && !member.has(id))
        await call("POST", base() + path`/groups/${id}/users`, { body: { user: { self } } });
      if (!wanted.has(Number(id)) && member.has(id))
        await call("DELETE", base() + path`/groups/${id}/users/${user.userName}`);
    }
    await setRoles(address, form, loaded.data.value ?? [], own);
    tell(`${user.userName} was changed. What it lost is out of force already.`);
  };
  return (
    <FormDialog title={`Edit ${user.userName}`} onClose={onClose} onChanged={onChanged} send={send} action="Save">
      <Field label="E-mail">
        <input name="email" type="email" defaultValue={user.email} autocomplete="off" />
      </Field>
      <Field label="New password" hint="Empty means that it stays.">
        <input name="password" type="password" minLength={6} maxLength={32} autocomplete="new-password" />
      </Field>
      <div class="checks" role="group" aria-label="Groups">
        {groups.map((group) => (
          <label key={group.id} class="check">
            <input type="checkbox" name="group" value={group.id} defaultChecked={member.has(group.id)} /> {group.name}
          </label>
        ))}
      </div>
      <details>
        <summary>Roles of its own{own.size > 0 && ` (${own.size})`}, beside those of its groups</summary>
        <States of={loaded}>{(roles) => <RoleBoxes label="Roles of its own" roles={roles} held={own} />}</States>
      </details>
      <Field
        label="Permissions for single devices"
        hint="One device or group of devices in a line: 4711: ALARM:*:READ, MEASUREMENT:*:READ">
        <textarea name="permissions" rows={3} class="code" spellcheck={false}>
          {before}
        </textarea>
      </Field>
    </FormDialog>
  );
}
