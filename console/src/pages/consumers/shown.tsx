// What the page shows of a consumer.

import type { NotificationConsumer } from "../../reference";
import { Time } from "../../time";
import { StatusMark } from "../../ui/kit";
import type { SmallColumn } from "../../ui/small_table";
import { addressInWords, missedInWords, rateInWords, rateOf, type Readings, wayInWords } from "../../values/consumers";
import { bytes, periodInWords } from "../../values/numbers";

/** The number of channels that a row shows. */
const CHANNELS = 3;

export const COLUMNS: SmallColumn<NotificationConsumer>[] = [
  [
    "Name",
    ({ name, owner, creationTime }) => (
      <>
        <b>{name}</b>
        <br />
        <span class="faint" title={`created ${creationTime}`}>
          of {owner}
        </span>
      </>
    ),
  ],
  ["Channels", ({ channels }) => <Channels of={channels} />],
  [
    "State",
    ({ state, lapsedTime }) => (
      <>
        <StatusMark of={state} />
        {lapsedTime && (
          <div class="faint nowrap">
            <Time at={lapsedTime} as="ago" />
          </div>
        )}
      </>
    ),
  ],
  ["Backlog", (one) => <Backlog of={one} />],
  ["Read by", ({ reader }) => <Reader of={reader} />],
];

/** The rate of the backlog between the reads of the page. */
export const rateColumn = (readings: Readings): SmallColumn<NotificationConsumer> => [
  "Grows by",
  ({ name }) => <span class="nowrap">{rateInWords(rateOf(readings.get(name)))}</span>,
  "number",
];

function Channels({ of: channels }: { of: string[] }) {
  const more = channels.length - CHANNELS;
  return (
    <span title={channels.join("\n")}>
      {channels.slice(0, CHANNELS).map((one) => (
        <div key={one}>
          <code>{one}</code>
        </div>
      ))}
      {more > 0 && <span class="faint">and {more} more</span>}
    </span>
  );
}

function Backlog({ of: { backlog, position, newest, maxAge, maxBytes } }: { of: NotificationConsumer }) {
  const title =
    `Changes in the journal behind position ${position}, whether or not the channels match. ` +
    `The newest is ${newest}.`;
  return (
    <div title={title}>
      <span class="nowrap">
        <b>{backlog.notifications.toLocaleString()}</b>{" "}
        <span class="faint">
          behind {position.toLocaleString()} of {newest.toLocaleString()}
        </span>
      </span>
      <div class="faint nowrap">
        {bytes(backlog.bytes)} of {bytes(maxBytes)}
      </div>
      <div class="faint">
        {backlog.oldestTime && (
          <>
            oldest <Time at={backlog.oldestTime} as="ago" />,{" "}
          </>
        )}
        at most {periodInWords(maxAge)}
      </div>
    </div>
  );
}

function Reader({ of: reader }: { of: NotificationConsumer["reader"] }) {
  if (!reader) return <span class="faint">nobody</span>;
  return (
    <div class="nowrap" title={`since ${reader.since}, at the server ${reader.server}`}>
      {wayInWords(reader)}
      <div class="faint">{addressInWords(reader)}</div>
      <div class="faint">
        <Time at={reader.since} as="ago" />
      </div>
    </div>
  );
}

/** What a consumer missed when it lapsed, and how its client goes on. */
export function Lapse({ of: consumer }: { of: NotificationConsumer }) {
  const { name, position, lapsedTime, maxAge, maxBytes } = consumer;
  return (
    <p class="notice warn">
      <span>
        <b>{name}</b> lapsed <Time at={lapsedTime} as="ago" />: its backlog was larger than {bytes(maxBytes)} or older
        than {periodInWords(maxAge)}. {missedInWords(consumer)} The next read reports this gap and goes on with the next
        change, so its client has to read the data by REST. With larger bounds, and then moved back to position{" "}
        {position.toLocaleString()}, it gets what the journal still has.
      </span>
    </p>
  );
}
