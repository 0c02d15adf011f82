// The overview: the numbers of objects, the current problems, and the current activity.

import { useRef } from "preact/hooks";
import { count, get, withQuery } from "../../api";
import { readObjects } from "../../collection";
import { useList } from "../../list";
import { useCalm, useLoad } from "../../load";
import { NONE_EXAMINED } from "../../parts/alarm";
import { availabilityOf } from "../../parts/device";
import { BulkOperations } from "../../parts/rollouts";
import { link } from "../../router";
import { seen, useScope } from "../../scope";
import { can, canSee, session } from "../../session";
import { Time } from "../../time";
import type { Alarm } from "../../types";
import { Page, SeverityMark } from "../../ui/kit";
import { LoadedCard } from "../../ui/loaded";
import { bySeverity, mayChangeCounts, rankOf } from "../../values/merge";
import { apply } from "../../values/merge";
import { AVAILABILITIES, SEVERITIES } from "../../values/words";
import { Pulse } from "./pulse";

/** Devices are counted again at most this often while they change, and alarms this often. */
const CALM_SECONDS = 5;
const ALARM_SECONDS = 2;

export function Overview() {
  const { roles, permitted } = session.value!;
  if (![...roles].some((role) => !/OWN/.test(role)) && permitted.length === 0 && seen.value?.ids.length === 0) {
    return (
      <Page title="Overview">
        <div class="state">
          <p>You have no rights for data of this tenant. Ask an administrator for a group.</p>
        </div>
      </Page>
    );
  }
  return (
    <Page title="Overview">
      <div class="tiles">
        <DeviceTiles />
        {canSee("ROLE_ALARM_READ") && <AlarmTiles />}
      </div>
      <div class="two">
        {canSee("ROLE_ALARM_READ") && <WrongNow />}
        <Silent />
      </div>
      <Pulse />
      {can("ROLE_BULK_OPERATION_READ") && <BulkOperations onlyUnderWay />}
    </Page>
  );
}

interface Devices {
  all: number;
  available: number;
  unavailable: number;
  maintenance: number;
  /** Whether there are more devices than were counted. */
  isPartial: boolean;
}

/** Counts the devices at the server, or those that a user without the role sees. */
async function countDevices(): Promise<Devices> {
  const query = (condition: string) => count("/inventory/managedObjects", { query: `has(plat_IsDevice)${condition}` });
  const counts = await Promise.all([
    query(""),
    ...AVAILABILITIES.map((word) => query(` and plat_Availability.status eq '${word}'`)),
  ]);
  const [all, available, unavailable, maintenance] = counts.every((one) => one !== null) ? counts : countSeen();
  return {
    all: all!,
    available: available!,
    unavailable: unavailable!,
    maintenance: maintenance!,
    isPartial: counts.includes(null) && !seen.value?.isAll,
  };
}

function countSeen(): number[] {
  const devices = seen.value?.devices ?? [];
  return [
    devices.length,
    ...AVAILABILITIES.map((word) => devices.filter((one) => availabilityOf(one).status === word).length),
  ];
}

function DeviceTiles() {
  const scope = useScope("managedobjects", "ROLE_INVENTORY_READ");
  const known = useRef(new Map<string, string>());
  const of = useLoad(countDevices, [can("ROLE_INVENTORY_READ") || seen.value], {
    ...scope,
    take: (messages) => mayChangeCounts(known.current, messages) && soon(),
  });
  const soon = useCalm(CALM_SECONDS, of.reload);
  return (
    <LoadedCard
      class="tile wide-tile"
      title="Devices"
      of={of}
      isEmpty={(sum) => sum.all === 0 && sum.isPartial}
      empty={<p>Your rights show no device here.</p>}>
      {(sum) => <DeviceCounts of={sum} />}
    </LoadedCard>
  );
}

function DeviceCounts({ of: sum }: { of: Devices }) {
  const unwatched = Math.max(0, sum.all - sum.available - sum.unavailable - sum.maintenance);
  const parts = { available: sum.available, unavailable: sum.unavailable, maintenance: sum.maintenance, unwatched };
  return (
    <>
      <a class="figure" href={link(["devices"])}>
        {sum.all.toLocaleString()}
        {sum.isPartial && <span class="partial"> or more</span>}
      </a>
      <div class="stack" aria-hidden="true">
        {Object.entries(parts).map(([word, number]) => (
          <span key={word} class={`part ${word}`} style={{ flexGrow: number }} />
        ))}
      </div>
      <ul class="legend">
        <li>
          <a href={link(["devices"], { availability: "AVAILABLE" })}>
            <span class="dot available" />
            {sum.available.toLocaleString()} available
          </a>
        </li>
        <li>
          <a href={link(["devices"], { availability: "UNAVAILABLE" })}>
            <span class="dot unavailable" />
            {sum.unavailable.toLocaleString()} unavailable
          </a>
        </li>
        <li>
          <a href={link(["devices"], { availability: "MAINTENANCE" })}>
            <span class="dot maintenance" />
            {sum.maintenance.toLocaleString()} in maintenance
          </a>
        </li>
        <li>
          <span class="dot unwatched" />
          {unwatched.toLocaleString()} not watched
        </li>
      </ul>
    </>
  );
}

