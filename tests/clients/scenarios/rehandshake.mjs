// A client handshakes again without a disconnect and subscribes again, as a client does after a reply that reports its
// session as unknown. The server may still have the former session, which must not double the notifications of the new
// one.

import { Publisher } from "../ledger.mjs";
import { SOON, together } from "../stage.mjs";
import { sleep, until } from "../wait.mjs";

const COUNT = 5;
/** A time that is longer than a session survives its last message. */
const EXPIRY = 13_000;

async function play(platform, runs) {
  const device = await platform.createDevice("handshaken anew");
  const publisher = new Publisher(platform, device);
  await together(runs, (run) => {
    const ledger = run.follow(publisher);
    return run.open(platform, new Map([[`/events/${device}`, (message) => ledger.receive(message)]]));
  });
  await publisher.post();
  await together(runs, (run) => run.ledgers[0].settle(SOON / 4));

  // The server of this scenario holds a connect for 10 s, so the next reply comes soon.
  for (const run of runs) run.watch?.forgetSession();
  await together(runs, async (run) => {
    const isNew = () => run.watch.handshakes === 2 && run.isSubscribed(2);
    run.expect(await until(isNew, SOON), "not subscribed again within a minute");
  });

  // Notifications are checked at once, and when the former session should have ended.
  for (const pause of [0, EXPIRY]) {
    await sleep(pause);
    await publisher.postMany(COUNT);
    await together(runs, (run) => run.ledgers[0].settle(SOON / 4));
  }
  for (const run of runs) {
    run.expectEverythingOnce();
    run.expectHandshakes(2);
  }
}

export const stages = [{ name: "handshake anew", server: "short hold", play }];
