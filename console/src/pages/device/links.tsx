// The parents, children and groups of a device, which can be added to a group.

import { useSignal } from "@preact/signals";
import { call, path } from "../../api";
import { useGroups } from "../../groups";
import { link } from "../../router";
import { can } from "../../session";
import type { ManagedObject } from "../../types";
import { Action, Button, Card, Dialog, Field, Form, type WindowProps } from "../../ui/kit";
import { States } from "../../ui/loaded";

export function Links({ of: device, onChanged }: { of: ManagedObject; onChanged: () => void }) {
  const adding = useSignal(false);
  const mayChange = can("ROLE_INVENTORY_ADMIN");
  const blocks: [string, ManagedObject["childDevices"]][] = [
    ["Parents", device.deviceParents],
    ["Groups", device.assetParents],
    ["Children", device.childDevices],
    ["Members", device.childAssets],
  ];
  const shown = blocks.filter(([, block]) => block?.references.length);
  if (shown.length === 0 && !mayChange) return null;
  const leave = (group: string) =>
    call("DELETE", path`/inventory/managedObjects/${group}/childAssets/${device.id}`).then(onChanged);
  return (
    <Card
      title="What it belongs to"
      aside={
        mayChange && (
          <Button class="plain" onClick={() => (adding.value = true)}>
            Add to a group
          </Button>
        )
      }>
      <dl class="facts">
        {shown.map(([title, block]) => (
          <>
            <dt key={title}>{title}</dt>
            <dd>
              <ul class="links">
                {block!.references.map(({ managedObject: { id, name = id } }) => (
                  <li key={id}>
                    <a href={title === "Groups" ? link(["devices"], { group: id }) : link(["devices", id])}>{name}</a>
                    {title === "Groups" && mayChange && (
                      <Action
                        class="small plain"
                        label={`Remove from the group ${name}`}
                        run={() => leave(id)}
                        confirm={{
                          title: `Remove it from the group ${name}?`,
                          text: "Users with rights for the group lose those for this device.",
                          button: "Remove from group",
                        }}>
                        Remove
                      </Action>
                    )}
                  </li>
                ))}
              </ul>
            </dd>
          </>
        ))}
      </dl>
      {adding.value && <AddToGroup device={device} onClose={() => (adding.value = false)} onChanged={onChanged} />}
    </Card>
  );
}

function AddToGroup({ device, onClose, onChanged }: WindowProps & { device: ManagedObject }) {
  const groups = useGroups();
  const send = async (form: FormData) => {
    await call("POST", path`/inventory/managedObjects/${String(form.get("group"))}/childAssets`, {
      body: { managedObject: { id: device.id } },
    });
    onChanged();
    onClose();
  };
  return (
    <Dialog title={`Add ${device.name ?? device.id} to a group`} onClose={onClose}>
      <States
        of={groups}
        isEmpty={({ all }) => all.length === 0}
        empty={<p>There is no group yet. The page of all devices creates one.</p>}>
        {({ all }) => (
          <Form send={send} action="Add">
            <Field label="Group">
              <select name="group" required>
                {all.map((one) => (
                  <option key={one.object.id} value={one.object.id}>
                    {one.path}
                  </option>
                ))}
              </select>
            </Field>
          </Form>
        )}
      </States>
    </Dialog>
  );
}
