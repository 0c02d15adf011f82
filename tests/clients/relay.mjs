// A TCP relay between one client and the server. It passes bytes on until a test cuts the connections, slows them down
// or rejects new ones. It records which notifications the server wrote to connections shortly before and after a cut.

import net from "node:net";

/** The kinds of cuts: an orderly end, a reset, or silence while both sides assume that the connection is open. */
export const CUTS = ["fin", "rst", "blackhole"];

/** The milliseconds before a cut in which notifications of the server may not have reached the client. */
const IN_FLIGHT = 1_000;

/** The time that both ends of an orderly ended connection may take to close it. */
const FAREWELL = 1_000;

export class Relay {
  /** Connections that clients opened so far. */
  accepted = 0;
  /** The time when the newest connection was opened. */
  acceptedAt = 0;
  /** Whether new connections are rejected by a reset. */
  refusing = false;
  /** Bytes per second from the server to the client, on each connection. */
  rate = Infinity;

  #server;
  #links = new Set();

  /** Opens a relay on a port of its own. `target` returns the server's port for each new connection. */
  static async open(target) {
    const relay = new Relay();
    relay.#server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => relay.#accept(client, target()));
    await new Promise((resolve) => relay.#server.listen(0, "127.0.0.1", resolve));
    return relay;
  }

  get port() {
    return this.#server.address().port;
  }

  /** Connections that are open. */
  get open() {
    return this.#links.size;
  }

  /**
   * Cuts every open connection. `inFlight` are the sequence numbers that the server wrote to them just before, and
   * `dropped` those that it writes to them afterwards.
   */
  async cut(kind) {
    // After a pause of this process, Node calls timers before it reads what has arrived meanwhile. An immediate comes
    // after the reading, so what the server wrote during the pause counts as in flight.
    await new Promise(setImmediate);
    const cut = { kind, at: Date.now(), inFlight: new Set(), dropped: new Set() };
    for (const link of this.#links) {
      for (const number of link.recent()) cut.inFlight.add(number);
      link.cut(kind, cut.dropped);
    }
    this.#links.clear();
    return cut;
  }

  close() {
    this.#server.close();
    for (const link of this.#links) link.destroy();
    for (const link of this.#cutLinks) link.destroy();
  }

  // Black holes stay open until the end.
  #cutLinks = new Set();

  #accept(client, port) {
    if (this.refusing) {
      client.on("error", () => {});
      client.resetAndDestroy();
      return;
    }
    this.accepted += 1;
    this.acceptedAt = Date.now();
    const link = new Link(client, port, this);
    this.#links.add(link);
    this.#cutLinks.add(link);
    link.onEnd = () => {
      this.#links.delete(link);
      this.#cutLinks.delete(link);
    };
  }
}

/** One connection: two sockets and what is passed between them. */
class Link {
  onEnd = () => {};
  #client;
  #server;
  #relay;
  #open = 2;
  /** The set for sequence numbers that are not passed on; it exists after the connection was cut. */
  #dropped;
  /** Sequence numbers that were passed on, with the time. */
  #passed = [];

  constructor(client, port, relay) {
    this.#client = client;
    this.#server = net.connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true });
    this.#relay = relay;
    this.#pass(client, this.#server);
    this.#pass(this.#server, client);
  }

  #pass(from, to) {
    from.on("data", (chunk) => this.#forward(from, to, chunk));
    from.on("end", () => this.#dropped || to.end());
    from.on("error", () => this.#dropped || to.resetAndDestroy());
    from.on("close", () => {
      this.#open -= 1;
      if (this.#open === 0) this.onEnd();
    });
  }

  #forward(from, to, chunk) {
    const slow = from === this.#server && Number.isFinite(this.#relay.rate);
    if (from === this.#server && !slow) this.#note(chunk);
    if (this.#dropped) return;
    const flows = to.write(chunk);
    if (slow) {
      from.pause();
      setTimeout(() => from.resume(), (chunk.length / this.#relay.rate) * 1_000);
    } else if (!flows) {
      from.pause();
      to.once("drain", () => from.resume());
    }
  }

  /**
   * Records sequence numbers. Frames and bodies of the server are plain text and small, so a chunk contains them
   * completely.
   */
  #note(chunk) {
    for (const [, number] of chunk.toString("latin1").matchAll(/"sequence":(\d+)/g)) {
      if (this.#dropped) this.#dropped.add(Number(number));
      else this.#passed.push({ number: Number(number), at: Date.now() });
    }
  }

  /** Returns the sequence numbers that were passed on so recently that they may not have reached the client. */
  recent() {
    return this.#passed.filter(({ at }) => at > Date.now() - IN_FLIGHT).map(({ number }) => number);
  }

  cut(kind, dropped) {
    this.#dropped = dropped;
    if (kind === "rst") {
      this.#client.resetAndDestroy();
      this.#server.resetAndDestroy();
    } else if (kind === "fin") {
      this.#client.end();
      this.#server.end();
      setTimeout(() => this.destroy(), FAREWELL);
    }
  }

  destroy() {
    this.#client.destroy();
    this.#server.destroy();
  }
}
