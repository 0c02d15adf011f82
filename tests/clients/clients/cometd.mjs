// CometD's published JavaScript clients, with their adapter for Node.

import { createRequire } from "node:module";
import * as cometd9 from "cometd";
import * as cometd8 from "cometd-8";
import { adapt } from "cometd-nodejs-client";

// The adapter creates `window` with the `WebSocket` and the `XMLHttpRequest` that the library uses.
adapt();

const require = createRequire(import.meta.url);
const older = (version) => ({
  CometD: require(`cometd-${version}`).CometD,
  AckExtension: require(`cometd-${version}/AckExtension`),
});
/** The major versions, each with the newest of its releases. */
const VERSIONS = { 3: older(3), 4: older(4), 5: older(5), 7: older(7), 8: cometd8, 9: cometd9 };

/** The headers of WebSockets, by the port of the relay. Browsers cannot set any, programs on Node can. */
const headers = new Map();
const AdaptedSocket = window.WebSocket;
window.WebSocket = class extends AdaptedSocket {
  constructor(url, protocols) {
    super(url, protocols, { headers: headers.get(new URL(url).host) });
  }
};

/**
 * Opens a client. `authorization` is the header of requests, `upgrade` that of WebSockets; `channels` maps each
 * channel to its listener.
 */
export const openCometd = (version) => (options) => open(VERSIONS[version], options);

function open({ AckExtension, CometD }, { port, transport, authorization, upgrade, ack, watch, channels }) {
  const host = `127.0.0.1:${port}`;
  headers.set(host, upgrade && { Authorization: upgrade });
  const cometd = new CometD();
  // Each client has one transport, so that no run passes by falling back to the other.
  for (const type of cometd.getTransportTypes()) if (type !== transport) cometd.unregisterTransport(type);
  cometd.configure({
    url: `http://${host}/notification/realtime`,
    logLevel: "warn",
    // The server sends a response body to a POST only when `Accept` is present; browsers send it, the adapter does not.
    requestHeaders: { Accept: "application/json", Authorization: authorization },
  });
  if (ack) cometd.registerExtension("ack", new AckExtension());
  cometd.registerExtension("watch", {
    outgoing: (message) => (watch.outgoing(message), message),
    incoming: (message) => (watch.incoming(message), message),
  });
  // The library catches errors of listeners and only logs them.
  const failed = (error) => watch.errors.push(String(error?.stack ?? error));
  Object.assign(cometd, { onListenerException: failed, onExtensionException: failed, onCallbackException: failed });
  // A handshake clears the subscriptions, so they are made after each handshake, as the library's documentation
  // recommends.
  cometd.addListener("/meta/handshake", (reply) => {
    if (!reply.successful) return;
    cometd.batch(() => {
      for (const [channel, listener] of channels) cometd.subscribe(channel, listener);
    });
  });
  cometd.handshake();
  return { close: () => new Promise((resolve) => cometd.disconnect(resolve)) };
}
