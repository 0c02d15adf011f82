// Live alarms. The filters are part of the address, so a view can be saved and shared.

import { useSignal } from "@preact/signals";
import { call, get, withQuery } from "../api";
import { useList } from "../list";
import { asError } from "../load";
import { AlarmActions, AlarmDetails, NONE_EXAMINED, setStatus } from "../parts/alarm";
import { DeviceLink } from "../parts/device";
import { chooseParams, route } from "../router";
import { useScope } from "../scope";
import { can } from "../session";
import { Time } from "../time";
import type { Alarm } from "../types";
import { Chip, NoMatch, TextFilter, WordFilter } from "../ui/filters";
import { Action, Button, Choice, SeverityMark, StatusMark, tell } from "../ui/kit";
import { ListPage } from "../ui/loaded";
import type { Column } from "../ui/table";
import { isChosen } from "../values/filters";
import { apply, byTime } from "../values/merge";
import { SEVERITIES } from "../values/words";

const OPEN = "ACTIVE,ACKNOWLEDGED";
const STATUSES: [string, string][] = [
  [OPEN, "Open"],
  ["ACTIVE", "Active"],
  ["ACKNOWLEDGED", "Acknowledged"],
  ["CLEARED", "Cleared"],
  ["ALL", "All"],
];

export function Alarms() {
  const params = route.value.params;
  const severity = params.get("severity") ?? "";
  const status = params.get("status") ?? OPEN;
  const type = params.get("type") ?? "";
  const source = params.get("source") ?? "";
  const fresh = useSignal(new Set<string>());
  const selected = useSignal(new Set<string>());
  const watched = useSignal<string | null>(null);
  const query = { status: status === "ALL" ? undefined : status, severity, type, source };
  const matches = (alarm: Alarm) =>
    isChosen(status === "ALL" ? "" : status, alarm.status) &&
    isChosen(severity, alarm.severity) &&
    isChosen(type, alarm.type) &&
    isChosen(source, alarm.source.id);
  const alarms = useList<Alarm>({
    path: "/alarm/alarms",
    member: "alarms",
    params: query,
    live: {
      ...useScope("alarms", "ROLE_ALARM_READ"),
      take: (list, messages) => {
        const before = new Set(list.map((alarm) => alarm.id));
        const after = apply(list, messages, matches).sort(byTime);
        fresh.value = new Set(after.filter((alarm) => !before.has(alarm.id)).map((alarm) => alarm.id));
        return after;
      },
    },
  });
  const list = alarms.data.value ?? [];
  const chosen = list.filter((alarm) => selected.value.has(alarm.id) && alarm.status !== "CLEARED");
  const choose = (alarms: Alarm[]) => (selected.value = new Set(alarms.map((alarm) => alarm.id)));
  const toggle = (alarm: Alarm) => {
    const next = new Set(selected.value);
    if (!next.delete(alarm.id)) next.add(alarm.id);
    selected.value = next;
  };
  const offersAll = can("ROLE_ALARM_ADMIN") && list.length > 0 && !type && !source;
  const showOpen = () => chooseParams({ severity: "", status: "", type: "", source: "" });
  const isPlain = status === OPEN && !severity && !type && !source;
  const columns = columnsOf((alarm) => (watched.value = alarm.id));
  const shownAlarm = list.find((alarm) => alarm.id === watched.value);
  return (
    <ListPage
      title="Alarms"
      of={alarms}
      noun="alarm"
      filter={JSON.stringify(query)}
      actions={
        offersAll && (
          <>
            <AllOf shown={status} severity={severity} from={["ACTIVE"]} to="ACKNOWLEDGED" verb="Acknowledge" />
            <AllOf shown={status} severity={severity} from={["ACTIVE", "ACKNOWLEDGED"]} to="CLEARED" verb="Clear" />
          </>
        )
      }
      filters={
        <>
          <Choice
            label="Status"
            value={status}
            onChange={(value) => chooseParams({ status: value === OPEN ? "" : value })}
            options={STATUSES}
          />
          <WordFilter label="Severity" param="severity" words={SEVERITIES} />
          <TextFilter label="Type" param="type" />
          <Chip param="source" text="of one device" label="Show the alarms of all devices" />
        </>
      }
      above={chosen.length > 0 && <Chosen of={chosen} all={list} choose={choose} />}
      columns={can("ROLE_ALARM_ADMIN") ? [choice(selected.value, toggle), ...columns] : columns}
      exported={EXPORTED}
      rowClass={(alarm) => (fresh.value.has(alarm.id) ? "arrives" : "")}
      empty={
        alarms.rest.value.next ? (
          <p>{NONE_EXAMINED}</p>
        ) : isPlain ? (
          <p>No alarm is open.{alarms.isLive() && " New ones appear here by themselves."}</p>
        ) : (
          <NoMatch text="No alarm matches these filters." button="Show all open alarms" showAll={showOpen} />
        )
      }>
      {shownAlarm && <AlarmDetails of={shownAlarm} onClose={() => (watched.value = null)} />}
    </ListPage>
  );
}

