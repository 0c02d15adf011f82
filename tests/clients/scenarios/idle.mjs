// A client with nothing to do keeps its connection: what a quiet night costs batteries, logs and the server. In the end it
// disconnects, and leaves no socket behind.

import { Publisher } from "../ledger.mjs";
import { SOON, together } from "../stage.mjs";
import { sleep, until } from "../wait.mjs";

const IDLE = 40_000;
/** The time within which a client opens its connections. CometD also sends a first connect that returns at once. */
const SETTLING = 5_000;

async function play(platform, runs) {
  const device = await platform.createDevice("idle");
  const publisher = new Publisher(platform, device);
  await together(runs, async (run) => {
    const ledger = run.follow(publisher);
    await run.open(platform, new Map([[`/events/${device}`, (message) => ledger.receive(message)]]));
  });
  await sleep(SETTLING);
  for (const run of runs) run.mark();
  await sleep(IDLE - SETTLING);
  for (const run of runs) {
    run.expect(run.sockets === 0, `${run.sockets} new connections while nothing happened`);
    run.expect(run.watch.connectReplies <= 1, `${run.watch.connectReplies} connect replies while nothing happened`);
    run.expectHandshakes(1);
  }
  await publisher.post();
  await together(runs, (run) => run.ledgers[0].settle(20_000));
  for (const run of runs) run.expectEverythingOnce();
  await together(runs, leave);
}

/**
 * CometD closes its WebSocket when it receives the reply to its disconnect, but only after the reply to its held connect;
 * otherwise it forgets the socket and leaves it open.
 */
async function leave(run) {
  await run.leave();
  if (run.way.transport !== "websocket") return;
  run.expect(await until(() => run.relay.open === 0, SOON / 4), "its socket was still open after it disconnected");
}

export const stages = [{ name: "idle", play }];
