// Which tenants are busy at all servers.

import { getIfKnown } from "../../api";
import { useEvery, useLoad } from "../../load";
import type { LiveStatistics } from "../../reference";
import { Card, States } from "../../ui/kit";
import { Standing } from "../../ui/standing";
import { format } from "../../values/numbers";

const BUSY_SECONDS = 2;

/** The current activity of tenants at all servers. */
export function Busy() {
  const live = useLoad(
    () => getIfKnown<LiveStatistics>("/tenant/statistics/live").then((found) => found?.tenants ?? null),
    [],
  );
  useEvery(BUSY_SECONDS, live.reload);
  if (live.data.value === null) return null;
  const rate = (value: number) => format(Math.round(value * 10) / 10);
  return (
    <Card title="Who is busy" aside={<Standing of={live} every={BUSY_SECONDS} />}>
      <States of={live} isEmpty={(list) => !list?.length} empty={<p>No tenant does anything.</p>}>
        {(list) => (
          <div class="scroll" tabIndex={0} role="region" aria-label="Tenants and what they do">
            <table>
              <thead>
                <tr>
                  <th scope="col">Tenant</th>
                  <th scope="col" class="number">
                    Requests/s
                  </th>
                  <th scope="col" class="number">
                    Writes/s
                  </th>
                  <th scope="col" class="number">
                    Deliveries/s
                  </th>
                  <th scope="col" class="number">
                    Sessions
                  </th>
                  <th scope="col" class="number">
                    Held polls
                  </th>
                  <th scope="col" class="number">
                    WebSockets
                  </th>
                  <th scope="col" class="number">
                    Waiting
                  </th>
                </tr>
              </thead>
              <tbody>
                {list!.map((one) => (
                  <tr key={one.tenantId}>
                    <td>
                      <b>{one.tenantId}</b>
                    </td>
                    {[
                      rate(one.requestsPerSecond),
                      rate(one.writesPerSecond),
                      rate(one.deliveriesPerSecond),
                      one.sessionCount,
                      one.heldPollCount,
                      one.socketCount,
                      one.queuedNotificationCount,
                    ].map((value, index) => (
                      <td key={index} class="number">
                        {value.toLocaleString()}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </States>
    </Card>
  );
}
