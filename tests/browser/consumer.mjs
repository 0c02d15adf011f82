// The `EventSource` of a real browser reads a named consumer with the credentials that the browser stored (B-32): it
// connects again by itself, acknowledges what it received, and misses nothing while the server is away.
//
//   node consumer.mjs --server <program> [--browser <program>]

import assert from "node:assert/strict";
import { PASSWORD, Platform } from "../clients/platform.mjs";
import { Relay } from "../clients/relay.mjs";
import { sleep } from "../clients/wait.mjs";
import { Chromium } from "./chromium.mjs";
import { runProgram } from "./program.mjs";
import { Tenant } from "./tenant.mjs";

const HOST = "shared.example.com";
/** The timeout of anything that a page should do soon. */
const SOON = 60_000;
const USAGE = "usage: node consumer.mjs --server <program> [--browser <program>]";
const CONSUMER = "/notification/consumers/page";
const COUNT = 10;

/** Begins to read the consumer in a page. `window.received` has the texts of its events with their positions. */
const READ = `
  window.received = [];
  window.source = new EventSource("${CONSUMER}/events");
  source.onmessage = ({ data, lastEventId }) => {
    const { position, data: { data: { text } } } = JSON.parse(data);
    received.push({ text, position, id: Number(lastEventId) });
  };
  "reads"`;

/** Waits until a condition holds, and returns its value. */
async function eventually(what, attempt) {
  const deadline = Date.now() + SOON;
  for (;;) {
    const value = await attempt();
    if (value) return value;
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`);
    await sleep(50);
  }
}

async function tellMany(tenant, name) {
  for (let n = 0; n < COUNT; n += 1) await tenant.tell(`${name} ${n}`);
}

async function play(server, program) {
  const platform = await Platform.start(server);
  let browser;
  // The port of the server changes with its restart, that of the relay does not.
  const relay = await Relay.open(() => platform.port);
  try {
    const main = new Tenant(relay, "main/admin");
    main.device = (await main.post("/inventory/managedObjects", { name: "pump", plat_IsDevice: {} })).id;
    await main.post("/notification/consumers", { name: "page", channels: [`/events/${main.device}`] });
    await tellMany(main, "before");
    browser = await Chromium.start(program, [HOST]);
    const host = `${HOST}:${relay.port}`;
    await browser.open(`http://main%2Fadmin:${encodeURIComponent(PASSWORD)}@${host}/user/currentUser`);
    const page = await browser.open(`http://${host}/user/currentUser`);
    await page.value(READ);
    const received = async (count) => {
      const all = (await page.value("window.received")) ?? [];
      return new Set(all.map(({ text }) => text)).size >= count && all;
    };
    await eventually("what came before", () => received(COUNT));

    await platform.terminate();
    await platform.launch();
    await tellMany(main, "after a restart");
    const all = await eventually("what came after a restart", () => received(2 * COUNT));

    const positions = new Map(all.map(({ text, position }) => [text, position]));
    for (const { text, position, id } of all) {
      assert.equal(id, position, "the id of an event is its position");
      assert.equal(position, positions.get(text), "a repetition has the position of the first time");
    }
    const expected = ["before", "after a restart"].flatMap((name) => [...Array(COUNT).keys()].map((n) => `${name} ${n}`));
    assert.deepEqual([...positions.keys()], expected, "each once at least, and in order");
    // The server ends a stream with events after half a minute, so that the next one acknowledges them.
    await eventually("the acknowledgement of the browser", async () => {
      const { backlog, reader } = await main.get(CONSUMER);
      return backlog.notifications === 0 && reader?.way === "EVENTS";
    });
  } finally {
    await browser?.close();
    relay.close();
    await platform.remove();
  }
}

await runProgram(USAGE, play, "the EventSource of a browser reads a named consumer");
