// Clients behind proxies. With nginx's defaults a poll may be silent for a minute, and no WebSocket passes; with the
// documented HAProxy, the server learns of clients that have gone.

import { Publisher } from "../ledger.mjs";
import { ALL_WAYS, SOON, together } from "../stage.mjs";
import { sleep } from "../wait.mjs";
import { play as playCuts } from "./cuts.mjs";

/** Longer than the minute after which nginx gives up on a silent server. */
const QUIET = 65_000;
/** The time in which a client opens its connections and sends its first connects. */
const SETTLING = 5_000;
const COUNT = 5;
const POLLING = ALL_WAYS.filter(({ transport }) => transport === "long-polling");

async function playQuiet(platform, runs) {
  const device = await platform.createDevice("quiet");
  const publisher = new Publisher(platform, device);
  await together(runs, (run) => {
    const ledger = run.follow(publisher);
    return run.open(platform, new Map([[`/events/${device}`, (message) => ledger.receive(message)]]));
  });
  await sleep(SETTLING);
  const polls = runs.map((run) => run.watch.connects);
  await sleep(QUIET);
  for (const [n, run] of runs.entries()) {
    const more = run.watch.connects - polls[n];
    run.expect(more === 0, `the proxy ended ${more} polls while nothing happened`);
  }
  await publisher.postMany(COUNT);
  await together(runs, (run) => run.ledgers[0].settle(SOON / 2));
  for (const run of runs) {
    run.expectHandshakes(1);
    run.expectEverythingOnce();
  }
}

export const stages = [
  { name: "quiet behind nginx", behind: "nginx", ways: POLLING, play: playQuiet },
  { name: "fin behind haproxy", behind: "haproxy", kind: "fin", ways: POLLING, play: playCuts },
];
