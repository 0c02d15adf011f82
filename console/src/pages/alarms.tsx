// Live alarms. The filters are part of the address, so a view can be saved and shared.

import { useSignal } from "@preact/signals";
import type { Message } from "cometd";
import { call, get, path, withQuery } from "../api";
import { apply, asError, useLoad } from "../load";
import { link, route, setParams } from "../router";
import { can } from "../session";
import { Time } from "../time";
import type { Alarm } from "../types";
import { Action, Choice, Page, SeverityMark, States, StatusMark, tell } from "../ui/kit";
import { type Column, VirtualTable } from "../ui/table";
import { SEVERITIES } from "./overview";

const PAGE_SIZE = 500;
const OPEN = "ACTIVE,ACKNOWLEDGED";

/** Changes the status of an alarm. The change returns as a notification to every page that shows the alarm. */
export const setStatus = (alarm: Alarm, status: Alarm["status"]) => call<Alarm>("PUT", path`/alarm/alarms/${alarm.id}`, { body: { status } });

/** Changes the status of an alarm, and offers to undo that. */
async function change(alarm: Alarm, status: Alarm["status"]): Promise<void> {
  const before = alarm.status;
  await setStatus(alarm, status);
  tell(`“${alarm.text}” is ${status.toLowerCase()}.`, false, () => setStatus(alarm, before));
}

export const byTime = (a: Alarm, b: Alarm) => Date.parse(b.time) - Date.parse(a.time) || Number(b.id) - Number(a.id);