function AlarmTiles() {
  const of = useLoad(
    () =>
      Promise.all(
        SEVERITIES.map((severity) =>
          get<string | number>(withQuery("/alarm/alarms/count", { severity, resolved: false })).then(Number),
        ),
      ),
    [],
    { ...useScope("alarms", "ROLE_ALARM_READ"), take: () => soon() },
  );
  const soon = useCalm(ALARM_SECONDS, of.reload);
  return (
    <LoadedCard class="tile wide-tile" title="Open alarms" of={of}>
      {(counts) => (
        <ul class="severities">
          {SEVERITIES.map((severity, index) => (
            <li key={severity}>
              <a href={link(["alarms"], { severity })} class={counts[index] ? "" : "none"}>
                <span class="figure" key={counts[index]}>
                  {counts[index].toLocaleString()}
                </span>
                <SeverityMark of={severity} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </LoadedCard>
  );
}

const SHOWN = 8;
const isOpen = (alarm: Alarm) => alarm.status !== "CLEARED";

/** The worst open alarms, updated live. */
function WrongNow() {
  const of = useList<Alarm>({
    path: "/alarm/alarms",
    member: "alarms",
    params: { severity: "CRITICAL,MAJOR", resolved: false },
    live: {
      ...useScope("alarms", "ROLE_ALARM_READ"),
      take: (list, messages) => apply(list, messages, (alarm) => isOpen(alarm) && rankOf(alarm) < 2),
    },
  });
  return (
    <LoadedCard
      title="What is wrong now"
      of={of}
      actions={<a href={link(["alarms"])}>All alarms</a>}
      isEmpty={(alarms) => alarms.length === 0}
      empty={<p>{of.rest.value.next ? NONE_EXAMINED : "No critical or major alarm is open."}</p>}>
      {(alarms) => (
        <ul class="rows">
          {[...alarms]
            .sort(bySeverity)
            .slice(0, SHOWN)
            .map((alarm) => (
              <li key={alarm.id} class="arrives">
                <SeverityMark of={alarm.severity} />
                <a class="grow clip" href={link(["devices", alarm.source.id])}>
                  <b>{alarm.source.name ?? alarm.source.id}</b> {alarm.text}
                </a>
                <span class="faint nowrap">
                  <Time at={alarm.time} as="ago" />
                </span>
              </li>
            ))}
        </ul>
      )}
    </LoadedCard>
  );
}

const SILENT =
  "$filter=has(plat_IsDevice) and plat_Availability.status eq 'UNAVAILABLE' $orderby=plat_Availability.lastMessage";

/** The devices that have not sent a message in time. */
function Silent() {
  const known = useRef(new Map<string, string>());
  const of = useLoad(
    async () => {
      const [silent, watched] = await Promise.all([
        readObjects({ query: SILENT, pageSize: SHOWN }),
        readObjects({ query: "has(plat_IsDevice) and has(plat_Availability)", pageSize: 1 }),
      ]);
      return { devices: silent.items, isWatched: watched.items.length > 0 };
    },
    [],
    {
      ...useScope("managedobjects", "ROLE_INVENTORY_READ"),
      take: (messages) => mayChangeCounts(known.current, messages) && soon(),
    },
  );
  const soon = useCalm(CALM_SECONDS, of.reload);
  return (
    <LoadedCard
      title="Unavailable devices"
      of={of}
      actions={<a href={link(["devices"], { availability: "UNAVAILABLE" })}>All of them</a>}
      isEmpty={({ devices }) => devices.length === 0}
      empty={
        <p>
          {of.data.value?.isWatched
            ? "Every watched device sends in time."
            : "No device is watched, so a silent one is not noticed."}{" "}
          A device is watched when it has a response interval.
        </p>
      }>
      {({ devices }) => (
        <ul class="rows">
          {devices.map((device) => (
            <li key={device.id}>
              <span class="dot unavailable" />
              <a class="grow clip" href={link(["devices", device.id])}>
                <b>{device.name ?? device.id}</b>
              </a>
              <span class="faint nowrap">
                last message <Time at={availabilityOf(device).lastMessage} as="ago" />
              </span>
            </li>
          ))}
        </ul>
      )}
    </LoadedCard>
  );
}
