// Libraries pass a notification to the listeners of its channel. So a notification about a child must have the channel
// of its parent that was subscribed to, and one about a member that of its group, besides a copy on its own channel.

import { Publisher } from "../ledger.mjs";
import { SOON, together } from "../stage.mjs";

const COUNT = 10;

async function play(platform, runs) {
  const [parent, child] = [await platform.createDevice("parent"), await platform.createDevice("child")];
  await platform.addChild(parent, child);
  const group = await platform.createGroup(`name eq 'child' and id eq ${child}`);
  const [alarms, events] = [
    new Publisher({ postEvent: (...alarm) => platform.postAlarm(...alarm) }, child),
    new Publisher(platform, child),
  ];
  const subscriptions = [
    [`/alarmsWithChildren/${parent}`, alarms],
    [`/eventsWithChildren/${parent}`, events],
    [`/alarms/${child}`, alarms],
    [`/alarmsOfGroup/${group}`, alarms],
    [`/eventsOfGroup/${group}`, events],
  ];
  await together(runs, (run) => {
    const channels = subscriptions.map(([channel, publisher]) => {
      const ledger = run.follow(publisher);
      return [channel, (message) => receive(run, ledger, channel, message)];
    });
    return run.open(platform, new Map(channels));
  });
  for (let n = 0; n < COUNT; n += 1) {
    await alarms.post();
    await events.post();
  }
  await together(runs, (run) => Promise.all(run.ledgers.map((ledger) => ledger.settle(SOON / 4))));
  for (const run of runs) {
    for (const [index, [channel]] of subscriptions.entries()) {
      const { lost } = run.ledgers[index];
      run.expect(lost.length === 0, `${channel}: ${lost.length} of ${COUNT} did not reach its listener`);
      run.expectNothingTwice(run.ledgers[index]);
    }
  }
}

function receive(run, ledger, channel, message) {
  run.expect(message.channel === channel, `the listener of ${channel} was given ${message.channel}`);
  ledger.receive(message);
}

export const stages = [{ name: "children", play }];
