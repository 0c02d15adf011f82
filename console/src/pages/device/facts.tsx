// The facts about a device: its fragments, its links, its external ids, and the dialog that changes them.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { call, path, type Tagged } from "../../api";
import { useList } from "../../list";
import type { ExternalId } from "../../reference";
import { lastAddress, open, unsaved } from "../../router";
import { can } from "../../session";
import { Time } from "../../time";
import type { ManagedObject } from "../../types";
import { Action, Button, Card, FactList, Field, Form, FormDialog } from "../../ui/kit";
import { ListCard } from "../../ui/loaded";

/** The members of the object that are not shown as facts about the device. */
const HIDDEN = new Set([
  "id",
  "self",
  "name",
  "type",
  "owner",
  "creationTime",
  "lastUpdated",
  "childDevices",
  "childAssets",
  "childAdditions",
  "deviceParents",
  "assetParents",
  "additionParents",
  "plat_Availability",
  "plat_RequiredAvailability",
  "plat_Connection",
  "plat_ActiveAlarmsStatus",
  "plat_IsDevice",
]);

export function Facts({ of: device }: { of: ManagedObject }) {
  const facts = Object.entries(device).filter(([name]) => !HIDDEN.has(name));
  return (
    <Card title="What it is">
      <FactList
        of={[
          ["Owner", device.owner],
          ["Created", <Time at={device.creationTime} />],
          ["Changed", <Time at={device.lastUpdated} />],
          ["Availability", expected(device)],
          ...facts.map(([name, value]): [string, ComponentChildren] => [shortName(name), <Value of={value} />]),
        ]}
      />
    </Card>
  );
}

const shortName = (fragment: string) => fragment.replace(/^(plat_|com_platform_model_)/, "");

/** Returns how often the device has to send something. */
function expected({ plat_RequiredAvailability: required }: ManagedObject): string {
  const minutes = required?.responseInterval;
  if (minutes === undefined) return "not watched: it has no response interval";
  return minutes > 0 ? `a message every ${minutes} min is expected` : "in maintenance";
}

function Value({ of: value }: { of: unknown }) {
  if (value === null || typeof value !== "object") return <>{String(value)}</>;
  if (Array.isArray(value))
    return (
      <>
        {value.every((one) => typeof one !== "object") ? (
          value.join(", ")
        ) : (
          <code class="wrap">{JSON.stringify(value)}</code>
        )}
      </>
    );
  const members = Object.entries(value);
  if (members.length === 0) return <>yes</>;
  return (
    <>
      {members.map(([name, member]) => (
        <div key={name}>
          <span class="faint">{name}</span>{" "}
          {typeof member === "object" ? <code class="wrap">{JSON.stringify(member)}</code> : String(member)}
        </div>
      ))}
    </>
  );
}

export function ExternalIds({ id }: { id: string }) {
  const ids = useList<ExternalId>({
    path: path`/identity/globalIds/${id}/externalIds`,
    member: "externalIds",
    keyOf: (one) => `${one.type} ${one.externalId}`,
  });
  const adding = useSignal(false);
  const remove = (one: ExternalId) =>
    call("DELETE", path`/identity/externalIds/${one.type}/${one.externalId}`).then(ids.reload);
  const add = async (form: FormData) => {
    await call("POST", path`/identity/globalIds/${id}/externalIds`, { body: Object.fromEntries(form) });
    adding.value = false;
    ids.reload();
  };
  return (
    <ListCard
      title="External ids"
      of={ids}
      noun="external id"
      actions={
        can("ROLE_IDENTITY_ADMIN") && (
          <Button class="plain" onClick={() => (adding.value = !adding.value)}>
            Add
          </Button>
        )
      }
      empty={<p>It has no external id, such as a serial number.</p>}
      below={
        adding.value && (
          <Form send={add} action="Add">
            <Field label="Type">
              <input name="type" value="plat_Serial" required />
            </Field>
            <Field label="Value">
              <input name="externalId" required />
            </Field>
          </Form>
        )
      }>
      {(list) => (
        <ul class="rows">
          {list.map((one) => (
            <li key={one.type + one.externalId}>
              <span class="grow clip">
                <span class="faint">{one.type}</span> <code>{one.externalId}</code>
              </span>
              {can("ROLE_IDENTITY_ADMIN") && (
                <Action
                  class="small"
                  label={`Remove ${one.externalId}`}
                  confirm={{
                    title: `Remove the external id ${one.externalId}?`,
                    text: "Messages that name it no longer find this device.",
                    button: "Remove id",
                  }}
                  run={() => remove(one)}>
                  Remove
                </Action>
              )}
            </li>
          ))}
        </ul>
      )}
    </ListCard>
  );
}

const ABOUT_INTERVAL =
  "If it sends nothing for longer, the server raises an alarm. 0 means maintenance; empty means it is not watched.";

/** Edits a device as it was read for this purpose; what others changed since then is not overwritten. */
export function Edit({ of: { value: device, tag }, onClose }: { of: Tagged<ManagedObject>; onClose: () => void }) {
  const interval = device.plat_RequiredAvailability?.responseInterval;
  const send = async (form: FormData) => {
    const minutes = String(form.get("interval"));
    const body: Record<string, unknown> = { name: form.get("name") };
    if (minutes !== "" || interval !== undefined)
      body.plat_RequiredAvailability = minutes === "" ? null : { responseInterval: Number(minutes) };
    await call("PUT", path`/inventory/managedObjects/${device.id}`, { body, ifMatch: tag });
  };
  const remove = () =>
    call("DELETE", path`/inventory/managedObjects/${device.id}`).then(() => {
      unsaved.value = null;
      open(lastAddress("devices"));
    });
  return (
    <FormDialog
      title={`Edit ${device.name ?? device.id}`}
      onClose={onClose}
      send={send}
      action="Save"
      beside={
        <Action
          run={remove}
          confirm={{
            title: `Delete ${device.name ?? device.id}?`,
            text: "Its alarms, events, measurements and operations are deleted with it. Nothing brings them back.",
            button: "Delete device",
            typed: device.name || device.id,
          }}
          done="The device was deleted.">
          Delete
        </Action>
      }>
      <Field label="Name">
        <input name="name" defaultValue={device.name} required />
      </Field>
      <Field label="Response interval in minutes" hint={ABOUT_INTERVAL}>
        <input name="interval" type="number" step="1" defaultValue={interval} />
      </Field>
    </FormDialog>
  );
}
