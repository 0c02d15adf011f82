// CometD's JavaScript client, as published, with its adapter for Node.

import { AckExtension, CometD } from "cometd";
import { adapt } from "cometd-nodejs-client";

// The adapter makes `window`, with the `WebSocket` and the `XMLHttpRequest` that the library uses.
adapt();

/** Headers of WebSockets, by the relay that leads to the server: browsers cannot set any, programs on Node can. */
const headers = new Map();
const AdaptedSocket = window.WebSocket;
window.WebSocket = class extends AdaptedSocket {
  constructor(url, protocols) {
    super(url, protocols, { headers: headers.get(new URL(url).host) });
  }
};

/**
 * Opens a client. `authorization` is the header of requests, `upgrade` that of WebSockets; `channels` maps each channel to
 * its listener.
 */
export function openCometd({ port, transport, authorization, upgrade, ack, watch, channels }) {
  const host = `127.0.0.1:${port}`;
  headers.set(host, upgrade && { Authorization: upgrade });
  const cometd = new CometD();
  // One transport each, so that no run passes by falling back to the other.
  for (const type of cometd.getTransportTypes()) if (type !== transport) cometd.unregisterTransport(type);
  cometd.configure({
    url: `http://${host}/notification/realtime`,
    logLevel: "warn",
    // The response to a POST has a body only when `Accept` is sent; browsers do so, the adapter does not.
    requestHeaders: { Accept: "application/json", Authorization: authorization },
  });
  if (ack) cometd.registerExtension("ack", new AckExtension());
  cometd.registerExtension("watch", {
    outgoing: (message) => (watch.outgoing(message), message),
    incoming: (message) => (watch.incoming(message), message),
  });
  // The library catches what listeners throw and only logs it.
  const failed = (error) => watch.errors.push(String(error?.stack ?? error));
  Object.assign(cometd, { onListenerException: failed, onExtensionException: failed, onCallbackException: failed });
  // A handshake clears the subscriptions, so they are made after each, as the library's documentation says.
  cometd.addListener("/meta/handshake", (reply) => {
    if (!reply.successful) return;
    cometd.batch(() => {
      for (const [channel, listener] of channels) cometd.subscribe(channel, listener);
    });
  });
  cometd.handshake();
  return { close: () => new Promise((resolve) => cometd.disconnect(resolve)) };
}
