// The queue of a session is a named consumer. Notifications wait while there is no client at all, and a client whose
// session ends continues where it has acknowledged.

import { Publisher } from "../ledger.mjs";
import { ALL_WAYS, SOON, together } from "../stage.mjs";
import { until } from "../wait.mjs";

const COUNT = 20;

async function play(platform, runs) {
  const device = await platform.createDevice("consumed");
  const publisher = new Publisher(platform, device);
  const channel = `/events/${device}`;
  await together(runs, async (run) => {
    run.consumer = run.name.replaceAll(" ", "-");
    // The consumer exists before its client, so the ledger begins here.
    await platform.createConsumer(run.user, run.consumer, [channel]);
    run.ledger = run.follow(publisher);
    run.positions = new Map();
  });
  await publisher.postMany(COUNT);
  const open = (run) =>
    run.open(platform, new Map([[channel, (message) => receive(run, message)]]), { consumer: run.consumer });
  await together(runs, open);
  await together(runs, (run) => run.ledger.settle(SOON / 4));

  for (const run of runs) run.watch?.forgetSession();
  await publisher.postMany(COUNT);
  await together(runs, async (run) => {
    run.expect(await until(() => run.watch.handshakes >= 2 && run.isSubscribed(2), SOON), "not subscribed again");
    await run.ledger.settle(SOON / 4);
  });

  await together(runs, async (run) => {
    await run.leave();
    run.relay.close();
  });
  await publisher.postMany(COUNT);
  await together(runs, open);
  await together(runs, async (run) => {
    await run.ledger.settle(SOON / 4);
    run.expect(run.ledger.lost.length === 0, `lost ${run.ledger.lost.join(", ")}`);
    run.expect(run.ledger.disordered.length === 0, `out of order ${run.ledger.disordered.join(", ")}`);
    run.expect(run.ledger.received.length >= 3 * COUNT, `received only ${run.ledger.received.length}`);
  });
}

/** Records a notification. One that comes again has the same position. */
function receive(run, message) {
  const { sequence } = message.data.data;
  // Faye passes the data of a message alone, so the position is known of CometD only.
  const position = message.ext?.["com.platform.consumer"].position;
  const before = run.positions.get(sequence);
  run.expect(before === undefined || before === position, `${sequence} has the positions ${before} and ${position}`);
  if (position !== undefined) run.positions.set(sequence, position);
  run.ledger.receive(message);
}

/** A consumer requires acknowledgements. */
const ways = ALL_WAYS.filter(({ mode }) => mode === "ack");

export const stages = [{ name: "consumer", server: "short hold", ways, play }];
