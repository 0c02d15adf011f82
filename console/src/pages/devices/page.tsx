// All devices: the query language, groups, and a sign for devices that send data right now.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useNotifications } from "../../arrivals";
import { useList } from "../../list";
import { useCalm } from "../../load";
import { AlarmCounts, availabilityOf } from "../../parts/device";
import { chooseParams, link, route, setParams } from "../../router";
import { useScope } from "../../scope";
import { byExternalId } from "../../search";
import { can } from "../../session";
import { Time } from "../../time";
import type { ManagedObject } from "../../types";
import { NoMatch, WordFilter } from "../../ui/filters";
import { Icon } from "../../ui/kit";
import { ListPage } from "../../ui/loaded";
import { QueryField } from "../../ui/query";
import type { Column } from "../../ui/table";
import { type Filters, LOOKS_LIKE_QUERY, queryOf } from "../../values/filters";
import { apply } from "../../values/merge";
import { addPaths, placeOf } from "../../values/query";
import { AVAILABILITIES } from "../../values/words";
import { GroupTree } from "./groups";

/** A filtered list is loaded again at most this often while devices change. */
const AGAIN_SECONDS = 2;

/** Members that are not useful in a search. */
const NOT_IN_QUERIES = new Set([
  "self",
  "childDevices",
  "childAssets",
  "childAdditions",
  "deviceParents",
  "assetParents",
  "additionParents",
]);

const PLACEHOLDER =
  "A name, type, id or serial number, or a query: plat_Hardware.model eq 'RX*' and not has(plat_Firmware)";

export function Devices() {
  const params = route.value.params;
  const filters: Filters = {
    text: params.get("q") ?? "",
    availability: params.get("availability") ?? "",
    group: params.get("group") ?? "",
  };
  const typed = useSignal(filters.text);
  // The paths and values of devices that were shown. They remain for completion, because an incomplete query often
  // finds no device.
  const known = useRef(new Map<string, Set<string>>());
  const query = queryOf(filters);
  const isPlain = !filters.text && !filters.availability && !filters.group;
  const isName = !!filters.text && !LOOKS_LIKE_QUERY.test(filters.text);
  const devices = useList<ManagedObject>({
    path: "/inventory/managedObjects",
    member: "managedObjects",
    params: { query, withChildren: false },
    before: isName && !filters.availability && !filters.group ? () => byExternalId(filters.text.trim()) : undefined,
    live: {
      ...useScope("managedobjects", "ROLE_INVENTORY_READ"),
      take: (list, messages) => {
        const ids = new Set(list.map((device) => device.id));
        // Only the server knows which objects match a query now, so the list is loaded again.
        if (!isPlain) again();
        return apply(list, messages, (device) => ids.has(device.id) || (isPlain && !!device.plat_IsDevice));
      },
    },
  });
  const again = useCalm(AGAIN_SECONDS, devices.reload);
  useEffect(() => {
    const timer = setTimeout(() => typed.value !== filters.text && setParams({ q: typed.value }), 350);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useEffect(() => {
    typed.value = filters.text;
  }, [filters.text]);
  useSigns();
  const failed = devices.error.value;
  const mistake = failed?.status === 422 ? placeOf(failed.message, query, filters.text) : null;
  const showAll = () => {
    typed.value = "";
    chooseParams({ q: "", availability: "", group: "" });
  };
  return (
    <ListPage
      title="Devices"
      of={devices}
      noun="device"
      filter={query}
      actions={
        can("ROLE_DEVICE_CONTROL_ADMIN") && (
          <a class="button" href={link(["registration"])}>
            <Icon name="registration" />
            Register a device
          </a>
        )
      }
      filters={
        <>
          <QueryField
            value={typed.value}
            onInput={(text) => (typed.value = text)}
            paths={() => addPaths(known.current, devices.data.value ?? [], NOT_IN_QUERIES)}
            placeholder={PLACEHOLDER}
            isMistaken={failed?.status === 422}
          />
          <WordFilter label="Availability" param="availability" words={AVAILABILITIES} />
        </>
      }
      above={
        mistake !== null && <pre class="mistake" aria-hidden="true">{`${filters.text}\n${" ".repeat(mistake)}^`}</pre>
      }
      side={<GroupTree chosen={filters.group} />}
      columns={COLUMNS}
      exported={EXPORTED}
      empty={isPlain ? <NoDevice /> : <NoMatch text="No device matches." button="Show all devices" showAll={showAll} />}
    />
  );
}

function NoDevice() {
  return (
    <>
      <p>There is no device yet.</p>
      <a class="button" href={link(["registration"])}>
        Register the first one
      </a>
    </>
  );
}

const EXPORTED: Record<string, (device: ManagedObject) => unknown> = {
  id: (device) => device.id,
  name: (device) => device.name,
  type: (device) => device.type,
  availability: (device) => availabilityOf(device).status,
  lastMessage: (device) => availabilityOf(device).lastMessage,
  creationTime: (device) => device.creationTime,
};

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
  {
    title: "Availability",
    width: "7.5rem",
    wide: true,
    cell: (device) => <span class="faint">{availabilityOf(device).status?.toLowerCase() ?? "not watched"}</span>,
  },
  {
    title: "Last message",
    width: "8rem",
    wide: true,
    cell: (device) => (
      <span class="faint">
        <Time at={availabilityOf(device).lastMessage} as="ago" />
      </span>
    ),
  },
  { title: "Id", width: "10.5rem", wide: true, cell: (device) => <code>{device.id}</code> },
];

/** What a device sends, with the role that may receive it. */
const SIGNS: [string, string][] = [
  ["ROLE_MEASUREMENT_READ", "/measurements/*"],
  ["ROLE_EVENT_READ", "/events/*"],
];
const FLASH = [{ boxShadow: "0 0 0 0 currentColor" }, { boxShadow: "0 0 0 8px transparent" }];

/**
 * The dot of a device flashes when it sends data. Only visible rows exist, so this is cheap at any rate of
 * notifications.
 */
function useSigns(): void {
  const channels = SIGNS.filter(([role]) => can(role)).map(([, channel]) => channel);
  useNotifications(channels, (messages) => {
    const senders = new Set(messages.map((message) => message.data?.data?.source?.id));
    for (const dot of document.querySelectorAll<HTMLElement>("[data-device]")) {
      if (senders.has(dot.dataset.device)) dot.animate(FLASH, { duration: 900, easing: "ease-out" });
    }
  });
}
