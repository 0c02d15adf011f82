// A stage is one scenario in one variant, such as "connections are cut by FIN". It has users and devices of its own and
// plays with all clients at once: each library, transport, way to bring credentials and mode is a run.

import { openCometd } from "./clients/cometd.mjs";
import { openFaye } from "./clients/faye.mjs";
import { Watch } from "./clients/watch.mjs";
import { basic } from "./platform.mjs";
import { Ledger } from "./ledger.mjs";
import { Relay } from "./relay.mjs";
import { sleep, until } from "./wait.mjs";

/** How long a client may take until it is subscribed. */
const OPEN = 30_000;

/** How long something that should come soon may take on a busy machine. */
export const SOON = 60_000;

const LIBRARIES = { cometd: openCometd, faye: openFaye };

/** Every combination of library, transport, way to bring credentials, and mode: with acknowledgement or without. */
export const ALL_WAYS = Object.keys(LIBRARIES).flatMap((library) =>
  ["long-polling", "websocket"].flatMap((transport) =>
    ["header", "ext"].flatMap((credentials) =>
      ["plain", "ack"].map((mode) => ({ library, transport, credentials, mode })),
    ),
  ),
);

/** What the table and the lines call a way. */
export const wayName = (way) => [way.library, way.transport, way.credentials, way.mode].join(" ");

/**
 * The most clients that open their sessions at the same time. Verifying a password is slow on purpose, and a client whose
 * handshake times out sends another one, which the ledgers would count as an error of the server.
 */
const OPENING = 4;
let opening = 0;

/** One client in one stage: its relay, its ledgers, and what was wrong. */
export class Run {
  /** What went wrong, in words. */
  problems = [];
  ledgers = [];
  /** Cuts of its connections. */
  cuts = [];
  /** What else the table shall tell. */
  note = "";
  /** Replies to connect messages, and sockets, since `mark`. */
  #mark = { connectReplies: 0, accepted: 0 };
  #client;

  constructor(stage, way) {
    Object.assign(this, { stage, way });
    this.name = `${stage.name} ${wayName(way)}`;
  }

  /** Opens the client through a relay of its own and waits until it is subscribed to its channels. */
  async open(platform, channels, settings = {}) {
    while (opening >= OPENING) await sleep(20);
    opening += 1;
    try {
      await this.#open(platform, channels, settings);
    } finally {
      opening -= 1;
    }
  }

  async #open(platform, channels, { interval }) {
    const { library, transport, credentials, mode } = this.way;
    const { user } = this;
    this.relay = await Relay.open(() => platform.port);
    const authorization = basic(`main/${user.name}`, user.password);
    const inExtension = credentials === "ext";
    this.watch = new Watch({ token: inExtension && authorization.replace("Basic ", ""), interval });
    this.#client = LIBRARIES[library]({
      port: this.relay.port,
      transport,
      // A request without it is refused before anybody looks into its messages, so over long polling `ext` means both.
      authorization,
      upgrade: inExtension ? undefined : authorization,
      credentials: user,
      ack: mode === "ack",
      watch: this.watch,
      channels,
    });
    this.channels = channels.size;
    if (!(await until(() => this.isSubscribed(1), OPEN))) throw new Error("it was not subscribed within half a minute");
    // A client subscribes and connects at the same time. Events are posted only after its connect is held.
    await until(() => this.watch.connects > 0, SOON);
  }

  /** Whether its subscriptions were confirmed in this many sessions. */
  isSubscribed(sessions) {
    return this.watch.subscribed >= sessions * this.channels;
  }

  /** Makes a ledger of what is posted from now on. */
  follow(publisher) {
    const ledger = new Ledger(publisher);
    this.ledgers.push(ledger);
    return ledger;
  }

  /** From here on `connectReplies` and `sockets` count. */
  mark() {
    this.#mark = { connectReplies: this.watch.connectReplies, accepted: this.relay.accepted };
  }

  get connectReplies() {
    return this.watch.connectReplies - this.#mark.connectReplies;
  }

  get sockets() {
    return this.relay.accepted - this.#mark.accepted;
  }

  expect(holds, problem) {
    if (!holds) this.problems.push(problem);
  }

  /** Nothing lost, nothing twice, in order, in every ledger. */
  expectEverythingOnce() {
    for (const ledger of this.ledgers) {
      this.expect(ledger.lost.length === 0, `lost ${brief(ledger.lost)}`);
      this.expectNothingTwice(ledger);
    }
  }

  expectNothingTwice(ledger) {
    this.expect(ledger.doubled.length === 0, `twice ${brief(ledger.doubled)}`);
    this.expect(ledger.disordered.length === 0, `out of order ${brief(ledger.disordered)}`);
    this.expect(ledger.strange.length === 0, `never meant for it ${brief(ledger.strange)}`);
  }

  expectHandshakes(count) {
    const { handshakes, unknown } = this.watch;
    this.expect(handshakes === count, `${handshakes} handshakes instead of ${count}; its session was unknown ${unknown} times`);
  }

  /** Carries out a part of the scenario; what fails there is a problem of this run alone. */
  async attempt(part) {
    try {
      await part();
    } catch (error) {
      this.problems.push(error.message);
    }
  }

  /** Lets the client disconnect, as its library does it. */
  async leave() {
    await Promise.race([this.#client?.close(), sleep(1_000)]);
    this.#client = undefined;
  }

  async close() {
    // Once over, nothing that a client says or fails to say counts.
    this.problems.push(...new Set(this.watch?.errors));
    await this.leave().catch(() => {});
    this.relay?.close();
  }
}

/**
 * Gives the runs their users, a few runs each. After a restart all come back at once, each by the address of its own relay,
 * and of one account the server verifies one address after the other and lets few wait.
 */
export async function createUsers(platform, runs, stage) {
  const users = new Map();
  for (const run of runs) {
    const name = `client-${stage}-${run.way.library}-${run.way.credentials}`;
    if (!users.has(name)) users.set(name, await platform.createUser(name));
    run.user = users.get(name);
  }
}

/** Lets the clients of a stage do something at the same time. */
export const together = (runs, part) => Promise.all(runs.map((run) => run.attempt(() => part(run))));

/** A list of numbers in a line: how many, and the first ones. */
export function brief(numbers) {
  const shown = numbers.slice(0, 12).join(", ");
  return `${numbers.length} (${shown}${numbers.length > 12 ? ", …" : ""})`;
}
