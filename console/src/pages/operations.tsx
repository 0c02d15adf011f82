// Operations: one for a device, or one for each device of a group, with their results.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, get, path, withQuery } from "../api";
import { asError, apply, useLoad } from "../load";
import { link, route, setParams } from "../router";
import { can } from "../session";
import { Time } from "../time";
import type { Diagnosis, ManagedObject, Operation, OperationState } from "../types";
import { Choice, Dialog, Field, Form, Page, States, StatusMark, tell } from "../ui/kit";
import { type Column, VirtualTable } from "../ui/table";
import { BulkOperations, NewBulkOperation } from "./rollouts";

const STATES: OperationState[] = ["PENDING", "EXECUTING", "SUCCESSFUL", "FAILED"];
/** Members of an operation that do not describe its task. */
const COMMON = new Set(["id", "self", "creationTime", "deviceId", "deviceName", "status", "failureReason", "bulkOperationId", "description", "deviceExternalIDs", "delivery"]);

/** Returns a short title of an operation. */
export const titleOf = (operation: Record<string, unknown>) =>
  (operation.description as string) || Object.keys(operation).filter((name) => !COMMON.has(name)).map((name) => name.replace(/^plat_/, "")).join(", ") || "Operation";

/** The most operations that the page reads. */
const MOST = 2000;

/** Returns the newest operations, newest first. */
const newest = (status: string, bulkOperationId: string) =>
  get<{ operations: Operation[] }>(withQuery("/devicecontrol/operations", { status, bulkOperationId, pageSize: MOST, revert: true })).then((page) => page.operations);

/** Adds the names of devices, which notifications do not contain. */
const withNames = (list: Operation[], names: Map<string, string | undefined>) => list.map((one) => (one.deviceName ? one : { ...one, deviceName: names.get(one.deviceId) }));

/** Reads the names of devices that no operation of the list has shown yet. */
async function findNames(shown: Signal<Operation[] | undefined>): Promise<void> {
  const unknown = [...new Set((shown.value ?? []).filter((one) => one.deviceName === undefined).map((one) => one.deviceId))].slice(0, 100);
  if (unknown.length === 0) return;
  const ids = withQuery("/inventory/managedObjects", { ids: unknown.join(","), pageSize: unknown.length, withChildren: false });
  const { managedObjects } = await get<{ managedObjects: ManagedObject[] }>(ids).catch(() => ({ managedObjects: [] }));
  // A device without a name, or one that the user cannot read, is shown by its id and not asked for again.
  const names = new Map(unknown.map((id) => [id, managedObjects.find((one) => one.id === id)?.name ?? id]));
  if (shown.value) shown.value = withNames(shown.value, names);
}

export function Operations() {
  const params = route.value.params;
  const status = params.get("status") ?? "";
  const bulk = params.get("bulk") ?? "";
  const creating = useSignal<"" | "one" | "bulk">("");
  const watched = useSignal<string | null>(null);
  const operations = useLoad(
    () => newest(status, bulk),
    [status, bulk],
    can("ROLE_DEVICE_CONTROL_READ")
      ? {
          channels: ["/operations/*"],
          take: (messages) => {
            const names = new Map(operations.data.value?.map((one) => [one.deviceId, one.deviceName]));
            const next = apply(operations.data.value ?? [], messages, (one) => (!status || one.status === status) && (!bulk || one.bulkOperationId === bulk));
            operations.data.value = withNames(next, names).sort((a, b) => Number(b.id) - Number(a.id));
            findNames(operations.data);
          },
        }
      : undefined,
  );
  const chosen = operations.data.value?.find((one) => one.id === watched.value);
  const columns: Column<Operation>[] = [
    { title: "Status", width: "7.5rem", cell: (one) => <StatusMark of={one.status} /> },
    { title: "Operation", width: "minmax(0, 2fr)", cell: (one) => <button type="button" class="plain clip as-link" onClick={() => (watched.value = one.id)}>{titleOf(one)}</button> },
    { title: "Device", width: "minmax(0, 1.5fr)", cell: (one) => <a class="clip" href={link(["devices", one.deviceId])}>{one.deviceName ?? one.deviceId}</a> },
    { title: "Created", width: "7rem", wide: true, cell: (one) => <Time at={one.creationTime} /> },
    { title: "Reason", width: "minmax(0, 1.5fr)", wide: true, cell: (one) => <span class="clip faint" title={one.failureReason}>{one.failureReason}</span> },
  ];
  return (
    <Page
      title="Operations"
      sub={(operations.data.value?.length ?? 0) >= MOST && `The newest ${MOST.toLocaleString()}; there may be older ones.`}
      actions={
        <>
          {can("ROLE_DEVICE_CONTROL_ADMIN") && <button type="button" class="primary" onClick={() => (creating.value = "one")}>New operation</button>}
          {can("ROLE_BULK_OPERATION_ADMIN") && <button type="button" onClick={() => (creating.value = "bulk")}>For a whole group</button>}
        </>
      }
    >
      {can("ROLE_BULK_OPERATION_READ") && <BulkOperations shown={bulk} />}
      <div class="filters">
        <Choice label="Status" value={status} onChange={(value) => setParams({ status: value })} options={[["", "All"], ...STATES.map((one): [string, string] => [one, one[0] + one.slice(1).toLowerCase()])]} />
        {bulk && <span class="chip">of one roll-out <button type="button" class="plain" aria-label="Show the operations of all" onClick={() => setParams({ bulk: "" })}>×</button></span>}
      </div>
      <div class="fill">
        <States of={operations} isEmpty={(list) => list.length === 0} empty={<p>{status ? "No operation has this status." : "No operation was created yet. An operation asks a device to do something, such as to restart."}</p>}>
          {(list) => <VirtualTable label="Operations" columns={columns} items={list} keyOf={(one) => one.id} />}
        </States>
      </div>
      {chosen && <Details of={chosen} onClose={() => (watched.value = null)} />}
      {creating.value === "one" && <NewOperation onClose={() => (creating.value = "")} />}
      {creating.value === "bulk" && <NewBulkOperation onClose={() => (creating.value = "")} />}
    </Page>
  );
}

