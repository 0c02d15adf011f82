// The server is stopped and started. Sessions survive that, so clients continue without a handshake, and notifications
// arrive as soon as before.

import { Publisher } from "../ledger.mjs";
import { ALL_WAYS, EARLIER_WAYS, PYTHON_WAYS, SOON, together } from "../stage.mjs";

const COUNT = 10;
/**
 * The time by which a stop may be longer than the start after it, which takes longer on a busy machine, too. Both
 * include the private database; a stop that waits for clients to close their sockets takes 20 s.
 */
const LONGER_STOP = 10_000;

/** Returns the middle of some numbers. */
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

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
  const stopped = Date.now();
  await platform.launch();
  const start = Date.now() - stopped;
  await publisher.postMany(COUNT);
  await together(runs, (run) => run.ledgers[0].settle(SOON / 2));
  for (const run of runs) {
    const [before, after] = [median(run.ledgers[0].delays.slice(0, COUNT)), median(run.ledgers[0].delays.slice(-COUNT))];
    run.note = `the stop took ${(stop / 1_000).toFixed(1)} s and the start ${(start / 1_000).toFixed(1)} s, notifications ${before} ms before and ${after} ms after`;
    run.expect(stop < start + LONGER_STOP, run.note);
    // The delay itself depends on the machine. A client that was advised to pause pauses before each connect.
    run.expect(run.watch.interval === 0, `its client pauses ${run.watch.interval} ms before each connect`);
    run.expectHandshakes(1);
    run.expectEverythingOnce();
  }
}

export const stages = [{ name: "restart", server: "restarted", ways: [...ALL_WAYS, ...EARLIER_WAYS, ...PYTHON_WAYS], play }];
