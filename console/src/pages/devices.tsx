// All devices: the query language, groups, and a sign for devices that send data right now.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { get, withQuery } from "../api";
import { subscribe } from "../live";
import { apply, useLoad } from "../load";
import { link, route, setParams } from "../router";
import { can } from "../session";
import { Time } from "../time";
import type { ManagedObject } from "../types";
import { Choice, Icon, Page, States } from "../ui/kit";
import { addPaths, placeOf, QueryField } from "../ui/query";
import { type Column, VirtualTable } from "../ui/table";

const PAGE_SIZE = 500;
/** A text that contains an operator or a function is a query; any other text is a part of a name. */
const LOOKS_LIKE_QUERY = /\s(eq|ne|gt|ge|lt|le)\s|has\s*\(|bygroupid\s*\(|\$filter|\$orderby/;

/** Members that are not useful in a search. */
const NOT_IN_QUERIES = new Set(["self", "childDevices", "childAssets", "childAdditions", "deviceParents", "assetParents", "additionParents"]);

export const availabilityOf = (device: ManagedObject) => (device.plat_Availability as { status?: string; lastMessage?: string } | undefined) ?? {};

interface Filters {
  text: string;
  availability: string;
  group: string;
}

/** Returns the query for the filters. Quotes in a text are doubled. */
export function queryOf({ text, availability, group }: Filters): string {
  const parts = ["has(plat_IsDevice)"];
  if (availability) parts.push(`plat_Availability.status eq '${availability}'`);
  if (group) parts.push(`bygroupid(${group})`);
  let order = "";
  if (LOOKS_LIKE_QUERY.test(text)) {
    const [, filter, ordered] = text.match(/^(?:\s*\$filter=)?([\s\S]*?)(\$orderby=[\s\S]*)?$/) ?? [];
    if (filter?.trim()) parts.push(`(${filter.trim()})`);
    order = ordered ?? "";
  } else if (text.trim()) parts.push(`name eq '*${text.trim().replaceAll("'", "''")}*'`);
  return `$filter=${parts.join(" and ")} ${order || "$orderby=name"}`;
}

interface Devicepage {
  managedObjects: ManagedObject[];
  statistics: { totalPages?: number | null };
  next?: string;
}

export function Devices() {
  const params = route.value.params;
  const filters: Filters = { text: params.get("q") ?? "", availability: params.get("availability") ?? "", group: params.get("group") ?? "" };
  const typed = useSignal(filters.text);
  // The paths and values of devices that were shown. They remain for completion, because an incomplete query often
  // finds no device.
  const known = useRef(new Map<string, Set<string>>());
  const more = useSignal<{ page: number; busy: boolean; end: boolean }>({ page: 1, busy: false, end: false });
  const query = queryOf(filters);
  const page = (currentPage: number, signal?: AbortSignal) =>
    get<Devicepage>(withQuery("/inventory/managedObjects", { query, pageSize: PAGE_SIZE, currentPage, withChildren: false }), { signal });
  const devices = useLoad(
    async (abort) => {
      const first = await page(1, abort);
      more.value = { page: 1, busy: false, end: !first.next };
      return first.managedObjects;
    },
    [query],
    // Only the shown devices are updated by notifications; new matches of a query are known to the server alone.
    can("ROLE_INVENTORY_READ") ? { channels: ["/managedobjects/*"], take: (messages) => update(messages) } : undefined,
  );
  const update = (messages: Message[]) => {
    const shown = devices.data.value ?? [];
    const ids = new Set(shown.map((device) => device.id));
    const isPlain = !filters.text && !filters.availability && !filters.group;
    devices.data.value = apply(shown, messages, (device) => ids.has(device.id) || (isPlain && !!device.plat_IsDevice));
  };
  const loadMore = async () => {
    const { page: last, busy, end } = more.value;
    if (busy || end || !devices.data.value) return;
    more.value = { page: last, busy: true, end };
    const next = await page(last + 1).catch(() => null);
    const known = new Set(devices.data.value.map((device) => device.id));
    devices.data.value = [...devices.data.value, ...(next?.managedObjects ?? []).filter((device) => !known.has(device.id))];
    more.value = { page: last + 1, busy: false, end: !next?.next };
  };
  useEffect(() => {
    const timer = setTimeout(() => typed.value !== filters.text && setParams({ q: typed.value }), 350);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useSigns();
  const failed = devices.error.value;
  const mistake = failed?.status === 422 ? placeOf(failed.message, query, filters.text) : null;
  const number = devices.data.value?.length ?? 0;
  return (
    <Page
      title="Devices"
      sub={<span aria-live="polite">{number.toLocaleString()}{more.value.end ? "" : " or more"} {number === 1 ? "device" : "devices"}</span>}
      actions={can("ROLE_DEVICE_CONTROL_ADMIN") && <a class="button" href={link(["registration"])}><Icon name="registration" />Register a device</a>}
    >
      <div class="filters">
        <QueryField
          value={typed.value}
          onInput={(text) => (typed.value = text)}
          paths={() => addPaths(known.current, devices.data.value ?? [], NOT_IN_QUERIES)}
          placeholder="A name, or a query: plat_Hardware.model eq 'RX*' and not has(plat_Firmware)"
          isMistaken={devices.error.value?.status === 422}
        />
        <Choice
          label="Availability"
          value={filters.availability}
          options={[["", "All"], ["AVAILABLE", "Available"], ["UNAVAILABLE", "Unavailable"], ["MAINTENANCE", "Maintenance"]]}
          onChange={(availability) => setParams({ availability })}
        />
      </div>
      {mistake !== null && <pre class="mistake" aria-hidden="true">{`${filters.text}\n${" ".repeat(mistake)}^`}</pre>}
      <div class="with-side">
        <Groups chosen={filters.group} />
        <div class="fill">
          <States
            of={devices}
            isEmpty={(list) => list.length === 0}
            empty={
              filters.text || filters.availability || filters.group ? (
                <>
                  <p>No device matches.</p>
                  <button type="button" onClick={() => {
                    typed.value = "";
                    setParams({ q: "", availability: "", group: "" });
                  }}>Show all devices</button>
                </>
              ) : (
                <>
                  <p>There is no device yet.</p>
                  <a class="button" href={link(["registration"])}>Register the first one</a>
                </>
              )
            }
          >
            {(list) => <VirtualTable label="Devices" columns={COLUMNS} items={list} keyOf={(device) => device.id} onEnd={loadMore} />}
          </States>
        </div>
      </div>
    </Page>
  );
}

const COLUMNS: Column<ManagedObject>[] = [
  {
    title: "Name",
    width: "minmax(0, 2fr)",
    cell: (device) => (
      <a class="clip" href={link(["devices", device.id])}>
        <span class={`dot ${(availabilityOf(device).status ?? "unwatched").toLowerCase()}`} data-device={device.id} />
        <b>{device.name ?? "without a name"}</b>
      </a>
    ),
  },
  { title: "Type", width: "minmax(0, 1fr)", wide: true, cell: (device) => <span class="clip">{device.type}</span> },
  { title: "Alarms", width: "5.5rem", cell: (device) => <AlarmCounts of={device} /> },
  { title: "Availability", width: "7.5rem", wide: true, cell: (device) => <span class="faint">{availabilityOf(device).status?.toLowerCase() ?? "not watched"}</span> },
  { title: "Last message", width: "8rem", wide: true, cell: (device) => <span class="faint"><Time at={availabilityOf(device).lastMessage} as="ago" /></span> },
  { title: "Id", width: "10.5rem", wide: true, cell: (device) => <code>{device.id}</code> },
];

export function AlarmCounts({ of }: { of: ManagedObject }) {
  const counts = of.plat_ActiveAlarmsStatus as Record<string, number> | undefined;
  const open = ["critical", "major", "minor", "warning"].filter((severity) => counts?.[severity]);
  return (
    <span class="counts">
      {open.map((severity) => <span key={severity} class={`count severity-${severity}`} title={`${counts![severity]} ${severity}`}>{counts![severity]}<span class="hidden"> {severity}</span></span>)}
    </span>
  );
}

/**
 * The dot of a device flashes when it sends data. Only visible rows exist, so this is cheap at any rate of
 * notifications.
 */
function useSigns(): void {
  useEffect(() => {
    const channels = [
      can("ROLE_MEASUREMENT_READ") && "/measurements/*",
      can("ROLE_EVENT_READ") && "/events/*",
    ].filter((channel): channel is string => !!channel);
    const flash = (messages: Message[]) => {
      const senders = new Set(messages.map((message) => message.data?.data?.source?.id));
      for (const dot of document.querySelectorAll<HTMLElement>("[data-device]")) {
        if (senders.has(dot.dataset.device)) {
          dot.animate([{ boxShadow: "0 0 0 0 currentColor" }, { boxShadow: "0 0 0 8px transparent" }], { duration: 900, easing: "ease-out" });
        }
      }
    };
    const subscriptions = channels.map((channel) => subscribe(channel, flash));
    return () => subscriptions.forEach((one) => one.end());
  }, []);
}

interface Group {
  object: ManagedObject;
  children: Group[];
}

/** Returns groups as a tree: a group that is a child asset of another group is below it. */
function treeOf(objects: ManagedObject[]): Group[] {
  const groups = new Map(objects.map((object) => [object.id, { object, children: [] as Group[] }]));
  const below = new Set<string>();
  for (const group of groups.values()) {
    for (const { managedObject } of group.object.childAssets?.references ?? []) {
      const child = groups.get(managedObject.id);
      if (!child) continue;
      group.children.push(child);
      below.add(managedObject.id);
    }
  }
  return [...groups.values()].filter((group) => !below.has(group.object.id));
}

function Groups({ chosen }: { chosen: string }) {
  const groups = useLoad(
    () => get<Devicepage>(withQuery("/inventory/managedObjects", { fragmentType: "plat_IsDeviceGroup", pageSize: 2000 })).then((page) => treeOf(page.managedObjects)),
    [],
  );
  if (!groups.data.value?.length) return null;
  const item = (group: Group) => (
    <li key={group.object.id}>
      <a href={link(["devices"], { ...Object.fromEntries(route.value.params), group: group.object.id })} aria-current={chosen === group.object.id ? "true" : undefined}>
        {group.object.name ?? group.object.id}
      </a>
      {group.children.length > 0 && <ul>{group.children.map(item)}</ul>}
    </li>
  );
  return (
    <nav class="groups" aria-label="Groups">
      <h2>Groups</h2>
      <ul>
        <li><a href={link(["devices"], { ...Object.fromEntries(route.value.params), group: undefined })} aria-current={chosen ? undefined : "true"}>All devices</a></li>
        {groups.data.value.map(item)}
      </ul>
    </nav>
  );
}
