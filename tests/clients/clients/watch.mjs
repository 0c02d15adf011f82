// An extension of Bayeux client libraries that both clients get. It counts the messages on the wire, and adds the
// members that the scenario requests to a handshake and to subscriptions. It changes nothing else.

/** The member of `ext` in which a handshake carries credentials. */
const AUTHENTICATION = "com.platform.authn";
/** The member of `ext` in which a handshake names a consumer. */
const CONSUMER = "com.platform.consumer";
/** The member of `ext` in which a subscription names its filter. */
const FILTER = "com.platform.filter";

export class Watch {
  /** Handshakes that were sent. */
  handshakes = 0;
  /** Connect messages that were sent. */
  connects = 0;
  /** Replies to connect messages. */
  connectReplies = 0;
  /** Replies that reported the session as unknown. */
  unknown = 0;
  /** Subscriptions that the server confirmed. */
  subscribed = 0;
  /** The time when the newest message arrived. */
  heardAt = 0;
  /** The pause before each connect that the server advised last, in milliseconds. Clients keep it (B-09a). */
  interval = 0;
  /** The errors in the client, in words. */
  errors = [];
  /** The clientId that the newest handshake gave. */
  clientId;

  #options;
  #forgetting = false;
  #asked;
  #connect;

  /**
   * `token` is the credential in the handshake's `ext`; `interval` is the lifetime of the session without a connection,
   * in milliseconds; `consumer` is the name of the consumer that the session reads; `filter` is that of subscriptions.
   */
  constructor({ token, interval, consumer, filter }) {
    this.#options = { token, interval, consumer, filter };
  }

  /**
   * Changes the client's next connect reply so that the session appears unknown, which makes the client handshake
   * again.
   */
  forgetSession() {
    this.#forgetting = true;
  }

  /**
   * Makes the client request another `interval` than in the handshake from the next connect on, also in a repeated one.
   */
  ask(interval) {
    this.#asked = interval;
    if (this.#connect) this.#connect.advice = { ...this.#connect.advice, interval };
  }

  /** The library calls it with each message that it is about to send. */
  outgoing(message) {
    if (message.channel === "/meta/connect") {
      this.connects += 1;
      this.#connect = message;
      if (this.#asked) message.advice = { ...message.advice, interval: this.#asked };
    }
    const { token, interval, consumer, filter } = this.#options;
    if (filter && message.channel === "/meta/subscribe") message.ext = { ...message.ext, [FILTER]: filter };
    if (message.channel !== "/meta/handshake") return;
    this.handshakes += 1;
    if (consumer) message.ext = { ...message.ext, [CONSUMER]: { name: consumer } };
    if (token) message.ext = { ...message.ext, [AUTHENTICATION]: { token } };
    if (interval) message.advice = { ...message.advice, interval };
  }

  /** The library calls it with each message that arrived, before it handles the message. */
  incoming(message) {
    this.heardAt = Date.now();
    const { channel, successful, error } = message;
    this.interval = message.advice?.interval ?? this.interval;
    if (error?.startsWith("402")) this.unknown += 1;
    else if (successful === false) this.errors.push(`${channel}: ${error}`);
    if (channel === "/meta/handshake" && successful) this.clientId = message.clientId;
    if (channel === "/meta/subscribe" && successful) this.subscribed += 1;
    if (channel !== "/meta/connect") return;
    this.connectReplies += 1;
    if (this.#forgetting && successful) {
      this.#forgetting = false;
      message.successful = false;
      message.advice = { ...message.advice, interval: 0, reconnect: "handshake" };
    }
  }
}
