// Faye's client for Node, as published.

import faye from "faye";

/** Opens a client; see `openCometd`. */
export function openFaye({ port, transport, authorization, upgrade, credentials, ack, watch, channels }) {
  const endpoint = new URL(`http://127.0.0.1:${port}/notification/realtime`);
  const options = {
    // Seconds before a failed message is sent again (5 by default), so that a client whose connections are cut every few
    // seconds has some time in between.
    retry: 1,
  };
  if (transport === "websocket" && !upgrade) {
    // Faye sends its handshake by POST even if it continues over a WebSocket. The credentials are only in the URL of
    // requests, so that its socket has none, like that of a browser.
    options.endpoints = { websocket: endpoint.href };
    endpoint.username = credentials.name;
    endpoint.password = credentials.password;
  }
  const client = new faye.Client(endpoint.href, options);
  // The response to a POST has a body only when `Accept` is sent; browsers do so, Faye on Node does not.
  client.setHeader("Accept", "application/json");
  if (transport === "long-polling") client.disable("websocket");
  if (transport === "long-polling" || upgrade) client.setHeader("Authorization", authorization);
  if (ack) client.addExtension(acknowledging());
  client.addExtension({
    outgoing: (message, pass) => (watch.outgoing(message), pass(message)),
    incoming: (message, pass) => (watch.incoming(message), pass(message)),
  });
  for (const [channel, listener] of channels) {
    // With the message instead of its data. It subscribes again by itself after each handshake.
    client.subscribe(channel).withChannel((concrete, data) => guarded(watch, () => listener({ channel: concrete, data })));
  }
  return { close: () => Promise.resolve(client.disconnect()) };
}

function guarded(watch, call) {
  try {
    call();
  } catch (error) {
    watch.errors.push(String(error.stack));
  }
}

/** The acknowledgement extension, which Faye does not bring; after CometD's. */
function acknowledging() {
  let [supported, batch, connect] = [false, 0, undefined];
  return {
    outgoing(message, pass) {
      if (message.channel === "/meta/handshake") {
        [supported, batch, connect] = [false, 0, undefined];
        message.ext = { ...message.ext, ack: true };
      } else if (message.channel === "/meta/connect" && supported) {
        message.ext = { ...message.ext, ack: batch };
        // Faye sends the same message again when it assumes that it was lost.
        connect = message;
      }
      pass(message);
    },
    incoming(message, pass) {
      if (message.channel === "/meta/handshake") supported = message.ext?.ack === true;
      if (message.channel === "/meta/connect" && message.successful && typeof message.ext?.ack === "number") {
        batch = message.ext.ack;
        if (connect) connect.ext.ack = batch;
      }
      pass(message);
    },
  };
}
