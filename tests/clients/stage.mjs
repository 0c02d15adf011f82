// A stage is one scenario in one variant, such as "connections are cut by FIN". It has its own users and devices and
// runs all clients at once: each combination of library, transport, credentials and mode is a run.

import { openAiocometd } from "./clients/aiocometd.mjs";
import { openCometd } from "./clients/cometd.mjs";
import { openFaye } from "./clients/faye.mjs";
import { Watch } from "./clients/watch.mjs";
import { basic } from "./platform.mjs";
import { Ledger } from "./ledger.mjs";
import { Relay } from "./relay.mjs";
import { sleep, until } from "./wait.mjs";

/** The longest time until a client is subscribed. */
const OPEN = 30_000;

/** The timeout of anything that should happen soon, on a busy machine. */
export const SOON = 60_000;

/** The libraries that play every stage. */
const CURRENT = ["cometd", "faye"];
/** The versions of CometD that fleets still use. They play the stages that name `EARLIER_WAYS`. */
const EARLIER = [3, 4, 5, 7, 8];
const LIBRARIES = {
  cometd: openCometd(9),
  faye: openFaye,
  aiocometd: openAiocometd,
  ...Object.fromEntries(EARLIER.map((version) => [`cometd-${version}`, openCometd(version)])),
};

/**
 * Every combination of library, transport, place of the credentials, and mode, which is with acknowledgement or
 * without.
 */
export const ALL_WAYS = CURRENT.flatMap((library) =>
  ["long-polling", "websocket"].flatMap((transport) =>
    ["header", "ext"].flatMap((credentials) =>
      ["plain", "ack"].map((mode) => ({ library, transport, credentials, mode })),
    ),
  ),
);

/** Every combination of an earlier version of CometD, transport and mode. */
export const EARLIER_WAYS = EARLIER.flatMap((version) =>
  ["long-polling", "websocket"].flatMap((transport) =>
    ["plain", "ack"].map((mode) => ({ library: `cometd-${version}`, transport, credentials: "header", mode })),
  ),
);

/** The transports of aiocometd, which has no extension for acknowledgements. They play the stages that name them. */
export const PYTHON_WAYS = ["long-polling", "websocket"].map((transport) => ({
  library: "aiocometd",
  transport,
  credentials: "header",
  mode: "plain",
}));

/** Returns the name of a combination in the table and the lines. */
export const wayName = (way) => [way.library, way.transport, way.credentials, way.mode].join(" ");

/**
 * The number of clients that may connect at the same time. Verifying a password is slow on purpose, and a client whose
 * handshake gets its response after the time-out sends another one, which the ledgers would count as an error of the
 * server.
 */
const OPENING = 4;
let opening = 0;

/** One client in one stage with its relay, its ledgers, and its problems. */
export class Run {
  /** The problems, in words. */
  problems = [];
  ledgers = [];
  /** Cuts of its connections. */
  cuts = [];
  /** The proxy between the client and the server, if there is one. */
  proxy;
  /** A remark for the table. */
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

  async #open(platform, channels, { interval, consumer, filter }) {
    const { library, transport, credentials, mode } = this.way;
    const { user } = this;
    this.relay = await Relay.open(() => (this.proxy ?? platform).port);
    const authorization = basic(`main/${user.name}`, user.password);
    const inExtension = credentials === "ext";
    const token = inExtension && authorization.replace("Basic ", "");
    this.watch = new Watch({ token, interval, consumer, filter });
    this.#client = LIBRARIES[library]({
      port: this.relay.port,
      transport,
      // A request without it is rejected before its messages are parsed, so over long polling `ext` means both.
      authorization,
      upgrade: inExtension ? undefined : authorization,
      credentials: user,
      ack: mode === "ack",
      watch: this.watch,
      channels,
    });
    this.channels = channels.size;
    if (!(await until(() => this.isSubscribed(1), OPEN))) throw new Error("it was not subscribed within half a minute");
    // A client subscribes and connects at once. Its connect has to be held before the first event is posted.
    await until(() => this.watch.connects > 0, SOON);
  }

  /** Returns whether the subscriptions were confirmed in this many sessions. */
  isSubscribed(sessions) {
    return this.watch.subscribed >= sessions * this.channels;
  }

  /** Creates a ledger of the events that are posted from now on. */
  follow(publisher) {
    const ledger = new Ledger(publisher);
    this.ledgers.push(ledger);
    return ledger;
  }

  /** Restarts the counts `connectReplies` and `sockets`. */
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

  /** Expects that every ledger has each event once and in order. */
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

  /** Runs a part of the scenario. An error in it is a problem of this run alone. */
  async attempt(part) {
    try {
      await part();
    } catch (error) {
      this.problems.push(error.message);
    }
  }

  /** Disconnects the client with the function of its library. */
  async leave() {
    await Promise.race([this.#client?.close(), sleep(1_000)]);
    this.#client = undefined;
  }

  async close() {
    // After the run, errors of the client no longer count.
    this.problems.push(...new Set(this.watch?.errors));
    await this.leave().catch(() => {});
    this.relay?.close();
  }
}

/**
 * Creates the users of the runs, one for a few runs each. After a restart all clients return at once, each from the
 * address of its own relay; for one account the server verifies one address after the other and lets few wait.
 */
export async function createUsers(platform, runs, stage) {
  const users = new Map();
  for (const run of runs) {
    const name = `client-${stage}-${run.way.library}-${run.way.credentials}`;
    if (!users.has(name)) users.set(name, await platform.createUser(name));
    run.user = users.get(name);
  }
}

/** Runs a part of the scenario in all clients of a stage at the same time. */
export const together = (runs, part) => Promise.all(runs.map((run) => run.attempt(() => part(run))));

/** A list of numbers in a line: how many, and the first ones. */
export function brief(numbers) {
  const shown = numbers.slice(0, 12).join(", ");
  return `${numbers.length} (${shown}${numbers.length > 12 ? ", …" : ""})`;
}
