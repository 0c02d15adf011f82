// Roll-outs: one operation for each device of a group, one after the other, with their progress.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, path } from "../api";
import { useNotifications } from "../arrivals";
import { useGroups } from "../groups";
import { useList } from "../list";
import { useEvery } from "../load";
import { link } from "../router";
import { useScope } from "../scope";
import { can } from "../session";
import { Time } from "../time";
import type { BulkOperation } from "../types";
import { Action, Button, Field, FormDialog, StatusMark, tell, type WindowProps } from "../ui/kit";
import { LoadedCard, States } from "../ui/loaded";
import { isUnderWay, stateOfRollOut, titleOf } from "../values/words";
import { Content, FIRST_CONTENT, parsed } from "./new_operation";

export function NewBulkOperation({ onClose, onChanged }: WindowProps) {
  const content = useSignal(FIRST_CONTENT);
  const groups = useGroups();
  const send = async (form: FormData) => {
    await call("POST", "/devicecontrol/bulkoperations", {
      body: {
        groupId: form.get("group"),
        startDate: startOf(form),
        creationRamp: Number(form.get("ramp")),
        operationPrototype: parsed(content.value),
      },
    });
    tell(form.get("start") ? "The roll-out is planned." : "The roll-out has started.");
  };
  return (
    <FormDialog
      title="An operation for a whole group"
      onClose={onClose}
      onChanged={onChanged}
      send={send}
      action="Start"
      disabled={!groups.data.value?.all.length}>
      <States
        of={groups}
        isEmpty={({ all }) => all.length === 0}
        empty={<p>There is no group yet. A registration file with a column PATH creates groups.</p>}>
        {({ all, isAll }) => (
          <Field label="Group" hint={isAll ? undefined : `The first ${all.length.toLocaleString()} groups.`}>
            <select name="group" required>
              {all.map((one) => (
                <option key={one.object.id} value={one.object.id}>
                  {one.path}
                </option>
              ))}
            </select>
          </Field>
        )}
      </States>
      <Field label="Start" hint="Empty means now.">
        <input name="start" type="datetime-local" />
      </Field>
      <Field
        label="Seconds from one device to the next"
        hint="A slow ramp gives time to stop when the first ones fail.">
        <input name="ramp" type="number" min="0" step="0.1" value="2" required />
      </Field>
      <Content value={content.value} onChange={(value) => (content.value = value)} />
    </FormDialog>
  );
}

/** Returns the start time, which is entered in the time zone of the viewer. */
function startOf(form: FormData): string {
  const chosen = String(form.get("start") ?? "");
  return (chosen ? new Date(chosen) : new Date()).toISOString();
}

const RUNNING_SECONDS = 1;

/** Bulk operations with their progress, which is counted again when operations change. */
export function BulkOperations({ shown, onlyUnderWay = false }: { shown?: string; onlyUnderWay?: boolean }) {
  const bulk = useList<BulkOperation>({
    path: "/devicecontrol/bulkoperations",
    member: "bulkOperations",
    pageSize: 2000,
  });
  const operations = useScope("operations", "ROLE_DEVICE_CONTROL_READ");
  const stale = useSignal(false);
  useNotifications(operations.channels, (messages) => {
    if (messages.some((one) => one.data?.data?.bulkOperationId)) stale.value = true;
  });
  const shownNumber = useSignal(onlyUnderWay ? 3 : 10);
  const isRunning = bulk.data.value?.some(isUnderWay);
  // The status of a bulk operation is not notified, so it is read again while one is running or operations change.
  useEvery(onlyUnderWay ? 3 : RUNNING_SECONDS, () => {
    if (!stale.value && !isRunning) return;
    stale.value = false;
    bulk.reload();
  });
  // The server lists the oldest first, so the newest are only known at the end of the list.
  useEffect(() => bulk.more(), [bulk.rest.value]);
  const matching = (all: BulkOperation[]) => [...all].reverse().filter((one) => !onlyUnderWay || isUnderWay(one));
  const number = matching(bulk.data.value ?? []).length;
  if (number === 0 && !bulk.error.value) return null;
  const most = shownNumber.value;
  return (
    <LoadedCard
      title="Roll-outs"
      of={bulk}
      every={isRunning ? RUNNING_SECONDS : undefined}
      actions={onlyUnderWay && <a href={link(["operations"])}>All operations</a>}
      below={
        number > most && (
          <p>
            <span class="partial">
              {most} of {number.toLocaleString()} roll-outs
            </span>{" "}
            <Button class="plain" onClick={() => (shownNumber.value += 20)}>
              Show more
            </Button>
          </p>
        )
      }>
      {(all) => (
        <ul class="rows">
          {matching(all)
            .slice(0, most)
            .map((one) => (
              <RollOut key={one.id} of={one} shown={one.id === shown} onChanged={bulk.reload} />
            ))}
        </ul>
      )}
    </LoadedCard>
  );
}

