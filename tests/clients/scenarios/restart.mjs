// The server is stopped and started. Sessions survive that, so clients continue without a handshake.

import { Publisher } from "../ledger.mjs";
import { SOON, together } from "../stage.mjs";

const COUNT = 10;
/**
 * The longest stop. It includes the stop of the private database; a stop that waits for clients to close their sockets
 * takes 20 s.
 */
const LONGEST_STOP = 10_000;

async function play(platform, runs) {
  const device = await platform.createDevice("restarted");
  const publisher = new Publisher(platform, device);
  await together(runs, (run) => {
    const ledger = run.follow(publisher);
    return run.open(platform, new Map([[`/events/${device}`, (message) => ledger.receive(message)]]));
  });
  await publisher.postMany(COUNT);
  await together(runs, (run) => run.ledgers[0].settle(SOON / 2));

  const stop = await platform.terminate();
  await platform.launch();
  await publisher.postMany(COUNT);
  await together(runs, (run) => run.ledgers[0].settle(SOON / 2));
  for (const run of runs) {
    run.note = `the stop took ${(stop / 1_000).toFixed(1)} s`;
    run.expect(stop < LONGEST_STOP, run.note);
    run.expectHandshakes(1);
    run.expectEverythingOnce();
  }
}

export const stages = [{ name: "restart", server: "restarted", play }];
