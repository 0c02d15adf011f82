// The live notifications of any channel.

import { useArrivals } from "../arrivals";
import { connection, onlyLongPolling, setOnlyLongPolling } from "../live";
import { route, setParams } from "../router";
import { ArrivalRow, PauseButton } from "../ui/arrivals";
import { ChannelChips, ChannelInput } from "../ui/channels";
import { Card, Choice, Page } from "../ui/kit";
import { OF_ALL, withChannel } from "../values/channels";

/** The number of notifications that the page keeps. */
const KEPT = 200;
/** The number of rows that are drawn while they arrive; those of a page that is paused are all drawn. */
const DRAWN = 30;

export function LivePage() {
  const channels = route.value.params
    .getAll("channel")
    .concat((route.value.params.get("channels") ?? "").split(","))
    .filter(Boolean);
  const arrivals = useArrivals(channels, KEPT);
  const { denied, isPaused, total } = arrivals;
  const rows = arrivals.rows.value;
  const choose = (list: string[]) => setParams({ channels: [...new Set(list)].join(","), channel: undefined });
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    choose(withChannel(channels, String(new FormData(form).get("channel"))));
    form.reset();
  };
  const { transport } = connection.value;
  return (
    <Page
      title="Live"
      sub={
        <>
          {total.value.toLocaleString()} notifications
          {total.value > rows.length && rows.length === KEPT && `, of which the last ${KEPT} are kept`}
          {transport && ` over ${transport === "websocket" ? "WebSocket" : "long polling"}`}
        </>
      }
      actions={
        <>
          <Choice
            label="Transport"
            value={onlyLongPolling.value ? "polling" : "websocket"}
            onChange={(value) => setOnlyLongPolling(value === "polling")}
            options={[
              ["websocket", "WebSocket"],
              ["polling", "Long polling"],
            ]}
          />
          <PauseButton of={arrivals} />
        </>
      }>
      <Card>
        <form class="inline" onSubmit={add}>
          <ChannelInput hint="/alarms/* or /events/4711, or /<module>/<statement>" required pattern="/.+" />
          <button type="submit" class="primary">
            Subscribe
          </button>
        </form>
        <ChannelChips
          chosen={channels}
          offered={OF_ALL}
          problems={denied.value}
          verb="Unsubscribe from"
          onChange={choose}
        />
      </Card>
      <div class="fill scroll log" tabIndex={0} role="region" aria-label="Notifications">
        {rows.length === 0 ? (
          <div class="state">
            <p>
              {channels.length
                ? "Nothing has happened yet. Notifications appear here at once."
                : "Choose a channel. Notifications appear here at once."}
            </p>
          </div>
        ) : (
          <ol>
            {rows.slice(0, isPaused.value ? KEPT : DRAWN).map((row) => (
              <li key={row.number}>
                <ArrivalRow of={row} name={row.message.channel} />
              </li>
            ))}
          </ol>
        )}
        {!isPaused.value && rows.length > DRAWN && (
          <p class="hint">
            The newest {DRAWN} of the last {rows.length}. A pause shows them all.
          </p>
        )}
      </div>
    </Page>
  );
}
