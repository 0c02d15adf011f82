// A client on a slow link returns to a backlog that takes longer to read than a session survives without a connection.
// The session must still exist afterwards.

import { Publisher } from "../ledger.mjs";
import { SOON, together } from "../stage.mjs";

const COUNT = 50;
/** The padding of each event. With it the backlog is 7.5 MB, a little less than the 8 MiB that a session keeps. */
const PADDING = "x".repeat(150_000);
/** The rate in bytes per second, at which the backlog takes 19 s. */
const RATE = 400_000;
/** The interval that the client requests while the backlog is posted, which takes some time. */
const AWAY = 60_000;
/** The interval of the connect that reads the backlog, which is the default. Reading takes longer. */
const READING = 10_500;

async function play(platform, runs) {
  const device = await platform.createDevice("slowly read");
  const publisher = new Publisher(platform, device);
  await together(runs, (run) => {
    const ledger = run.follow(publisher);
    const channels = new Map([[`/events/${device}`, (message) => ledger.receive(message)]]);
    return run.open(platform, channels, { interval: AWAY });
  });
  await publisher.post();
  await together(runs, (run) => run.ledgers[0].settle(SOON / 4));

  const begin = Date.now();
  const opened = runs.filter((run) => run.relay);
  for (const { relay, watch } of opened) {
    Object.assign(relay, { refusing: true, rate: RATE });
    await relay.cut("rst");
    watch.ask(READING);
  }
  await publisher.postMany(COUNT, PADDING);
  for (const { relay } of opened) relay.refusing = false;
  const away = ((Date.now() - begin) / 1_000).toFixed(1);

  await together(runs, (run) => run.ledgers[0].settle(SOON));
  await publisher.post();
  await together(runs, (run) => run.ledgers[0].settle(SOON / 4));
  for (const run of runs) {
    run.note = `away for ${away} s`;
    run.expectEverythingOnce();
    run.expectHandshakes(1);
  }
}

export const stages = [{ name: "slow reader", play }];
