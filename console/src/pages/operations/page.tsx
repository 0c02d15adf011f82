// Operations: one for a device, or one for each device of a group, with their results.

import { type Signal, useSignal } from "@preact/signals";
import { get, withQuery } from "../../api";
import { useList } from "../../list";
import { NewOperation } from "../../parts/new_operation";
import { BulkOperations, NewBulkOperation } from "../../parts/rollouts";
import { Why } from "../../parts/why";
import type { OperationStatus } from "../../reference";
import { chooseParams, link, route } from "../../router";
import { useScope } from "../../scope";
import { can } from "../../session";
import { Time } from "../../time";
import type { ManagedObject, Operation } from "../../types";
import { Exports } from "../../ui/export";
import { Choice, Dialog, Page, States, StatusMark } from "../../ui/kit";
import { ListStanding } from "../../ui/standing";
import { type Column, VirtualTable } from "../../ui/table";
import { isChosen } from "../../values/filters";
import { apply } from "../../values/merge";
import { OPERATION_MEMBERS, titleOf } from "../../values/words";

const STATES: OperationStatus[] = ["PENDING", "EXECUTING", "SUCCESSFUL", "FAILED"];

/** Adds the names of devices, which notifications do not contain. */
const withNames = (list: Operation[], names: Map<string, string | undefined>) =>
  list.map((one) => (one.deviceName ? one : { ...one, deviceName: names.get(one.deviceId) }));

/** Reads the names of devices that no operation of the list has shown yet. */
async function findNames(shown: Signal<Operation[] | undefined>): Promise<void> {
  const unknown = [
    ...new Set((shown.value ?? []).filter((one) => one.deviceName === undefined).map((one) => one.deviceId)),
  ].slice(0, 100);
  if (unknown.length === 0) return;
  const ids = withQuery("/inventory/managedObjects", {
    ids: unknown.join(","),
    pageSize: unknown.length,
    withChildren: false,
  });
  const { managedObjects } = await get<{ managedObjects: ManagedObject[] }>(ids).catch(() => ({ managedObjects: [] }));
  // A device without a name, or one that the user cannot read, is shown by its id and not asked for again.
  const names = new Map(unknown.map((id) => [id, managedObjects.find((one) => one.id === id)?.name ?? id]));
  if (shown.value) shown.value = withNames(shown.value, names);
}

