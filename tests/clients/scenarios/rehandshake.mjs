// A client handshakes anew without a disconnect and subscribes again, as clients do whose session is unknown to the server.
// The server may still have the earlier session; the client must not receive notifications twice.

import { Publisher } from "../ledger.mjs";
import { SOON, together } from "../stage.mjs";
import { sleep, until } from "../wait.mjs";

const COUNT = 5;
/** Longer than a session outlives its last message. */
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

  // The server of this scenario holds a connect for 10 s, so there is a reply soon.
  for (const run of runs) run.watch?.forgetSession();
  await together(runs, async (run) => {
    const isNew = () => run.watch.handshakes === 2 && run.isSubscribed(2);
    run.expect(await until(isNew, SOON), "not subscribed again within a minute");
  });

  // At once, and when the session of before should be gone.
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
