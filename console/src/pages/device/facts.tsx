// The facts about a device: its fragments, its links, its external ids, and the dialog that changes them.

import { useSignal } from "@preact/signals";
import { call, path } from "../../api";
import { useList } from "../../list";
import { asError } from "../../load";
import type { ExternalId } from "../../reference";
import { lastAddress, open, unsaved } from "../../router";
import { can } from "../../session";
import { Time } from "../../time";
import type { ManagedObject } from "../../types";
import { Action, Card, Dialog, Field, Form, States, tell } from "../../ui/kit";
import { MoreRows, Standing } from "../../ui/standing";

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
  "plat_Connection",
  "plat_ActiveAlarmsStatus",
  "plat_IsDevice",
]);

export function Facts({ of: device }: { of: ManagedObject }) {
  const facts = Object.entries(device).filter(([name]) => !HIDDEN.has(name));
  const required = device.plat_RequiredAvailability?.responseInterval;
  return (
    <Card title="What it is">
      <dl class="facts">
        <dt>Owner</dt>
        <dd>{device.owner}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={device.creationTime} />
        </dd>
        <dt>Changed</dt>
        <dd>
          <Time at={device.lastUpdated} />
        </dd>
        <dt>Availability</dt>
        <dd>
          {required === undefined
            ? "not watched: it has no response interval"
            : required > 0
              ? `a message every ${required} min is expected`
              : "in maintenance"}
        </dd>
        {facts
          .filter(([name]) => name !== "plat_RequiredAvailability")
          .map(([name, value]) => (
            <>
              <dt key={name}>{name.replace(/^(plat_|com_platform_model_)/, "")}</dt>
              <dd>
                <Value of={value} />
              </dd>
            </>
          ))}
      </dl>
    </Card>
  );
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
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    try {
      await call("POST", path`/identity/globalIds/${id}/externalIds`, { body: Object.fromEntries(form) });
      adding.value = false;
      ids.reload();
    } catch (error) {
      tell(asError(error).message, true);
    }
  };
  if (!can("ROLE_IDENTITY_READ")) return null;
  return (
    <Card
      title="External ids"
      aside={
        <>
          <Standing of={ids} />
          {can("ROLE_IDENTITY_ADMIN") && (
            <button type="button" class="plain" onClick={() => (adding.value = !adding.value)}>
              Add
            </button>
          )}
        </>
      }>
      {adding.value && (
        <form class="stacked" onSubmit={add}>
          <Field label="Type">
            <input name="type" value="plat_Serial" required />
          </Field>
          <Field label="Value">
            <input name="externalId" required />
          </Field>
          <button type="submit">Add</button>
        </form>
      )}
      <States
        of={ids}
        isEmpty={(list) => list.length === 0}
        empty={<p>It has no external id, such as a serial number.</p>}>
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
      </States>
      <MoreRows of={ids} noun="external id" />
    </Card>
  );
}

export function Edit({ device, onClose }: { device: ManagedObject; onClose: () => void }) {
  const interval = device.plat_RequiredAvailability?.responseInterval;
  const send = async (form: FormData) => {
    const minutes = String(form.get("interval"));
    const body: Record<string, unknown> = { name: form.get("name") };
    if (minutes !== "" || interval !== undefined)
      body.plat_RequiredAvailability = minutes === "" ? null : { responseInterval: Number(minutes) };
    await call("PUT", path`/inventory/managedObjects/${device.id}`, { body });
    onClose();
  };
  const remove = () =>
    call("DELETE", path`/inventory/managedObjects/${device.id}`).then(() => {
      unsaved.value = null;
      open(lastAddress("devices"));
    });
  return (
    <Dialog title={`Edit ${device.name ?? device.id}`} onClose={onClose}>
      <Form
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
          <input name="name" value={device.name} required />
        </Field>
        <Field
          label="Response interval in minutes"
          hint="If it sends nothing for longer, the server raises an alarm. 0 means maintenance; empty means it is not watched.">
          <input name="interval" type="number" step="1" value={interval} />
        </Field>
      </Form>
    </Dialog>
  );
}
