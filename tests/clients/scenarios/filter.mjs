// A library passes `ext` of a subscription on unchanged, so its session receives what the filter matches, also after a
// new handshake.

import { Publisher } from "../ledger.mjs";
import { SOON, together } from "../stage.mjs";
import { until } from "../wait.mjs";

const COUNT = 20;
const FILTER = "(sequence ge 5 and sequence lt 10 or sequence ge 30) and realtimeAction eq 'CREATE'";
const EXPECTED = [5, 6, 7, 8, 9, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39];

async function play(platform, runs) {
  const device = await platform.createDevice("filtered");
  const publisher = new Publisher(platform, device);
  await together(runs, (run) => {
    run.ledger = run.follow(publisher);
    const channels = new Map([[`/events/${device}`, (message) => run.ledger.receive(message)]]);
    return run.open(platform, channels, { filter: FILTER });
  });
  await publisher.postMany(COUNT);
  await together(runs, async (run) => {
    run.expect(await until(() => run.ledger.received.includes(9), SOON), "the first part did not arrive");
    run.watch.forgetSession();
  });
  // The server ends the connect, and the client takes its reply for that of an unknown session.
  await together(runs, async (run) => {
    run.expect(await until(() => run.watch.handshakes >= 2 && run.isSubscribed(2), SOON), "not subscribed again");
  });
  await publisher.postMany(COUNT);
  await together(runs, async (run) => {
    await run.ledger.settle(SOON / 4);
    const received = [...new Set(run.ledger.received)];
    run.expect(received.join() === EXPECTED.join(), `received ${received.join(", ")} instead of ${EXPECTED.join(", ")}`);
  });
}

export const stages = [{ name: "filter", server: "short hold", play }];
