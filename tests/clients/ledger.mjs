// The record of sent and received notifications, which decides the verdict of every run.

import { sleep, until } from "./wait.mjs";

/** Posts numbered events for one device and records the times. The runs of a stage share it. */
export class Publisher {
  /** `sent[n]` contains the time when event n was posted. */
  sent = [];
  #platform;
  #device;

  constructor(platform, device) {
    this.#platform = platform;
    this.#device = device;
  }

  /** Posts the next event; `padding` makes it large. */
  async post(padding = "") {
    const sequence = this.sent.length;
    this.sent.push({ at: Date.now() });
    await this.#platform.postEvent(this.#device, { sequence, padding });
  }

  async postMany(count, padding = "") {
    for (let n = 0; n < count; n += 1) await this.post(padding);
  }

  /** Posts one event each `pause` milliseconds for `duration` milliseconds, or fewer to a slow server. */
  async postFor(duration, pause) {
    const begin = Date.now();
    for (let due = begin; due < begin + duration; due = Math.max(due + pause, Date.now())) {
      await sleep(due - Date.now());
      await this.post();
    }
  }
}

/** The notifications that one client received of a publisher. */
export class Ledger {
  /** Sequence numbers as they arrived. */
  received = [];
  /** The milliseconds from the post of each received notification to its arrival, in the order of arrival. */
  delays = [];
  #publisher;
  #first;
  #lastAt = 0;

  /** Creates a ledger for the events that are posted from now on. */
  constructor(publisher) {
    this.#publisher = publisher;
    this.#first = publisher.sent.length;
  }

  /** Records a notification. */
  receive(notification) {
    const { sequence } = notification.data.data;
    this.#lastAt = Date.now();
    this.received.push(sequence);
    this.delays.push(this.#lastAt - (this.#publisher.sent[sequence]?.at ?? this.#lastAt));
  }

  get sent() {
    return this.#publisher.sent.length - this.#first;
  }

  /** The greatest number that arrived; -1 before the first one. */
  get greatest() {
    return Math.max(-1, ...this.received);
  }

  /** Numbers that never arrived. */
  get lost() {
    const received = new Set(this.received);
    return this.#expected.filter((sequence) => !received.has(sequence));
  }

  /** Numbers that arrived more than once. */
  get doubled() {
    const seen = new Set();
    return this.received.filter((sequence) => seen.size === seen.add(sequence).size);
  }

  /** Numbers that arrived, for the first time, after a greater one. */
  get disordered() {
    let greatest = -1;
    const first = this.received.filter((sequence, index) => this.received.indexOf(sequence) === index);
    return first.filter((sequence) => (sequence < greatest ? true : ((greatest = sequence), false)));
  }

  /** Numbers that were never posted, or posted before this ledger started. */
  get strange() {
    return this.received.filter((sequence) => !(sequence >= this.#first && sequence < this.#publisher.sent.length));
  }

  /**
   * Waits until all events arrived, at most for `patience` milliseconds. The order is kept, so events that are missing
   * when the last one has arrived and nothing followed for a while are lost. Then it waits a moment for duplicates.
   */
  async settle(patience) {
    const last = this.#publisher.sent.length - 1;
    const quiet = () => Date.now() - this.#lastAt > 4_000;
    await until(() => this.lost.length === 0 || (this.received.includes(last) && quiet()), patience);
    await sleep(2_000);
  }

  get #expected() {
    return [...this.#publisher.sent.keys()].slice(this.#first);
  }
}
