// An extension, in the sense of Bayeux client libraries, that both clients get: it counts what goes over the wire, and
// adds to a handshake what the scenario asks for. It leaves everything else as the library made it.

/** Where a handshake carries credentials. */
const AUTHENTICATION = "com.platform.authn";

export class Watch {
  /** Handshakes that were sent. */
  handshakes = 0;
  /** Connect messages that were sent. */
  connects = 0;
  /** Replies to connect messages. */
  connectReplies = 0;
  /** Replies that said that the session is unknown. */
  unknown = 0;
  /** Subscriptions that the server confirmed. */
  subscribed = 0;
  /** When the newest message arrived. */
  heardAt = 0;
  /** What went wrong in the client, in words. */
  errors = [];
  /** The clientId that the newest handshake gave. */
  clientId;

  #options;
  #forgetting = false;
  #asked;
  #connect;

  /** `token` for the handshake's `ext`, and `interval`: how long the session shall outlive its connection, in milliseconds. */
  constructor({ token, interval }) {
    this.#options = { token, interval };
  }

  /** Changes the next connect reply so that the session seems unknown to the server, and the client handshakes anew. */
  forgetSession() {
    this.#forgetting = true;
  }

  /** From the next connect on, also one that is sent again, asks for another `interval` than the handshake did. */
  ask(interval) {
    this.#asked = interval;
    if (this.#connect) this.#connect.advice = { ...this.#connect.advice, interval };
  }

  /** To be called with each message that the library is about to send. */
  outgoing(message) {
    if (message.channel === "/meta/connect") {
      this.connects += 1;
      this.#connect = message;
      if (this.#asked) message.advice = { ...message.advice, interval: this.#asked };
    }
    if (message.channel !== "/meta/handshake") return;
    this.handshakes += 1;
    const { token, interval } = this.#options;
    if (token) message.ext = { ...message.ext, [AUTHENTICATION]: { token } };
    if (interval) message.advice = { ...message.advice, interval };
  }

  /** To be called with each message that arrived, before the library looks at it. */
  incoming(message) {
    this.heardAt = Date.now();
    const { channel, successful, error } = message;
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