export function Alarms() {
  const params = route.value.params;
  const severity = params.get("severity") ?? "";
  const status = params.get("status") ?? OPEN;
  const type = params.get("type") ?? "";
  const typed = useSignal(type);
  const fresh = useSignal(new Set<string>());
  const selected = useSignal(new Set<string>());
  const more = useSignal({ page: 1, end: true, busy: false });
  const query = { status: status === "ALL" ? undefined : status, severity, type };
  const matches = (alarm: Alarm) =>
    (status === "ALL" || status.split(",").includes(alarm.status)) && (!severity || severity === alarm.severity) && (!type || type.split(",").includes(alarm.type));
  const page = (currentPage: number, signal?: AbortSignal) =>
    get<{ alarms: Alarm[]; next?: string }>(withQuery("/alarm/alarms", { ...query, pageSize: PAGE_SIZE, currentPage }), { signal });
  const alarms = useLoad(
    async (abort) => {
      const first = await page(1, abort);
      more.value = { page: 1, end: !first.next, busy: false };
      return first.alarms;
    },
    [severity, status, type],
    can("ROLE_ALARM_READ") ? { channels: ["/alarms/*"], take: (messages) => update(messages) } : undefined,
  );
  const update = (messages: Message[]) => {
    const before = new Set(alarms.data.value?.map((alarm) => alarm.id));
    const after = apply(alarms.data.value ?? [], messages, matches).sort(byTime);
    fresh.value = new Set(after.filter((alarm) => !before.has(alarm.id)).map((alarm) => alarm.id));
    alarms.data.value = after;
  };
  const loadMore = async () => {
    const { page: last, end, busy } = more.value;
    if (end || busy || !alarms.data.value) return;
    more.value = { page: last, end, busy: true };
    const next = await page(last + 1).catch(() => null);
    const known = new Set(alarms.data.value.map((alarm) => alarm.id));
    alarms.data.value = [...alarms.data.value, ...(next?.alarms ?? []).filter((alarm) => !known.has(alarm.id))];
    more.value = { page: last + 1, end: !next?.next, busy: false };
  };
  const list = alarms.data.value ?? [];
  const chosen = list.filter((alarm) => selected.value.has(alarm.id) && alarm.status !== "CLEARED");
  const toggle = (alarm: Alarm) => {
    const next = new Set(selected.value);
    if (!next.delete(alarm.id)) next.add(alarm.id);
    selected.value = next;
  };
  const offersAll = can("ROLE_ALARM_ADMIN") && list.length > 0 && !type;
  return (
    <Page
      title="Alarms"
      sub={<span aria-live="polite">{list.length.toLocaleString()}{more.value.end ? "" : " or more"} shown</span>}
      actions={
        offersAll && (
          <>
            <AllOf shown={status} severity={severity} from={["ACTIVE"]} to="ACKNOWLEDGED" verb="Acknowledge" />
            <AllOf shown={status} severity={severity} from={["ACTIVE", "ACKNOWLEDGED"]} to="CLEARED" verb="Clear" />
          </>
        )
      }
    >
      <div class="filters">
        <Choice label="Status" value={status} onChange={(value) => setParams({ status: value === OPEN ? "" : value })}
          options={[[OPEN, "Open"], ["ACTIVE", "Active"], ["ACKNOWLEDGED", "Acknowledged"], ["CLEARED", "Cleared"], ["ALL", "All"]]} />
        <Choice label="Severity" value={severity} onChange={(value) => setParams({ severity: value })}
          options={[["", "All"], ...SEVERITIES.map((one): [string, string] => [one, one[0] + one.slice(1).toLowerCase()])]} />
        <label class="search small">
          <span class="hidden">Type</span>
          <input placeholder="Type" value={typed.value} spellcheck={false} onInput={(event) => (typed.value = event.currentTarget.value)} onChange={() => setParams({ type: typed.value.trim() })} />
        </label>
      </div>
      {chosen.length > 0 && (
        <div class="chosen" role="group" aria-label="Chosen alarms">
          <b>{chosen.length.toLocaleString()} chosen</b>
          <Action class="small" run={() => each(chosen.filter((alarm) => alarm.status === "ACTIVE"), "ACKNOWLEDGED")}>Acknowledge them</Action>
          <Action class="small" run={() => each(chosen, "CLEARED")}>Clear them</Action>
          <button type="button" class="small" onClick={() => (selected.value = new Set())}>Choose none</button>
          {chosen.length < list.length && <button type="button" class="small" onClick={() => (selected.value = new Set(list.map((alarm) => alarm.id)))}>Choose all that are shown</button>}
        </div>
      )}
      <div class="fill">
        <States of={alarms} isEmpty={(shown) => shown.length === 0} empty={
          status === OPEN && !severity && !type ? <p>No alarm is open. New ones appear here by themselves.</p> : (
            <>
              <p>No alarm matches these filters.</p>
              <button type="button" onClick={() => {
                typed.value = "";
                setParams({ severity: "", status: "", type: "" });
              }}>Show all open alarms</button>
            </>
          )
        }>
          {(shown) => <VirtualTable label="Alarms" columns={can("ROLE_ALARM_ADMIN") ? [choice(selected.value, toggle), ...COLUMNS] : COLUMNS} items={shown} keyOf={(alarm) => alarm.id} rowClass={(alarm) => (fresh.value.has(alarm.id) ? "arrives" : "")} onEnd={loadMore} />}
        </States>
      </div>
    </Page>
  );
}

/**
 * The button that changes the status of all alarms of the view. It is offered only where the view shows alarms with one
 * of the statuses `from`, and changes only alarms that the view shows.
 */
function AllOf({ shown, severity, from, to, verb }: { shown: string; severity: string; from: Alarm["status"][]; to: Alarm["status"]; verb: string }) {
  const affected = shown === "ALL" ? from : from.filter((one) => shown.split(",").includes(one));
  if (affected.length === 0) return null;
  const filter = { status: affected.join(","), severity };
  const question = async () => {
    const number = Number(await get<string>(withQuery("/alarm/alarms/count", filter), { accept: "text/plain" }));
    const what = `${number.toLocaleString()} ${severity.toLowerCase()} ${number === 1 ? "alarm" : "alarms"}`.replaceAll("  ", " ");
    return { title: `${verb} ${what}?`, text: `They are ${affected.join(" or ").toLowerCase()} now. This concerns all devices of the tenant, also alarms that the list has not loaded.`, button: `${verb} ${what}`, typed: "all" };
  };
  const change = () => call("PUT", withQuery("/alarm/alarms", filter), { body: { status: to } });
  return <Action run={change} confirm={question} done={`All ${affected.join(" and ").toLowerCase()} alarms of this view are ${to.toLowerCase()}.`}>{verb} all</Action>;
}

