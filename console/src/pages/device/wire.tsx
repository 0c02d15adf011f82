// The raw notifications about the device, as they arrive.

import { useArrivals } from "../../arrivals";
import { canSee } from "../../session";
import { ArrivalRow, ArrivalsStanding, PauseButton } from "../../ui/arrivals";
import { Card } from "../../ui/kit";

/** The kinds of notifications, each with the role that may receive them. */
const KINDS: [string, string][] = [
  ["measurements", "ROLE_MEASUREMENT_READ"],
  ["events", "ROLE_EVENT_READ"],
  ["alarms", "ROLE_ALARM_READ"],
  ["operations", "ROLE_DEVICE_CONTROL_READ"],
  ["managedobjects", "ROLE_INVENTORY_READ"],
];
const KEPT = 60;

export function Wire({ id }: { id: string }) {
  const kinds = KINDS.filter(([, role]) => canSee(role));
  const arrivals = useArrivals(
    kinds.map(([kind]) => `/${kind}/${id}`),
    KEPT,
  );
  const rows = arrivals.rows.value;
  return (
    <Card
      title="The wire"
      aside={
        <>
          <ArrivalsStanding of={arrivals} />
          <PauseButton of={arrivals} class="small" />
        </>
      }>
      {rows.length === 0 ? (
        <div class="state">
          <p>Nothing was notified since this page was opened. Notifications of this device appear here at once.</p>
        </div>
      ) : (
        <ol class="wire" tabIndex={0} aria-label="Notifications of this device">
          {rows.map((row) => (
            <li key={row.number}>
              <ArrivalRow of={row} name={row.message.channel.split("/")[1]} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
