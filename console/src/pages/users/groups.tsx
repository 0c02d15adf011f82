// Groups of users with the roles that they grant.

import { useSignal } from "@preact/signals";
import { call, get, path } from "../../api";
import type { List } from "../../list";
import { useLoad } from "../../load";
import type { Group } from "../../reference";
import { Action, Button, Dialog, Field, Form, FormDialog, tell, type WindowProps } from "../../ui/kit";
import { ListCard, States } from "../../ui/loaded";
import { readRoles, RoleBoxes, setRoles } from "./roles";

const rolesOf = (group: Group) => group.roles?.references.map(({ role }) => role.name) ?? [];

export function Groups({ base, of, mayChange }: { base: string; of: List<Group>; mayChange: boolean }) {
  const onChanged = of.reload;
  const open = useSignal<Group | "new" | null>(null);
  const close = () => (open.value = null);
  return (
    <ListCard
      title="Groups"
      of={of}
      noun="group"
      empty={<p>There is no group.</p>}
      actions={mayChange && <Button onClick={() => (open.value = "new")}>New group</Button>}
      below={
        open.value === "new" ? (
          <NewGroup base={base} onClose={close} onChanged={onChanged} />
        ) : (
          open.value && (
            <Roles base={base} group={open.value} mayChange={mayChange} onClose={close} onChanged={onChanged} />
          )
        )
      }>
      {(groups) => (
        <ul class="rows">
          {groups.map((group) => (
            <li key={group.id}>
              <span class="grow">
                <b>{group.name}</b> <span class="faint">{group.description}</span>
              </span>
              <RoleCount address={base + path`/groups/${group.id}`} of={group} />
              <Button class="small" label={`Roles of ${group.name}`} onClick={() => (open.value = group)}>
                Roles
              </Button>
            </li>
          ))}
        </ul>
      )}
    </ListCard>
  );
}

function NewGroup({ base, onClose, onChanged }: WindowProps & { base: string }) {
  const send = async (form: FormData) => {
    await call("POST", `${base}/groups`, {
      body: { name: form.get("name"), description: form.get("description") || undefined },
    });
    tell("The group exists. Give it roles.");
  };
  return (
    <FormDialog title="New group" onClose={onClose} onChanged={onChanged} send={send} action="Create">
      <Field label="Name">
        <input name="name" required />
      </Field>
      <Field label="What it is for">
        <input name="description" />
      </Field>
    </FormDialog>
  );
}

/** The number of roles of a group. A collection of groups does not contain their roles, so the group itself is read. */
function RoleCount({ address, of: group }: { address: string; of: Group }) {
  const whole = useLoad(() => get<Group>(address), [address, group]);
  const [found, problem] = [whole.data.value, whole.error.value?.message];
  return (
    <span class="faint nowrap" title={problem}>
      {found ? `${rolesOf(found).length} roles` : problem && "–"}
    </span>
  );
}

function Roles({
  base,
  group,
  mayChange,
  onClose,
  onChanged,
}: WindowProps & { base: string; group: Group; mayChange: boolean }) {
  const address = base + path`/groups/${group.id}`;
  const loaded = useLoad(async () => {
    const [whole, roles] = await Promise.all([get<Group>(address), readRoles()]);
    return { held: new Set(rolesOf(whole)), roles };
  }, [address]);
  const send = async (form: FormData) => {
    const { held, roles } = loaded.data.value!;
    await setRoles(address, form, roles, held);
    tell(`The roles of ${group.name} are in force.`);
    onChanged();
    onClose();
  };
  const remove = () => call("DELETE", address).then(() => (onChanged(), onClose()));
  const question = {
    title: `Delete the group ${group.name}?`,
    text: "Its members lose the rights that only this group gives.",
    button: "Delete group",
  };
  return (
    <Dialog title={`Roles of ${group.name}`} onClose={onClose}>
      <States of={loaded}>
        {({ held, roles }) => (
          <Form
            send={send}
            action="Save"
            disabled={!mayChange}
            beside={
              mayChange && (
                <Action run={remove} confirm={question}>
                  Delete
                </Action>
              )
            }>
            <RoleBoxes label="Roles" roles={roles} held={held} disabled={!mayChange} />
          </Form>
        )}
      </States>
    </Dialog>
  );
}
