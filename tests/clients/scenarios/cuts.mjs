// Posts a notification each half second for a minute, while the connections of each client are cut now and then.

import { Publisher } from "../ledger.mjs";
import { CUTS } from "../relay.mjs";
import { ALL_WAYS, brief, PYTHON_WAYS, together } from "../stage.mjs";
import { between, sleep, until } from "../wait.mjs";

const DURATION = 60_000;
const PAUSE = 500;
/** The time that notifications may take after the last post until they reach a client that has to reconnect. */
const PATIENCE = 45_000;
/**
 * The notifications that the server may write in one run to connections that were cut already, because it has not
 * noticed the cut: a proxy notices it first, and the server writes to a WebSocket without a look at its peer. The relay
 * never sees them. Before it answers a poll, the server looks.
 */
const UNNOTICED = 1;

/** The latest cut of each kind, early enough that each client is back before the last notification. */
const LAST_CUT = { fin: 50_000, rst: 50_000, blackhole: 20_000 };

/**
 * Black holes. A client that receives nothing assumes for the advised time-out that nothing happened, so the server of
 * this stage holds a connect for 10 s instead of 90 min. CometD waits 10 s longer than that for the reply, and then
 * perhaps once more on a second connection that it kept. Faye waits a fifth longer than the time-out, and over a
 * WebSocket another 30 s for the response to its close frame. So the client requests that the session outlives its
 * connection by two minutes instead of 10 s.
 */
const BLACKHOLE = { interval: 120_000 };

export async function play(platform, runs, { kind }) {
  const device = await platform.createDevice(`cut by ${kind ?? "nothing"}`);
  const publisher = new Publisher(platform, device);
  await together(runs, async (run) => {
    const ledger = run.follow(publisher);
    const channels = new Map([[`/events/${device}`, (message) => ledger.receive(message)]]);
    await run.open(platform, channels, kind === "blackhole" ? BLACKHOLE : {});
  });
  const cutting = kind ? together(runs, (run) => cutNowAndThen(run, kind, publisher)) : undefined;
  await publisher.postFor(DURATION, PAUSE);
  await cutting;
  await together(runs, (run) => run.ledgers[0].settle(PATIENCE));
  for (const run of runs) judge(run, kind);
}

async function cutNowAndThen(run, kind, publisher) {
  const end = Date.now() + LAST_CUT[kind];
  const { relay, watch } = run;
  for (;;) {
    await sleep(between(3_000, 7_000));
    if (Date.now() > end) return;
    const cut = await relay.cut(kind, () => publisher.sent.length);
    // Notifications keep their order, so those up to this one have arrived.
    cut.received = run.ledgers[0].greatest;
    run.cuts.push(cut);
    const isBack = () => relay.acceptedAt > cut.at && watch.heardAt > relay.acceptedAt;
    run.expect(await until(isBack, DURATION), `not back within a minute after cut ${run.cuts.length}`);
  }
}

function judge(run, kind) {
  const [ledger] = run.ledgers;
  run.expectHandshakes(1);
  if (kind) {
    const dropped = run.cuts.flatMap(({ links }) => links).reduce((sum, link) => sum + link.dropped.size, 0);
    run.note = `${run.cuts.length} cuts, ${dropped} written to cut connections`;
    run.expect(run.cuts.length > 0, "never cut");
  }
  if (!kind || run.way.mode === "ack") return run.expectEverythingOnce();
  run.expectNothingTwice(ledger);
  const received = new Set(ledger.received);
  const lost = ledger.lost.filter((sequence) => !run.cuts.some((cut) => wasInFlight(sequence, cut, run, received)));
  const late = lost.filter((sequence) => run.cuts.some(({ links }) => links.some((link) => link.postedAtEnd === sequence)));
  const excused = late.slice(0, run.proxy || run.way.transport === "websocket" ? UNNOTICED : 0);
  const unexplained = lost.filter((sequence) => !excused.includes(sequence));
  const seen = unexplained.map((sequence) => `${sequence} on ${run.relay.connectionsOf(sequence).join(", ") || "none"}`);
  run.expect(unexplained.length === 0, `lost ${brief(unexplained)} although no cut explains it; connections: ${brief(seen)}`);
}

/**
 * Returns whether a notification was in flight on a connection as it was cut. The positions in the order of the
 * notifications decide, not the times, because a busy machine delays everything: the client had not received it, nothing
 * later had gone to a new connection, and the server had written it to the connection that was cut. The relay saw the
 * server write it, or it was posted before the connection was closed and could be unread there.
 */
function wasInFlight(sequence, cut, { relay, proxy }, received) {
  if (sequence <= cut.received || sequence > relay.firstAfter(cut.accepted)) return false;
  return cut.links.some(
    (link) =>
      link.dropped.has(sequence) ||
      link.unread(received).includes(sequence) ||
      ((proxy || !link.isReadToEnd) && sequence < link.postedAtEnd),
  );
}

export const stages = [
  { name: "sound", ways: [...ALL_WAYS, ...PYTHON_WAYS], play },
  ...CUTS.map((kind) => ({ name: kind, kind, server: kind === "blackhole" ? "short hold" : undefined, play })),
];
