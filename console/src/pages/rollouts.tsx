// Roll-outs: one operation for each device of a group, one after the other, with their progress.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, get, path, withQuery } from "../api";
import { useLoad } from "../load";
import { link } from "../router";
import { can } from "../session";
import { Time } from "../time";
import type { BulkOperation, ManagedObject } from "../types";
import { Action, Card, Dialog, Field, Form, States, StatusMark, tell } from "../ui/kit";
import { Content, FIRST_CONTENT, parsed, titleOf } from "./operations";

export function NewBulkOperation({ onClose }: { onClose: () => void }) {
  const content = useSignal(FIRST_CONTENT);
  const groups = useLoad(() => get<{ managedObjects: ManagedObject[] }>(withQuery("/inventory/managedObjects", { fragmentType: "plat_IsDeviceGroup", pageSize: 2000, withChildren: false })).then((page) => page.managedObjects), []);
  const send = async (form: FormData) => {
    await call("POST", "/devicecontrol/bulkoperations", {
      body: { groupId: form.get("group"), startDate: startOf(form), creationRamp: Number(form.get("ramp")), operationPrototype: parsed(content.value) },
    });
    tell(form.get("start") ? "The roll-out is planned." : "The roll-out has started.");
    onClose();
  };
  return (
    <Dialog title="An operation for a whole group" onClose={onClose}>
      <Form send={send} action="Start" disabled={!groups.data.value?.length}>
        <States of={groups} isEmpty={(list) => list.length === 0} empty={<p>There is no group yet. A registration file with a column PATH creates groups.</p>}>
          {(list) => (
            <Field label="Group">
              <select name="group" required>{list.map((one) => <option key={one.id} value={one.id}>{one.name ?? one.id}</option>)}</select>
            </Field>
          )}
        </States>
        <Field label="Start" hint="Empty means now.">
          <input name="start" type="datetime-local" />
        </Field>
        <Field label="Seconds from one device to the next" hint="A slow ramp gives time to stop when the first ones fail.">
          <input name="ramp" type="number" min="0" step="0.1" value="2" required />
        </Field>
        <Content value={content.value} onChange={(value) => (content.value = value)} />
      </Form>
    </Dialog>
  );
}

/** Returns the start time, which is entered in the time zone of the viewer. */
function startOf(form: FormData): string {
  const chosen = String(form.get("start") ?? "");
  return (chosen ? new Date(chosen) : new Date()).toISOString();
}

/** Bulk operations with their progress, which is counted again when operations change. */
export function BulkOperations({ shown, onlyUnderWay = false }: { shown?: string; onlyUnderWay?: boolean }) {
  const bulk = useLoad(
    () => get<{ bulkOperations: BulkOperation[] }>("/devicecontrol/bulkoperations?pageSize=2000").then((page) => page.bulkOperations.reverse()),
    [],
    can("ROLE_DEVICE_CONTROL_READ") ? { channels: ["/operations/*"], take: (messages) => messages.some((one) => one.data?.data?.bulkOperationId) && (stale.value = true) } : undefined,
  );
  const stale = useSignal(false);
  const isRunning = bulk.data.value?.some(isUnderWay);
  useEffect(() => {
    // The status of a bulk operation is not notified, so it is read again while one is running or operations change.
    const timer = setInterval(() => {
      if (document.hidden || !(stale.value || isRunning)) return;
      stale.value = false;
      bulk.reload();
    }, onlyUnderWay ? 3000 : 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  const list = (bulk.data.value ?? []).filter((one) => !onlyUnderWay || isUnderWay(one)).slice(0, onlyUnderWay ? 3 : 10);
  if (list.length === 0) return null;
  return (
    <Card title="Roll-outs" aside={onlyUnderWay && <a href={link(["operations"])}>All operations</a>}>
      <ul class="rows">{list.map((one) => <RollOut key={one.id} of={one} shown={one.id === shown} onChanged={bulk.reload} />)}</ul>
    </Card>
  );
}

function RollOut({ of: one, shown, onChanged }: { of: BulkOperation; shown: boolean; onChanged: () => void }) {
  const address = path`/devicecontrol/bulkoperations/${one.id}`;
  const isPlanned = one.status === "ACTIVE" && Date.parse(one.startDate) > Date.now();
  const retry = () => call("POST", "/devicecontrol/bulkoperations", { body: { failedParentId: one.id, startDate: new Date().toISOString(), creationRamp: one.creationRamp, operationPrototype: one.operationPrototype } }).then(onChanged);
  return (
    <li class="bulk">
      <span class="grow">
        <a href={link(["operations"], { bulk: shown ? undefined : one.id })} aria-current={shown ? "true" : undefined}><b>{titleOf(one.operationPrototype)}</b></a>
        <span class="faint"> {isPlanned ? <>starts <Time at={one.startDate} />, </> : null}{one.failedParentId ? "those that failed before, " : ""}a device every {one.creationRamp} s</span>
      </span>
      <Progress of={one} />
      <StatusMark of={isPlanned ? "PLANNED" : stateOf(one)} />
      {can("ROLE_BULK_OPERATION_ADMIN") && (
        <span class="row-actions">
          {isPlanned && <Action class="small" run={() => call("PUT", address, { body: { startDate: new Date().toISOString() } }).then(onChanged)} done="The roll-out has started.">Start now</Action>}
          {one.status === "ACTIVE" && <Action class="small" label={`Stop ${titleOf(one.operationPrototype)}`} run={() => call("DELETE", address).then(onChanged)} confirm={{ title: `Stop ${titleOf(one.operationPrototype)}?`, text: `${one.progress.pending ?? 0} devices have not received it yet.`, button: "Stop roll-out" }} done="No more devices get the operation. Those that have it keep it.">Stop</Action>}
          {one.progress.failed > 0 && <Action class="small" run={retry} done="It runs again for the devices that failed.">Retry failed</Action>}
        </span>
      )}
    </li>
  );
}

const isUnderWay = (one: BulkOperation) => one.status === "ACTIVE" || stateOf(one) === "EXECUTING";

/**
 * Returns the shown state. The server's COMPLETED means that every operation was created; people want to know whether
 * they are done.
 */
function stateOf({ status, progress }: BulkOperation): string {
  if (status !== "COMPLETED") return status;
  return progress.successful + progress.failed >= progress.all ? "COMPLETED" : "EXECUTING";
}

function Progress({ of: { progress } }: { of: BulkOperation }) {
  const done = progress.successful + progress.failed;
  return (
    <div class="progress" role="img" aria-label={`${done} of ${progress.all} are done, ${progress.failed} failed`}>
      <div class="stack">
        {(["successful", "failed", "executing", "pending"] as const).map((word) => <span key={word} class={`part ${word}`} style={{ flexGrow: progress[word] }} />)}
        <span class="part unwatched" style={{ flexGrow: Math.max(0, progress.all - done - progress.executing - progress.pending) }} />
      </div>
      <span class="faint">{done} of {progress.all}{progress.failed > 0 && `, ${progress.failed} failed`}</span>
    </div>
  );
}