export function Operations() {
  const params = route.value.params;
  const status = params.get("status") ?? "";
  const bulk = params.get("bulk") ?? "";
  const deviceId = params.get("device") ?? "";
  const creating = useSignal<"" | "one" | "bulk">("");
  const watched = useSignal<string | null>(null);
  const operations = useList<Operation>({
    path: "/devicecontrol/operations",
    member: "operations",
    params: { status, bulkOperationId: bulk, deviceId, revert: true },
    live: {
      ...useScope("operations", "ROLE_DEVICE_CONTROL_READ"),
      take: (list, messages) => {
        const names = new Map(list.map((one) => [one.deviceId, one.deviceName]));
        const next = apply(
          list,
          messages,
          (one) =>
            isChosen(status, one.status) && isChosen(bulk, one.bulkOperationId) && isChosen(deviceId, one.deviceId),
        );
        queueMicrotask(() => findNames(operations.data));
        return withNames(next, names).sort((a, b) => Number(b.id) - Number(a.id));
      },
    },
  });
  const chosen = operations.data.value?.find((one) => one.id === watched.value);
  const columns: Column<Operation>[] = [
    { title: "Status", width: "7.5rem", cell: (one) => <StatusMark of={one.status} /> },
    {
      title: "Operation",
      width: "minmax(0, 2fr)",
      cell: (one) => (
        <button type="button" class="plain clip as-link" onClick={() => (watched.value = one.id)}>
          {titleOf(one)}
        </button>
      ),
    },
    {
      title: "Device",
      width: "minmax(0, 1.5fr)",
      cell: (one) => (
        <a class="clip" href={link(["devices", one.deviceId])}>
          {one.deviceName ?? one.deviceId}
        </a>
      ),
    },
    { title: "Created", width: "7rem", wide: true, cell: (one) => <Time at={one.creationTime} /> },
    {
      title: "Reason",
      width: "minmax(0, 1.5fr)",
      wide: true,
      cell: (one) => (
        <span class="clip faint" title={one.failureReason}>
          {one.failureReason}
        </span>
      ),
    },
  ];
  return (
    <Page
      title="Operations"
      sub={<ListStanding of={operations} noun="operation" />}
      actions={
        <>
          {!!operations.data.value?.length && <Exports name="operations" all={operations.all} columns={EXPORTED} />}
          {can("ROLE_DEVICE_CONTROL_ADMIN") && (
            <button type="button" class="primary" onClick={() => (creating.value = "one")}>
              New operation
            </button>
          )}
          {can("ROLE_BULK_OPERATION_ADMIN") && (
            <button type="button" onClick={() => (creating.value = "bulk")}>
              For a whole group
            </button>
          )}
        </>
      }>
      {can("ROLE_BULK_OPERATION_READ") && <BulkOperations shown={bulk} />}
      <div class="filters">
        <Choice
          label="Status"
          value={status}
          onChange={(value) => chooseParams({ status: value })}
          options={[["", "All"], ...STATES.map((one): [string, string] => [one, one[0] + one.slice(1).toLowerCase()])]}
        />
        {bulk && (
          <span class="chip">
            of one roll-out{" "}
            <button
              type="button"
              class="plain"
              aria-label="Show the operations of all"
              onClick={() => chooseParams({ bulk: "" })}>
              ×
            </button>
          </span>
        )}
        {deviceId && (
          <span class="chip">
            of one device{" "}
            <button
              type="button"
              class="plain"
              aria-label="Show the operations of all devices"
              onClick={() => chooseParams({ device: "" })}>
              ×
            </button>
          </span>
        )}
      </div>
      <div class="fill">
        <States
          of={operations}
          isEmpty={(list) => list.length === 0}
          empty={
            <p>
              {status || deviceId
                ? "No operation matches."
                : "No operation was created yet. An operation asks a device to do something, such as to restart."}
            </p>
          }>
          {(list) => (
            <VirtualTable
              label="Operations"
              columns={columns}
              items={list}
              keyOf={(one) => one.id}
              onEnd={operations.more}
              total={operations.rest.value.total}
              filters={`${status} ${bulk} ${deviceId}`}
            />
          )}
        </States>
      </div>
      {chosen && <Details of={chosen} onClose={() => (watched.value = null)} />}
      {creating.value === "one" && <NewOperation onClose={() => (creating.value = "")} />}
      {creating.value === "bulk" && <NewBulkOperation onClose={() => (creating.value = "")} />}
    </Page>
  );
}

const EXPORTED: Record<string, (one: Operation) => unknown> = {
  id: (one) => one.id,
  creationTime: (one) => one.creationTime,
  status: (one) => one.status,
  operation: titleOf,
  deviceId: (one) => one.deviceId,
  deviceName: (one) => one.deviceName,
  failureReason: (one) => one.failureReason,
};

function Details({ of: operation, onClose }: { of: Operation; onClose: () => void }) {
  const content = Object.fromEntries(Object.entries(operation).filter(([name]) => !OPERATION_MEMBERS.has(name)));
  return (
    <Dialog title={titleOf(operation)} onClose={onClose}>
      <p>
        <StatusMark of={operation.status} /> {operation.failureReason}
      </p>
      <Why of={operation} />
      <dl class="facts">
        <dt>Device</dt>
        <dd>
          <a href={link(["devices", operation.deviceId])}>{operation.deviceName ?? operation.deviceId}</a>
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={operation.creationTime} />
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{operation.id}</code>
        </dd>
      </dl>
      <pre tabIndex={0}>{JSON.stringify(content, null, 2)}</pre>
    </Dialog>
  );
}
