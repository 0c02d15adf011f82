// A demo can be broken: its devices, its load, the network of this page. A ledger shows whether anything was lost.

import { isCut } from "../cut";
import {
  beginStorm,
  countOf,
  endStorm,
  hasEnded,
  readStops,
  readStorm,
  stopDevices,
  STOPPED,
  stops,
  STORM,
  storm,
} from "../ledger";
import { cutNetwork } from "../live";
import { type Loaded, useEvery, useLoad } from "../load";
import { now } from "../time";
import type { Alarm, Operation } from "../types";
import { Action, Card, FactList, Page } from "../ui/kit";
import { LoadedCard } from "../ui/loaded";
import { Standing } from "../ui/standing";
import { type Sent, type Verdict, verdictOfStorm } from "../values/ledger";
import { apply } from "../values/merge";

const CUT_SECONDS = 15;
const ASK_SECONDS = 2;

export function BreakIt() {
  return (
    <Page
      title="Break it"
      sub="These devices are simulated. Break something, and see in the ledger whether anything is lost.">
      <Card title="What to break">
        <ul class="rows">
          <li>
            <span class="grow">{STOPPED} devices hang up, and come back within about a minute.</span>
            <Action run={stopDevices} done="The devices were told to restart.">
              Stop {STOPPED} devices
            </Action>
          </li>
          <li>
            <span class="grow">
              This page sends {STORM.perSecond} alarms a second for {STORM.seconds} seconds.
            </span>
            <Action run={beginStorm} disabled={storm.value?.isRunning}>
              Raise {STORM.perSecond} alarms a second
            </Action>
          </li>
          <li>
            <span class="grow">
              This page sends and receives nothing for {CUT_SECONDS} seconds. The server is not told.
            </span>
            <Action run={async () => cutNetwork(CUT_SECONDS)} disabled={isCut.value}>
              Cut this page's network
            </Action>
          </li>
        </ul>
        <p class="faint">
          A restart of the server is in the ledger too: requests without a response count as uncertain.
        </p>
      </Card>
      {storm.value && <StormLedger of={storm.value} />}
      {stops.value.length > 0 && <StopLedger key={stops.value.join()} />}
    </Page>
  );
}

function VerdictOf({ of: [kind, text] }: { of: Verdict }) {
  return (
    <p class={kind === "bad" ? "notice warn" : "notice"} role="status">
      {text}
    </p>
  );
}

/** Two ways to the same data: the live list of the page, and what the server says when it is asked anew. */
function useBoth<T extends { id: string }>(
  read: () => Promise<T[]>,
  channel: string,
  belongs: (one: T) => boolean,
): [Loaded<T[]>, Loaded<T[]>] {
  const page: Loaded<T[]> = useLoad(read, [], {
    channels: [channel],
    take: (messages) => (page.data.value = apply(page.data.value ?? [], messages, belongs)),
  });
  const server = useLoad(read, []);
  useEvery(ASK_SECONDS, server.reload);
  return [page, server];
}

function StormLedger({ of: sent }: { of: Sent }) {
  const [page, server] = useBoth<Alarm>(
    readStorm,
    "/alarms/*",
    (one) => one.type === STORM.type && one.status !== "CLEARED",
  );
  const [seen, stored] = [countOf(page.data.value), countOf(server.data.value)];
  return (
    <LoadedCard
      title="Ledger of the alarms"
      about={`${Math.round((sent.confirmed + sent.uncertain) / Math.max(1, sent.seconds)).toLocaleString()} a second`}
      of={server}
      every={ASK_SECONDS}
      below={
        <>
          <VerdictOf of={verdictOfStorm(sent, stored, seen, { now: now.value, isCut: isCut.value })} />
          {!sent.isRunning && <Action run={endStorm}>Clear these alarms</Action>}
        </>
      }>
      {() => (
        <FactList
          of={[
            ["Confirmed by the server", <Entry name="confirmed" of={sent.confirmed} />],
            ["Without a response", <Entry name="uncertain" of={sent.uncertain} />],
            sent.refused > 0 && [
              "Refused",
              <>
                {sent.refused.toLocaleString()} <span class="faint">{sent.problem}</span>
              </>,
            ],
            ["Stored at the server", <Entry name="stored" of={stored} />],
            ["Arrived at this page", <Entry name="seen" of={seen} by={page} />],
          ]}
        />
      )}
    </LoadedCard>
  );
}

/** A number of a ledger, with the standing of the list that gives it if that is not the standing of the card. */
function Entry({ name, of: number, by: list }: { name: string; of: number; by?: Loaded<unknown> }) {
  return (
    <>
      <span data-ledger={name}>{number.toLocaleString()}</span> {list && <Standing of={list} />}
    </>
  );
}

function StopLedger() {
  const own = new Set(stops.value);
  const [page, server] = useBoth<Operation>(readStops, "/operations/*", (one) => own.has(one.id));
  const number = (list?: Operation[]) => (list ?? []).filter(hasEnded).length;
  const [created, ended, seen] = [own.size, number(server.data.value), number(page.data.value)];
  const all = ended === created && seen === created;
  const verdict: Verdict = all
    ? ["good", "Nothing was lost: each device reported, and this page has each report."]
    : ["open", `${created - Math.min(ended, seen)} devices are still away.`];
  return (
    <LoadedCard title="Ledger of the devices" of={server} every={ASK_SECONDS} below={<VerdictOf of={verdict} />}>
      {() => (
        <FactList
          of={[
            ["Told to restart", <Entry name="told" of={created} />],
            ["Have reported to the server", <Entry name="ended" of={ended} />],
            ["Reports that arrived here", <Entry name="arrived" of={seen} by={page} />],
          ]}
        />
      )}
    </LoadedCard>
  );
}
