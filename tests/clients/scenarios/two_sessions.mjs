// Two sessions on one WebSocket. No library supports that, so this file implements Bayeux itself, on the socket of the
// libraries.

import { WebSocket } from "ws";
import { Publisher } from "../ledger.mjs";
import { basic } from "../platform.mjs";
import { SOON, together } from "../stage.mjs";
import { sleep, until } from "../wait.mjs";

const COUNT = 5;

async function play(platform, runs) {
  await together(runs, async (run) => {
    const devices = [await platform.createDevice("first"), await platform.createDevice("second")];
    const publishers = devices.map((device) => new Publisher(platform, device));
    const ledgers = publishers.map((publisher) => run.follow(publisher));
    const speaker = await Speaker.open(platform.port, run.user, run.way.credentials);
    try {
      const [first, second] = [await speaker.session(devices[0], ledgers[0]), await speaker.session(devices[1], ledgers[1])];
      for (const publisher of publishers) await publisher.postMany(COUNT);
      await Promise.all(ledgers.map((ledger) => ledger.settle(SOON / 4)));
      run.expectEverythingOnce();

      const disconnect = await speaker.ask({ channel: "/meta/disconnect", clientId: first.clientId });
      run.expect(disconnect.successful === true, `the disconnect was answered ${JSON.stringify(disconnect)}`);
      const isAnswered = await until(() => speaker.replies.has(first.connect), SOON / 6);
      run.expect(isAnswered, "the held connect of the disconnected session got no reply");
      await sleep(1_000);
      run.expect(!speaker.replies.has(second.connect), "the connect of the other session got a reply too");
      run.expect(!speaker.closed, `the socket of the other session was closed: ${speaker.closed}`);

      run.ledgers = [run.follow(publishers[1])];
      speaker.listeners.set(`/events/${devices[1]}`, run.ledgers[0]);
      await publishers[1].postMany(COUNT);
      await run.ledgers[0].settle(SOON / 4);
      run.expectEverythingOnce();
    } finally {
      speaker.close();
    }
  });
}

/** Speaks Bayeux over a WebSocket. */
class Speaker {
  /** Replies by id. */
  replies = new Map();
  /** Ledgers by channel. */
  listeners = new Map();
  /** The reason why the socket is closed. */
  closed;
  #socket;
  #id = 0;
  #token;

  static async open(port, user, credentials) {
    const speaker = new Speaker();
    const authorization = basic(`main/${user.name}`, user.password);
    const headers = credentials === "header" ? { Authorization: authorization } : {};
    if (credentials === "ext") speaker.#token = authorization.replace("Basic ", "");
    speaker.#socket = new WebSocket(`ws://127.0.0.1:${port}/notification/realtime`, { headers });
    speaker.#socket.on("message", (frame) => speaker.#receive(JSON.parse(frame)));
    speaker.#socket.on("close", (code, reason) => (speaker.closed = `${code} ${reason}`));
    await new Promise((resolve, reject) => speaker.#socket.once("open", resolve).once("error", reject));
    return speaker;
  }

  /** Opens a session that subscribes to the events of a device and has its connect held. */
  async session(device, ledger) {
    const ext = this.#token && { "com.platform.authn": { token: this.#token } };
    const handshake = { channel: "/meta/handshake", version: "1.0", supportedConnectionTypes: ["websocket"], ext };
    const { clientId } = await this.ask(handshake);
    this.listeners.set(`/events/${device}`, ledger);
    await this.ask({ channel: "/meta/subscribe", clientId, subscription: `/events/${device}` });
    const connect = this.#send({ channel: "/meta/connect", clientId, connectionType: "websocket" });
    return { clientId, connect };
  }

  /** Sends a message and returns its reply. */
  async ask(message) {
    const id = this.#send(message);
    if (!(await until(() => this.replies.has(id), SOON / 4))) throw new Error(`no reply to ${message.channel}`);
    return this.replies.get(id);
  }

  close() {
    this.#socket.terminate();
  }

  #send(message) {
    const id = `m${(this.#id += 1)}`;
    this.#socket.send(JSON.stringify([{ id, ...message }]));
    return id;
  }

  #receive(messages) {
    for (const message of messages) {
      if (message.channel.startsWith("/meta/")) this.replies.set(message.id, message);
      else this.listeners.get(message.channel)?.receive(message);
    }
  }
}

const ways = ["header", "ext"].map((credentials) => ({ library: "ws", transport: "websocket", credentials, mode: "plain" }));

export const stages = [{ name: "two sessions", ways, play }];
