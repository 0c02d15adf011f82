// The groups beside the list of devices: a tree that one opens level by level, and the windows that change it.

import { useSignal } from "@preact/signals";
import { call, path } from "../../api";
import { useGroups } from "../../groups";
import { link, route } from "../../router";
import { can } from "../../session";
import { Action, Button, Field, FormDialog, tell, type WindowProps } from "../../ui/kit";
import { States } from "../../ui/loaded";
import { Standing } from "../../ui/standing";
import type { Group } from "../../values/groups";

const addressOf = (group?: string) => link(["devices"], { ...Object.fromEntries(route.value.params), group });

export function GroupTree({ chosen }: { chosen: string }) {
  const groups = useGroups();
  const editing = useSignal<Group | "new" | null>(null);
  const mayChange = can("ROLE_INVENTORY_ADMIN");
  const found = groups.data.value;
  if (!found && groups.error.value)
    return (
      <nav class="groups" aria-label="Groups">
        <States of={groups}>{() => null}</States>
      </nav>
    );
  if (!found || (found.all.length === 0 && !mayChange)) return null;
  const shown = found.all.find(({ object }) => object.id === chosen);
  return (
    <nav class="groups" aria-label="Groups">
      <h2>Groups</h2>
      <ul>
        <li>
          <a href={addressOf()} aria-current={chosen ? undefined : "true"}>
            All devices
          </a>
        </li>
        {found.roots.map((group) => (
          <Branch key={group.object.id} of={group} chosen={chosen} />
        ))}
      </ul>
      <p>
        <Standing of={groups} />
      </p>
      {!found.isAll && <p class="hint">There are more groups than these {found.all.length.toLocaleString()}.</p>}
      {mayChange && (
        <p class="row-actions">
          <Button class="small" onClick={() => (editing.value = "new")}>
            New group
          </Button>
          {shown && (
            <Button class="small" label={`Edit the group ${shown.path}`} onClick={() => (editing.value = shown)}>
              Edit
            </Button>
          )}
        </p>
      )}
      {editing.value === "new" && (
        <NewGroup above={shown} onClose={() => (editing.value = null)} onChanged={groups.reload} />
      )}
      {editing.value && editing.value !== "new" && (
        <EditGroup group={editing.value} onClose={() => (editing.value = null)} onChanged={groups.reload} />
      )}
    </nav>
  );
}

const contains = (group: Group, id: string): boolean =>
  group.object.id === id || group.children.some((child) => contains(child, id));

/** A group, and on request those below it. Groups above the chosen one are open. */
function Branch({ of: group, chosen }: { of: Group; chosen: string }) {
  const opened = useSignal<boolean | null>(null);
  const isOpen = opened.value ?? group.children.some((child) => contains(child, chosen));
  const name = group.object.name ?? group.object.id;
  return (
    <li>
      <span class="branch">
        {group.children.length > 0 && (
          <Button
            class="plain"
            aria-expanded={isOpen}
            label={`Groups in ${name}`}
            onClick={() => (opened.value = !isOpen)}>
            {isOpen ? "▾" : "▸"}
          </Button>
        )}
        <a href={addressOf(group.object.id)} aria-current={chosen === group.object.id ? "true" : undefined}>
          {name}
        </a>
      </span>
      {isOpen && (
        <ul>
          {group.children.map((child) => (
            <Branch key={child.object.id} of={child} chosen={chosen} />
          ))}
        </ul>
      )}
    </li>
  );
}

function NewGroup({ above, onClose, onChanged }: WindowProps & { above?: Group }) {
  const send = async (form: FormData) => {
    const parent = form.get("above") === "on" ? above : undefined;
    const body = {
      name: form.get("name"),
      type: parent ? "plat_DeviceSubgroup" : "plat_DeviceGroup",
      plat_IsDeviceGroup: {},
    };
    const { id } = await call<{ id: string }>("POST", "/inventory/managedObjects", { body });
    if (parent)
      await call("POST", path`/inventory/managedObjects/${parent.object.id}/childAssets`, {
        body: { managedObject: { id } },
      });
    tell("The group exists. Add devices to it on their pages.");
  };
  return (
    <FormDialog title="New group of devices" onClose={onClose} onChanged={onChanged} send={send} action="Create">
      <Field label="Name">
        <input name="name" required />
      </Field>
      {above && (
        <label class="check">
          <input type="checkbox" name="above" defaultChecked /> In the group {above.path}
        </label>
      )}
    </FormDialog>
  );
}

function EditGroup({ group, onClose, onChanged }: WindowProps & { group: Group }) {
  const address = path`/inventory/managedObjects/${group.object.id}`;
  const send = async (form: FormData) => {
    await call("PUT", address, { body: { name: form.get("name") } });
  };
  const remove = async () => {
    await call("DELETE", address);
    onChanged();
    onClose();
    location.hash = addressOf();
  };
  const question = {
    title: `Delete the group ${group.path}?`,
    text: `Its ${group.children.length} direct subgroups and those below them are deleted with it. Its devices stay.`,
    button: "Delete group",
    typed: group.object.name || group.object.id,
  };
  return (
    <FormDialog
      title={`Edit ${group.path}`}
      onClose={onClose}
      onChanged={onChanged}
      send={send}
      action="Save"
      beside={
        <Action run={remove} confirm={question} done="The group was deleted.">
          Delete
        </Action>
      }>
      <Field label="Name">
        <input name="name" defaultValue={group.object.name} required />
      </Field>
    </FormDialog>
  );
}