/** The number of concurrent requests. */
const AT_ONCE = 6;

/**
 * Changes the status of several alarms. The others are changed even if one fails because somebody else changed it
 * meanwhile.
 */
async function each(alarms: Alarm[], status: Alarm["status"]): Promise<void> {
  const left = [...alarms];
  const failures: string[] = [];
  const work = async () => {
    for (let alarm = left.pop(); alarm; alarm = left.pop()) await setStatus(alarm, status).catch((error) => failures.push(asError(error).message));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const done = alarms.length - failures.length;
  tell(`${done.toLocaleString()} ${done === 1 ? "alarm is" : "alarms are"} ${status.toLowerCase()}.`);
  if (failures.length > 0) tell(`${failures.length} of ${alarms.length} could not be changed: ${failures[0]}`, true);
}

const choice = (selected: Set<string>, toggle: (alarm: Alarm) => void): Column<Alarm> => {
  const cell = (alarm: Alarm) => (alarm.status === "CLEARED" ? null : <input type="checkbox" aria-label={`Choose ${alarm.text}`} checked={selected.has(alarm.id)} onChange={() => toggle(alarm)} />);
  return { title: "Choose", hiddenTitle: true, width: "1.2rem", cell };
};

const COLUMNS: Column<Alarm>[] = [
  { title: "Severity", width: "6rem", cell: (alarm) => <SeverityMark of={alarm.severity} />, narrow: { width: "5rem", cell: (alarm) => <SeverityMark of={alarm.severity} /> } },
  {
    title: "Alarm",
    width: "minmax(0, 2.5fr)",
    cell: (alarm) => <span class="clip" title={`${alarm.text}\n${alarm.type}`}>{alarm.text}{alarm.count > 1 && <span class="times" title={`Sent ${alarm.count} times`}> ×{alarm.count}</span>}</span>,
    narrow: {
      width: "minmax(0, 1fr)",
      cell: (alarm) => <><span class="clip">{alarm.text}{alarm.count > 1 && <span class="times"> ×{alarm.count}</span>}</span><span class="clip"><a href={link(["devices", alarm.source.id])}>{alarm.source.name ?? alarm.source.id}</a> <span class="faint"><Time at={alarm.time} as="ago" /></span></span></>,
    },
  },
  { title: "Device", width: "minmax(0, 1fr)", wide: true, cell: (alarm) => <a class="clip" href={link(["devices", alarm.source.id])}>{alarm.source.name ?? alarm.source.id}</a> },
  { title: "Type", width: "minmax(0, 1fr)", wide: true, cell: (alarm) => <code class="clip">{alarm.type}</code> },
  { title: "Status", width: "7.5rem", wide: true, cell: (alarm) => <StatusMark of={alarm.status} /> },
  { title: "Time", width: "6.5rem", wide: true, cell: (alarm) => <Time at={alarm.time} /> },
  { title: "Actions", width: "7.5rem", cell: (alarm) => <AlarmActions of={alarm} />, narrow: { width: "4rem", cell: (alarm) => <AlarmActions of={alarm} /> } },
];

export function AlarmActions({ of: alarm }: { of: Alarm }) {
  if (!can("ROLE_ALARM_ADMIN") || alarm.status === "CLEARED") return null;
  return (
    <span class="row-actions">
      {alarm.status === "ACTIVE" && <Action class="small" label={`Ack: acknowledge ${alarm.text}`} run={() => change(alarm, "ACKNOWLEDGED")}>Ack</Action>}
      <Action class="small" label={`Clear ${alarm.text}`} run={() => change(alarm, "CLEARED")}>Clear</Action>
    </span>
  );
}