/** What can be done with the chosen alarms together. */
function Chosen({ of: chosen, all, choose }: { of: Alarm[]; all: Alarm[]; choose: (alarms: Alarm[]) => void }) {
  const active = chosen.filter((alarm) => alarm.status === "ACTIVE");
  return (
    <div class="chosen" role="group" aria-label="Chosen alarms">
      <b>{chosen.length.toLocaleString()} chosen</b>
      <Action class="small" run={() => each(active, "ACKNOWLEDGED")}>
        Acknowledge them
      </Action>
      <Action class="small" run={() => each(chosen, "CLEARED")}>
        Clear them
      </Action>
      <Button class="small" onClick={() => choose([])}>
        Choose none
      </Button>
      {chosen.length < all.length && (
        <Button class="small" onClick={() => choose(all)}>
          Choose all that are shown
        </Button>
      )}
    </div>
  );
}

/**
 * The button that changes the status of all alarms of the view. It is offered only where the view shows alarms with one
 * of the statuses `from`, and changes only alarms that the view shows.
 */
function AllOf({
  shown,
  severity,
  from,
  to,
  verb,
}: {
  shown: string;
  severity: string;
  from: Alarm["status"][];
  to: Alarm["status"];
  verb: string;
}) {
  const affected = shown === "ALL" ? from : from.filter((one) => shown.split(",").includes(one));
  if (affected.length === 0) return null;
  const filter = { status: affected.join(","), severity };
  const question = async () => {
    const number = Number(await get<string>(withQuery("/alarm/alarms/count", filter), { accept: "text/plain" }));
    const what = `${number.toLocaleString()} ${severity.toLowerCase()} ${number === 1 ? "alarm" : "alarms"}`.replaceAll(
      "  ",
      " ",
    );
    return {
      title: `${verb} ${what}?`,
      text:
        `They are ${affected.join(" or ").toLowerCase()} now. ` +
        "This concerns all devices of the tenant, also alarms that the list has not loaded.",
      button: `${verb} ${what}`,
      typed: "all",
    };
  };
  const change = () => call("PUT", withQuery("/alarm/alarms", filter), { body: { status: to } });
  return (
    <Action
      run={change}
      confirm={question}
      done={`All ${affected.join(" and ").toLowerCase()} alarms of this view are ${to.toLowerCase()}.`}>
      {verb} all
    </Action>
  );
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
    for (let alarm = left.pop(); alarm; alarm = left.pop())
      await setStatus(alarm, status).catch((error) => failures.push(asError(error).message));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const done = alarms.length - failures.length;
  tell(`${done.toLocaleString()} ${done === 1 ? "alarm is" : "alarms are"} ${status.toLowerCase()}.`);
  if (failures.length > 0) tell(`${failures.length} of ${alarms.length} could not be changed: ${failures[0]}`, true);
}

const choice = (selected: Set<string>, toggle: (alarm: Alarm) => void): Column<Alarm> => {
  const cell = (alarm: Alarm) =>
    alarm.status === "CLEARED" ? null : (
      <input
        type="checkbox"
        aria-label={`Choose ${alarm.text}`}
        checked={selected.has(alarm.id)}
        onChange={() => toggle(alarm)}
      />
    );
  return { title: "Choose", hiddenTitle: true, width: "1.2rem", cell };
};

const EXPORTED: Record<string, (alarm: Alarm) => unknown> = {
  id: (alarm) => alarm.id,
  time: (alarm) => alarm.time,
  severity: (alarm) => alarm.severity,
  status: (alarm) => alarm.status,
  type: (alarm) => alarm.type,
  text: (alarm) => alarm.text,
  count: (alarm) => alarm.count,
  source: (alarm) => alarm.source.id,
  sourceName: (alarm) => alarm.source.name,
};

const columnsOf = (show: (alarm: Alarm) => void): Column<Alarm>[] => [
  {
    title: "Severity",
    width: "6rem",
    cell: (alarm) => <SeverityMark of={alarm.severity} />,
    narrow: { width: "5rem", cell: (alarm) => <SeverityMark of={alarm.severity} /> },
  },
  {
    title: "Alarm",
    width: "minmax(0, 2.5fr)",
    cell: (alarm) => (
      <Button class="plain clip as-link" title={`${alarm.text}\n${alarm.type}`} onClick={() => show(alarm)}>
        {alarm.text}
        {alarm.count > 1 && (
          <span class="times" title={`Sent ${alarm.count} times`}>
            {" "}
            ×{alarm.count}
          </span>
        )}
      </Button>
    ),
    narrow: {
      width: "minmax(0, 1fr)",
      cell: (alarm) => (
        <>
          <Button class="plain clip as-link" onClick={() => show(alarm)}>
            {alarm.text}
            {alarm.count > 1 && <span class="times"> ×{alarm.count}</span>}
          </Button>
          <span class="clip">
            <DeviceLink of={alarm.source} />{" "}
            <span class="faint">
              <Time at={alarm.time} as="ago" />
            </span>
          </span>
        </>
      ),
    },
  },
  {
    title: "Device",
    width: "minmax(0, 1fr)",
    wide: true,
    cell: (alarm) => <DeviceLink class="clip" of={alarm.source} />,
  },
  { title: "Type", width: "minmax(0, 1fr)", wide: true, cell: (alarm) => <code class="clip">{alarm.type}</code> },
  { title: "Status", width: "8.5rem", wide: true, cell: (alarm) => <StatusMark of={alarm.status} /> },
  { title: "Time", width: "6.5rem", wide: true, cell: (alarm) => <Time at={alarm.time} /> },
  {
    title: "Actions",
    width: "7.5rem",
    cell: (alarm) => <AlarmActions of={alarm} />,
    narrow: { width: "4rem", cell: (alarm) => <AlarmActions of={alarm} /> },
  },
];
