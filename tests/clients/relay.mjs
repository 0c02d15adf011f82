// A TCP relay between one client and the server. It passes bytes on until a test cuts the connections, slows them down
// or rejects new ones. It records which notifications the server wrote to each connection, before and after a cut.

import net from "node:net";

/** The kinds of cuts: an orderly end, a reset, or silence while both sides assume that the connection is open. */
export const CUTS = ["fin", "rst", "blackhole"];

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
  /** Every connection, in the order in which clients opened them. */
  #all = [];

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
   * Cuts every open connection. `links` are these connections and `accepted` is the number of connections until now.
   * `posted` returns the number of notifications that were posted so far, if somebody judges them; a connection notes
   * it when it has ended.
   */
  async cut(kind, posted = () => Infinity) {
    // After a pause of this process, Node calls timers before it reads what has arrived meanwhile. An immediate comes
    // after the reading, so what the server wrote during the pause counts as passed on.
    await new Promise(setImmediate);
    const cut = { kind, at: Date.now(), accepted: this.accepted, links: [...this.#links] };
    for (const link of cut.links) link.cut(kind, posted);
    this.#links.clear();
    return cut;
  }

  /**
   * Returns the first sequence number that the server wrote to a connection that was opened after this many others;
   * `Infinity` if there is none.
   */
  firstAfter(accepted) {
    return Math.min(Infinity, ...this.#all.slice(accepted).flatMap(({ passed }) => passed.slice(0, 1)));
  }

  /** Returns the places of the connections to which the server wrote a sequence number, counted from 1. */
  connectionsOf(number) {
    const has = ({ passed, dropped }) => passed.includes(number) || dropped.has(number);
    return this.#all.flatMap((link, place) => (has(link) ? [place + 1] : []));
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
    this.#all.push(link);
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
  /** Sequence numbers that were passed on to the client, in order. */
  passed = [];
  /** Sequence numbers that the server wrote after the cut. They are not passed on. */
  dropped = new Set();
  /** Whether the relay has read everything that the server wrote, up to the end of the stream. */
  isReadToEnd = false;
  /**
   * The number of notifications that had been posted when the side of the server was closed. Only these can have been
   * written to this connection.
   */
  postedAtEnd = Infinity;
  #client;
  #server;
  #relay;
  #open = 2;
  /** Returns the number of notifications that were posted so far; it exists after the connection was cut. */
  #posted;

  constructor(client, port, relay) {
    this.#client = client;
    this.#server = net.connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true });
    this.#relay = relay;
    this.#pass(client, this.#server);
    this.#pass(this.#server, client);
    this.#server.on("end", () => (this.isReadToEnd = true));
    this.#server.on("close", () => (this.postedAtEnd = this.#posted?.() ?? Infinity));
  }

  #pass(from, to) {
    from.on("data", (chunk) => this.#forward(from, to, chunk));
    from.on("end", () => this.#posted || to.end());
    from.on("error", () => this.#posted || to.resetAndDestroy());
    from.on("close", () => {
      this.#open -= 1;
      if (this.#open === 0) this.onEnd();
    });
  }

  #forward(from, to, chunk) {
    const slow = from === this.#server && Number.isFinite(this.#relay.rate);
    if (from === this.#server && !slow) this.#note(chunk);
    if (this.#posted) return;
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
      if (this.#posted) this.dropped.add(Number(number));
      else this.passed.push(Number(number));
    }
  }

  /** Returns the sequence numbers that were passed on after the last one that the client received. */
  unread(received) {
    return this.passed.slice(this.passed.findLastIndex((number) => received.has(number)) + 1);
  }

  cut(kind, posted) {
    this.#posted = posted;
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
