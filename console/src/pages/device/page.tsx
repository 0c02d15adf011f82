// The page of one device: its facts, its state, its measurements, alarms and operations.

import { useSignal } from "@preact/signals";
import { ApiError, get, getTagged, path, type Tagged, withQuery } from "../../api";
import { useLoad } from "../../load";
import { AlarmCounts, availabilityOf } from "../../parts/device";
import { NewOperation } from "../../parts/new_operation";
import { QuietLink } from "../../parts/quiet";
import { lastAddress } from "../../router";
import { can } from "../../session";
import { Time } from "../../time";
import type { ManagedObject } from "../../types";
import { Action, Button, Page } from "../../ui/kit";
import { States } from "../../ui/loaded";
import { Standing } from "../../ui/standing";
import { of } from "./channels";
import { Charts } from "./charts";
import { Credentials } from "./credentials";
import { Edit, ExternalIds, Facts } from "./facts";
import { Links } from "./links";
import { AlarmsOf, EventsOf, OperationsOf } from "./lists";
import { Track } from "./track";
import { Wire } from "./wire";

/** Reads a device. Another id in the response means that the address did not name one object. */
async function read(id: string): Promise<ManagedObject> {
  const found = await get<ManagedObject>(withQuery(path`/inventory/managedObjects/${id}`, { withParents: true }));
  if (found.id !== id) throw new ApiError(0, `The server returned another object than ${id}.`);
  return found;
}

/** The page of the address. Ids consist of digits; anything else in the address is not requested at all. */
export function DevicePage({ id }: { id: string }) {
  if (/^\d+$/.test(id)) return <Device id={id} />;
  return (
    <Page title="Unknown device">
      <p class="back">
        <a href={lastAddress("devices")}>← All devices</a>
      </p>
      <div class="state error" role="alert">
        <p>“{id}” is not the id of a device.</p>
      </div>
    </Page>
  );
}

function Device({ id }: { id: string }) {
  const creating = useSignal(false);
  const editing = useSignal<Tagged<ManagedObject> | null>(null);
  const edit = async () => {
    editing.value = await getTagged(path`/inventory/managedObjects/${id}`);
  };
  const device = useLoad(() => read(id), [id], {
    ...of("managedobjects", id),
    take: (messages) => {
      const newest = messages.at(-1)!.data;
      if (newest.realtimeAction === "DELETE") device.error.value = new ApiError(404, "This device was deleted.");
      else device.data.value = { ...device.data.value, ...newest.data };
    },
  });
  const found = device.data.value;
  const isAgentOrBelow = found && (found.com_platform_model_Agent || found.deviceParents?.references.length);
  return (
    <Page
      title={found?.name ?? `Device ${id}`}
      sub={
        <>
          <Summary of={found} id={id} /> <Standing of={device} />
        </>
      }
      actions={
        found && (
          <>
            {can("ROLE_DEVICE_CONTROL_ADMIN") && isAgentOrBelow && (
              <Button class="primary" onClick={() => (creating.value = true)}>
                New operation
              </Button>
            )}
            <QuietLink of={{ id }}>Why is it quiet?</QuietLink>
            {can("ROLE_INVENTORY_ADMIN") && <Action run={edit}>Edit</Action>}
          </>
        )
      }>
      <p class="back">
        <a href={lastAddress("devices")}>← All devices</a>
      </p>
      <States of={device}>
        {(one) => (
          <div class="device">
            <div class="column">
              <AlarmsOf id={id} />
              <Charts id={id} />
              <OperationsOf device={one} />
              <EventsOf id={id} />
              <Wire id={id} />
            </div>
            <div class="column aside">
              <Track id={id} />
              <Facts of={one} />
              <Links of={one} onChanged={device.reload} />
              {can("ROLE_IDENTITY_READ") && <ExternalIds id={id} />}
              <Credentials of={one} />
            </div>
          </div>
        )}
      </States>
      {creating.value && found && <NewOperation device={found} onClose={() => (creating.value = false)} />}
      {editing.value && <Edit of={editing.value} onClose={() => (editing.value = null)} />}
    </Page>
  );
}

function Summary({ of: device, id }: { of?: ManagedObject; id: string }) {
  if (!device) return <>Id {id}</>;
  const { status, lastMessage } = availabilityOf(device);
  const connection = device.plat_Connection?.status;
  return (
    <>
      <AlarmCounts of={device} /> <span class={`dot ${(status ?? "unwatched").toLowerCase()}`} />{" "}
      {status?.toLowerCase() ?? "not watched"}
      {connection && <>, {connection.toLowerCase()}</>}
      {lastMessage && (
        <>
          , last message <Time at={lastMessage} as="ago" />
        </>
      )}
      {device.type && <> · {device.type}</>} · id <code>{id}</code>
    </>
  );
}