function RollOut({ of: one, shown, onChanged }: { of: BulkOperation; shown: boolean; onChanged: () => void }) {
  const address = path`/devicecontrol/bulkoperations/${one.id}`;
  const isPlanned = one.status === "ACTIVE" && Date.parse(one.startDate) > Date.now();
  const retry = () =>
    call("POST", "/devicecontrol/bulkoperations", {
      body: {
        failedParentId: one.id,
        startDate: new Date().toISOString(),
        creationRamp: one.creationRamp,
        operationPrototype: one.operationPrototype,
      },
    }).then(onChanged);
  return (
    <li class="bulk">
      <span class="grow">
        <a href={link(["operations"], { bulk: shown ? undefined : one.id })} aria-current={shown ? "true" : undefined}>
          <b>{titleOf(one.operationPrototype)}</b>
        </a>
        <span class="faint">
          {" "}
          {isPlanned ? (
            <>
              starts <Time at={one.startDate} />,{" "}
            </>
          ) : null}
          {one.failedParentId ? "those that failed before, " : ""}a device every {one.creationRamp} s
        </span>
      </span>
      <Progress of={one} />
      <StatusMark of={isPlanned ? "PLANNED" : stateOfRollOut(one)} />
      {can("ROLE_BULK_OPERATION_ADMIN") && (
        <span class="row-actions">
          {isPlanned && (
            <Action
              class="small"
              run={() => call("PUT", address, { body: { startDate: new Date().toISOString() } }).then(onChanged)}
              done="The roll-out has started.">
              Start now
            </Action>
          )}
          {one.status === "ACTIVE" && (
            <Action
              class="small"
              label={`Stop ${titleOf(one.operationPrototype)}`}
              run={() => call("DELETE", address).then(onChanged)}
              confirm={{
                title: `Stop ${titleOf(one.operationPrototype)}?`,
                text: `${one.progress.pending} devices have not received it yet.`,
                button: "Stop roll-out",
              }}
              done="No more devices get the operation. Those that have it keep it.">
              Stop
            </Action>
          )}
          {one.progress.failed > 0 && (
            <Action class="small" run={retry} done="It runs again for the devices that failed.">
              Retry failed
            </Action>
          )}
        </span>
      )}
    </li>
  );
}

function Progress({ of: { progress } }: { of: BulkOperation }) {
  const done = progress.successful + progress.failed;
  return (
    <div class="progress" role="img" aria-label={`${done} of ${progress.all} are done, ${progress.failed} failed`}>
      <div class="stack">
        {(["successful", "failed", "executing", "pending"] as const).map((word) => (
          <span key={word} class={`part ${word}`} style={{ flexGrow: progress[word] }} />
        ))}
        <span
          class="part unwatched"
          style={{ flexGrow: Math.max(0, progress.all - done - progress.executing - progress.pending) }}
        />
      </div>
      <span class="faint">
        {done} of {progress.all}
        {progress.failed > 0 && `, ${progress.failed} failed`}
      </span>
    </div>
  );
}
