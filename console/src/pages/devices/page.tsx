// All devices: the query language, groups, and a sign for devices that send data right now.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { useList } from "../../list";
import { subscribe } from "../../live";
import { useCalm } from "../../load";
import { AlarmCounts, availabilityOf } from "../../parts/device";
import { chooseParams, link, route, setParams } from "../../router";
import { useScope } from "../../scope";
import { byExternalId } from "../../search";
import { can } from "../../session";
import { Time } from "../../time";
import type { ManagedObject } from "../../types";
import { Exports } from "../../ui/export";
import { Choice, Icon, Page, States } from "../../ui/kit";
import { QueryField } from "../../ui/query";
import { ListStanding } from "../../ui/standing";
import { type Column, VirtualTable } from "../../ui/table";
import { type Filters, LOOKS_LIKE_QUERY, queryOf } from "../../values/filters";
import { apply } from "../../values/merge";
import { addPaths, placeOf } from "../../values/query";
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
        const isPlain = !filters.text && !filters.availability && !filters.group;
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
  return (
    <Page
      title="Devices"
      sub={<ListStanding of={devices} noun="device" />}
      actions={
        <>
          {!!devices.data.value?.length && <Exports name="devices" all={devices.all} columns={EXPORTED} />}
          {can("ROLE_DEVICE_CONTROL_ADMIN") && (
            <a class="button" href={link(["registration"])}>
              <Icon name="registration" />
              Register a device
            </a>
          )}
        </>
      }>
      <div class="filters">
        <QueryField
          value={typed.value}
          onInput={(text) => (typed.value = text)}
          paths={() => addPaths(known.current, devices.data.value ?? [], NOT_IN_QUERIES)}
          placeholder="A name, type, id or serial number, or a query: plat_Hardware.model eq 'RX*' and not has(plat_Firmware)"
          isMistaken={devices.error.value?.status === 422}
        />
        <Choice
          label="Availability"
          value={filters.availability}
          options={[
            ["", "All"],
            ["AVAILABLE", "Available"],
            ["UNAVAILABLE", "Unavailable"],
            ["MAINTENANCE", "Maintenance"],
          ]}
          onChange={(availability) => chooseParams({ availability })}
        />
      </div>
      {mistake !== null && <pre class="mistake" aria-hidden="true">{`${filters.text}\n${" ".repeat(mistake)}^`}</pre>}
      <div class="with-side">
        <GroupTree chosen={filters.group} />
        <div class="fill">
          <States
            of={devices}
            isEmpty={(list) => list.length === 0}
            empty={
              filters.text || filters.availability || filters.group ? (
                <>
                  <p>No device matches.</p>
                  <button
                    type="button"
                    onClick={() => {
                      typed.value = "";
                      chooseParams({ q: "", availability: "", group: "" });
                    }}>
                    Show all devices
                  </button>
                </>
              ) : (
                <>
                  <p>There is no device yet.</p>
                  <a class="button" href={link(["registration"])}>
                    Register the first one
                  </a>
                </>
              )
            }>
            {(list) => (
              <VirtualTable
                label="Devices"
                columns={COLUMNS}
                items={list}
                keyOf={(device) => device.id}
                onEnd={devices.more}
                total={devices.rest.value.total}
                filters={query}
              />
            )}
          </States>
        </div>
      </div>
    </Page>
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

/**
 * The dot of a device flashes when it sends data. Only visible rows exist, so this is cheap at any rate of
 * notifications.
 */
function useSigns(): void {
  useEffect(() => {
    const channels = [can("ROLE_MEASUREMENT_READ") && "/measurements/*", can("ROLE_EVENT_READ") && "/events/*"].filter(
      (channel): channel is string => !!channel,
    );
    const flash = (messages: Message[]) => {
      const senders = new Set(messages.map((message) => message.data?.data?.source?.id));
      for (const dot of document.querySelectorAll<HTMLElement>("[data-device]")) {
        if (senders.has(dot.dataset.device)) {
          dot.animate([{ boxShadow: "0 0 0 0 currentColor" }, { boxShadow: "0 0 0 8px transparent" }], {
            duration: 900,
            easing: "ease-out",
          });
        }
      }
    };
    const subscriptions = channels.map((channel) => subscribe(channel, flash));
    return () => subscriptions.forEach((one) => one.end());
  }, []);
}