function Details({ of: operation, onClose }: { of: Operation; onClose: () => void }) {
  const content = Object.fromEntries(Object.entries(operation).filter(([name]) => !COMMON.has(name)));
  return (
    <Dialog title={titleOf(operation)} onClose={onClose}>
      <p><StatusMark of={operation.status} /> {operation.failureReason}</p>
      <Why of={operation} />
      <dl class="facts">
        <dt>Device</dt><dd><a href={link(["devices", operation.deviceId])}>{operation.deviceName ?? operation.deviceId}</a></dd>
        <dt>Created</dt><dd><Time at={operation.creationTime} /></dd>
        <dt>Id</dt><dd><code>{operation.id}</code></dd>
      </dl>
      <pre tabIndex={0}>{JSON.stringify(content, null, 2)}</pre>
    </Dialog>
  );
}

/**
 * The reason why an operation is still pending, in the server's words. It is requested again while the operation is
 * pending.
 */
export function Why({ of: operation }: { of: Operation }) {
  const diagnosis = useSignal<Diagnosis | null>(null);
  const error = useSignal("");
  const isPending = operation.status === "PENDING";
  useEffect(() => {
    if (!isPending) return;
    const ask = () => {
      if (document.hidden) return;
      get<Diagnosis>(path`/devicecontrol/operations/${operation.id}/diagnosis`)
        .then((found) => ([diagnosis.value, error.value] = [found, ""]))
        .catch((failed) => (error.value = asError(failed).message));
    };
    ask();
    const timer = setInterval(ask, 5000);
    return () => clearInterval(timer);
  }, [operation.id, isPending]);
  if (!isPending) return null;
  return (
    <div class="why">
      <b>Why is it still pending?</b>
      {error.value && <p class="problem">{error.value}</p>}
      <ul>{diagnosis.value?.causes.map((cause) => <li key={cause.cause + cause.message}>{cause.message}.</li>)}</ul>
    </div>
  );
}

const TEMPLATES: [string, object][] = [
  ["Restart", { plat_Restart: {} }],
  ["Command", { plat_Command: { text: "status" } }],
  ["Firmware", { plat_Firmware: { name: "", version: "", url: "" } }],
  ["Configuration", { plat_Configuration: { config: "" } }],
  ["Logs", { plat_LogfileRequest: { logFile: "", dateFrom: "", dateTo: "", searchText: "", maximumLines: 1000 } }],
];

export function Content({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <>
      <div class="templates" role="group" aria-label="Templates">
        {TEMPLATES.map(([name, content]) => <button key={name} type="button" class="small" onClick={() => onChange(JSON.stringify({ description: name, ...content }, null, 2))}>{name}</button>)}
      </div>
      <Field label="What the device is to do" hint="JSON, as the device understands it">
        <textarea name="content" rows={7} spellcheck={false} class="code" value={value} onInput={(event) => onChange(event.currentTarget.value)} />
      </Field>
    </>
  );
}

export function parsed(text: string): Record<string, unknown> {
  const value = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("This is not a JSON object.");
  return value;
}

export const FIRST_CONTENT = JSON.stringify({ description: "Restart", plat_Restart: {} }, null, 2);

export function NewOperation({ device, onClose }: { device?: ManagedObject; onClose: () => void }) {
  const content = useSignal(FIRST_CONTENT);
  const agents = useLoad(
    () => (device ? Promise.resolve([device]) : get<{ managedObjects: ManagedObject[] }>(withQuery("/inventory/managedObjects", { query: "$filter=has(plat_IsDevice) $orderby=name", pageSize: 2000, withChildren: false })).then((page) => page.managedObjects)),
    [],
  );
  const send = async (form: FormData) => {
    const deviceId = device?.id ?? String(form.get("device"));
    await call("POST", "/devicecontrol/operations", { body: { deviceId, ...parsed(content.value) } });
    tell("The operation was created.");
    onClose();
  };
  return (
    <Dialog title={device ? `New operation for ${device.name ?? device.id}` : "New operation"} onClose={onClose}>
      <Form send={send} action="Create" disabled={!agents.data.value}>
        {!device && (
          <Field label="Device">
            <select name="device" required>
              {agents.data.value?.map((one) => <option key={one.id} value={one.id}>{one.name ?? one.id} ({one.id})</option>)}
            </select>
          </Field>
        )}
        <Content value={content.value} onChange={(value) => (content.value = value)} />
      </Form>
    </Dialog>
  );
}
