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
 * The number of notifications that a cut by FIN or RST may cost a client without acknowledgements, besides those that
 * the relay saw in flight: those that the systems on both sides of the relay had accepted and not yet passed on.
 */
const UNSEEN = 2;
/** The longest time before a cut in which a notification in flight may have been due. */
const UNDER_WAY = 2_000;

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
  const cutting = kind ? together(runs, (run) => cutNowAndThen(run, kind)) : undefined;
  await publisher.postFor(DURATION, PAUSE);
  await cutting;
  await together(runs, (run) => run.ledgers[0].settle(PATIENCE));
  for (const run of runs) judge(run, kind);
}

async function cutNowAndThen(run, kind) {
  const end = Date.now() + LAST_CUT[kind];
  const { relay, watch } = run;
  for (;;) {
    await sleep(between(3_000, 7_000));
    if (Date.now() > end) return;
    const cut = await relay.cut(kind);
    run.cuts.push(cut);
    const isBack = () => relay.acceptedAt > cut.at && watch.heardAt > relay.acceptedAt;
    run.expect(await until(isBack, DURATION), `not back within a minute after cut ${run.cuts.length}`);
    cut.backAt = Date.now();
  }
}

function judge(run, kind) {
  const [ledger] = run.ledgers;
  run.expectHandshakes(1);
  if (kind) {
    const dropped = run.cuts.reduce((sum, cut) => sum + cut.dropped.size, 0);
    run.note = `${run.cuts.length} cuts, ${dropped} written to cut connections`;
    run.expect(run.cuts.length > 0, "never cut");
  }
  if (!kind || run.way.mode === "ack") return run.expectEverythingOnce();
  run.expectNothingTwice(ledger);
  // Each lost notification must have been in flight at a cut, as the relay saw it or as the times allow.
  const seen = ({ inFlight, dropped }, sequence) => inFlight.has(sequence) || dropped.has(sequence);
  const unexplained = new Set(ledger.lost.filter((sequence) => !run.cuts.some((cut) => seen(cut, sequence))));
  for (const [index, cut] of run.cuts.entries()) {
    const here = [...unexplained].filter((sequence) => wasInFlight(ledger.times(sequence), cut));
    for (const sequence of here) unexplained.delete(sequence);
    const most = kind === "blackhole" ? Infinity : UNSEEN;
    run.expect(here.length <= most, `cut ${index + 1} cost ${brief(here)}`);
  }
  run.expect(unexplained.size === 0, `lost while no connection was cut ${brief([...unexplained])}`);
}

/** Returns whether a notification that was posted then may have been written to the connection that was cut. */
const wasInFlight = ({ at, answered }, cut) => answered > cut.at - UNDER_WAY && at < cut.backAt;

export const stages = [
  { name: "sound", ways: [...ALL_WAYS, ...PYTHON_WAYS], play },
  ...CUTS.map((kind) => ({ name: kind, kind, server: kind === "blackhole" ? "short hold" : undefined, play })),
];
