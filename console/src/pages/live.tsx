// The live notifications of any channel.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Message } from "cometd";
import { connection, onlyLongPolling, setOnlyLongPolling, subscribe } from "../live";
import { route, setParams } from "../router";
import { Card, Choice, Field, Page } from "../ui/kit";
import { timeOfDay } from "../values/times";

const EXAMPLES = ["/alarms/*", "/events/*", "/measurements/*", "/operations/*", "/managedobjects/*"];
/** The number of notifications that the page keeps. */
const KEPT = 200;
/** The number of rows that are drawn while they arrive; those of a page that is paused are all drawn. */
const DRAWN = 30;

interface Row {
  number: number;
  at: Date;
  channel: string;
  action: string;
  text: string;
}

export function LivePage() {
  const channels = route.value.params
    .getAll("channel")
    .concat((route.value.params.get("channels") ?? "").split(","))
    .filter(Boolean);
  const rows = useSignal<Row[]>([]);
  const total = useSignal(0);
  const denied = useSignal<Record<string, string>>({});
  const paused = useSignal(false);
  const counter = useRef(0);
  const choose = (list: string[]) => setParams({ channels: [...new Set(list)].join(","), channel: undefined });
  useEffect(() => {
    denied.value = {};
    const take = (messages: Message[]) => {
      total.value += messages.length;
      if (paused.value) return;
      const newest = messages.slice(-KEPT).map((message): Row => ({
        number: ++counter.current,
        at: new Date(),
        channel: message.channel,
        action: message.data?.realtimeAction ?? "",
        text: JSON.stringify(message.data?.data ?? message.data),
      }));
      rows.value = [...newest.reverse(), ...rows.value].slice(0, KEPT);
    };
    const subscriptions = channels.map((channel) =>
      subscribe(channel, take, (reason) => reason && (denied.value = { ...denied.value, [channel]: reason })),
    );
    return () => subscriptions.forEach((one) => one.end());
  }, [channels.join(",")]);
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    choose([...channels, String(new FormData(form).get("channel")).trim()]);
    form.reset();
  };
  const { transport } = connection.value;
  return (
    <Page
      title="Live"
      sub={
        <>
          {total.value.toLocaleString()} notifications
          {total.value > rows.value.length && rows.value.length === KEPT && `, of which the last ${KEPT} are kept`}
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
          <button type="button" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}>
            {paused.value ? "Go on" : "Pause"}
          </button>
        </>
      }>
      <Card>
        <form class="inline" onSubmit={add}>
          <Field label="Channel" hint="/alarms/* or /events/4711, or /<module>/<statement>">
            <input name="channel" list="channels" required pattern="/.+" spellcheck={false} autocapitalize="none" />
          </Field>
          <datalist id="channels">
            {EXAMPLES.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
          <button type="submit" class="primary">
            Subscribe
          </button>
        </form>
        <ul class="chips">
          {channels.map((channel) => (
            <li key={channel} class={denied.value[channel] ? "chip bad" : "chip"}>
              <code>{channel}</code> {denied.value[channel] && <span role="alert">{denied.value[channel]}</span>}
              <button
                type="button"
                class="plain"
                aria-label={`Unsubscribe from ${channel}`}
                onClick={() => choose(channels.filter((one) => one !== channel))}>
                ×
              </button>
            </li>
          ))}
          {EXAMPLES.filter((one) => !channels.includes(one)).map((one) => (
            <li key={one}>
              <button type="button" class="chip small" onClick={() => choose([...channels, one])}>
                + {one}
              </button>
            </li>
          ))}
        </ul>
      </Card>
      <div class="fill scroll log" tabIndex={0} role="region" aria-label="Notifications">
        {rows.value.length === 0 ? (
          <div class="state">
            <p>
              {channels.length
                ? "Nothing has happened yet. Notifications appear here at once."
                : "Choose a channel. Notifications appear here at once."}
            </p>
          </div>
        ) : (
          <ol>
            {rows.value.slice(0, paused.value ? KEPT : DRAWN).map((row) => (
              <li key={row.number}>
                <details>
                  <summary>
                    <span class="faint">{timeOfDay(row.at)}</span> <b>{row.channel}</b>{" "}
                    <span class="mark">{row.action.toLowerCase() || "row"}</span>{" "}
                    <span class="clip faint">{row.text.slice(0, 300)}</span>
                  </summary>
                  <pre>{JSON.stringify(JSON.parse(row.text), null, 2)}</pre>
                </details>
              </li>
            ))}
          </ol>
        )}
        {!paused.value && rows.value.length > DRAWN && (
          <p class="hint">
            The newest {DRAWN} of the last {rows.value.length}. A pause shows them all.
          </p>
        )}
      </div>
    </Page>
  );
}
