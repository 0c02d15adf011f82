// One alarm: its whole text, and who changed it.

import { call, path, withQuery } from "../api";
import { readPage } from "../collection";
import { useLoad } from "../load";
import { can } from "../session";
import { Time } from "../time";
import type { Alarm, AuditRecord } from "../types";
import { Action, Dialog, FactList, SeverityMark, StatusMark, tell } from "../ui/kit";
import { States } from "../ui/loaded";
import { Standing } from "../ui/standing";
import { changesOf } from "../values/words";
import { DeviceLink } from "./device";

/** Members that the window shows in words. */
const COMMON = new Set([
  "id",
  "self",
  "source",
  "type",
  "text",
  "severity",
  "status",
  "time",
  "creationTime",
  "firstOccurrenceTime",
  "lastUpdated",
  "count",
  "history",
]);

export function AlarmDetails({ of: alarm, onClose }: { of: Alarm; onClose: () => void }) {
  const more = Object.entries(alarm).filter(([name]) => !COMMON.has(name));
  return (
    <Dialog title={alarm.text} onClose={onClose}>
      <p class="line">
        <SeverityMark of={alarm.severity} /> <StatusMark of={alarm.status} /> <span class="grow" />{" "}
        <AlarmActions of={alarm} />
      </p>
      <FactList
        of={[
          ["Device", <DeviceLink of={alarm.source} />],
          ["Type", <code>{alarm.type}</code>],
          ["Time", <Time at={alarm.time} />],
          alarm.count > 1 && [
            "Sent",
            <>
              {alarm.count.toLocaleString()} times, first <Time at={alarm.firstOccurrenceTime} />
            </>,
          ],
          ["Id", <code>{alarm.id}</code>],
        ]}
      />
      {more.length > 0 && <pre tabIndex={0}>{JSON.stringify(Object.fromEntries(more), null, 2)}</pre>}
      {can("ROLE_AUDIT_READ") && <History of={alarm} />}
    </Dialog>
  );
}

/** The records of the audit log about the alarm, read again when its status changes. */
function History({ of: alarm }: { of: Alarm }) {
  const address = withQuery("/audit/auditRecords", { source: alarm.id, revert: true, pageSize: 100 });
  const records = useLoad(
    () => readPage<AuditRecord>(address, "auditRecords"),
    [alarm.id, alarm.status, alarm.severity],
  );
  return (
    <>
      <div class="between">
        <h3>Changes</h3>
        <Standing of={records} />
      </div>
      <States of={records} isEmpty={({ items }) => items.length === 0} empty={<p>Nobody changed it.</p>}>
        {({ items }) => (
          <ul class="rows">
            {items.map((one) => (
              <li key={one.id}>
                <span class="grow">
                  <b>{one.user}</b> {changesOf(one) || one.activity}
                </span>{" "}
                <span class="faint nowrap">
                  <Time at={one.time} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </States>
    </>
  );
}

/** Changes the status of an alarm. The change returns as a notification to every page that shows the alarm. */
export const setStatus = (alarm: Alarm, status: Alarm["status"]) =>
  call<Alarm>("PUT", path`/alarm/alarms/${alarm.id}`, { body: { status } });

/** Changes the status of an alarm, and offers to undo that. */
async function change(alarm: Alarm, status: Alarm["status"]): Promise<void> {
  const before = alarm.status;
  await setStatus(alarm, status);
  tell(`“${alarm.text}” is ${status.toLowerCase()}.`, false, () => setStatus(alarm, before));
}

export function AlarmActions({ of: alarm }: { of: Alarm }) {
  if (!can("ROLE_ALARM_ADMIN") || alarm.status === "CLEARED") return null;
  return (
    <span class="row-actions">
      {alarm.status === "ACTIVE" && (
        <Action class="small" label={`Ack: acknowledge ${alarm.text}`} run={() => change(alarm, "ACKNOWLEDGED")}>
          Ack
        </Action>
      )}
      <Action class="small" label={`Clear ${alarm.text}`} run={() => change(alarm, "CLEARED")}>
        Clear
      </Action>
    </span>
  );
}

/** What a list of alarms shows whose pages had no alarm that the user may see (P-07). */
export const NONE_EXAMINED = "None of the alarms that were examined is of a device that you may see. There are more.";
