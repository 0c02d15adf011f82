// Operations: one for a device, or one for each device of a group, with their results.

import { type Signal, useSignal } from "@preact/signals";
import { readObjects } from "../../collection";
import { useList } from "../../list";
import { DeviceLink } from "../../parts/device";
import { NewOperation } from "../../parts/new_operation";
import { BulkOperations, NewBulkOperation } from "../../parts/rollouts";
import { Why } from "../../parts/why";
import type { OperationStatus } from "../../reference";
import { route } from "../../router";
import { useScope } from "../../scope";
import { can } from "../../session";
import { Time } from "../../time";
import type { ManagedObject, Operation } from "../../types";
import { Chip, WordFilter } from "../../ui/filters";
import { Button, Dialog, FactList, StatusMark } from "../../ui/kit";
import { ListPage } from "../../ui/loaded";
import type { Column } from "../../ui/table";
import { isChosen } from "../../values/filters";
import { apply } from "../../values/merge";
import { OPERATION_MEMBERS, titleOf } from "../../values/words";

const STATES: OperationStatus[] = ["PENDING", "EXECUTING", "SUCCESSFUL", "FAILED"];

/** Adds the names of devices, which notifications do not contain. */
const withNames = (list: Operation[], names: Map<string, string | undefined>) =>
  list.map((one) => (one.deviceName ? one : { ...one, deviceName: names.get(one.deviceId) }));

const NOTHING = (): { items: ManagedObject[] } => ({ items: [] });

/** Reads the names of devices that no operation of the list has shown yet. */
async function findNames(shown: Signal<Operation[] | undefined>): Promise<void> {
  const unknown = [
    ...new Set((shown.value ?? []).filter((one) => one.deviceName === undefined).map((one) => one.deviceId)),
  ].slice(0, 100);
  if (unknown.length === 0) return;
  const { items } = await readObjects({ ids: unknown.join(","), pageSize: unknown.length }).catch(NOTHING);
  // A device without a name, or one that the user cannot read, is shown by its id and not asked for again.
  const names = new Map(unknown.map((id) => [id, items.find((one) => one.id === id)?.name ?? id]));
  if (shown.value) shown.value = withNames(shown.value, names);
}

export function Operations() {
  const params = route.value.params;
  const status = params.get("status") ?? "";
  const bulk = params.get("bulk") ?? "";
  const deviceId = params.get("device") ?? "";
  const creating = useSignal<"" | "one" | "bulk">("");
  // A roll-out that is planned is not notified, so the list begins again with each that is planned here.
  const planned = useSignal(0);
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
  return (
    <ListPage
      title="Operations"
      of={operations}
      noun="operation"
      filter={`${status} ${bulk} ${deviceId}`}
      actions={
        <>
          {can("ROLE_DEVICE_CONTROL_ADMIN") && (
            <Button class="primary" onClick={() => (creating.value = "one")}>
              New operation
            </Button>
          )}
          {can("ROLE_BULK_OPERATION_ADMIN") && (
            <Button onClick={() => (creating.value = "bulk")}>For a whole group</Button>
          )}
        </>
      }
      filters={
        <>
          <WordFilter label="Status" param="status" words={STATES} />
          <Chip param="bulk" text="of one roll-out" label="Show the operations of all" />
          <Chip param="device" text="of one device" label="Show the operations of all devices" />
        </>
      }
      columns={columnsOf((one) => (watched.value = one.id))}
      exported={EXPORTED}
      empty={
        <p>
          {status || bulk || deviceId
            ? "No operation matches."
            : "No operation was created yet. An operation asks a device to do something, such as to restart."}
        </p>
      }
      head={can("ROLE_BULK_OPERATION_READ") && <BulkOperations key={planned.value} shown={bulk} />}>
      {chosen && <Details of={chosen} onClose={() => (watched.value = null)} />}
      {creating.value === "one" && <NewOperation onClose={() => (creating.value = "")} />}
      {creating.value === "bulk" && (
        <NewBulkOperation onClose={() => (creating.value = "")} onChanged={() => (planned.value += 1)} />
      )}
    </ListPage>
  );
}

const columnsOf = (show: (operation: Operation) => void): Column<Operation>[] => [
  { title: "Status", width: "7.5rem", cell: (one) => <StatusMark of={one.status} /> },
  {
    title: "Operation",
    width: "minmax(0, 2fr)",
    cell: (one) => (
      <Button class="plain clip as-link" onClick={() => show(one)}>
        {titleOf(one)}
      </Button>
    ),
  },
  {
    title: "Device",
    width: "minmax(0, 1.5fr)",
    cell: (one) => <DeviceLink class="clip" of={deviceOf(one)} />,
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

const deviceOf = ({ deviceId: id, deviceName: name }: Operation) => ({ id, name });

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
      <FactList
        of={[
          ["Device", <DeviceLink of={deviceOf(operation)} />],
          ["Created", <Time at={operation.creationTime} />],
          ["Id", <code>{operation.id}</code>],
        ]}
      />
      <pre tabIndex={0}>{JSON.stringify(content, null, 2)}</pre>
    </Dialog>
  );
}
