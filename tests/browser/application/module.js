// The application records what works on its page. The test passes credentials behind the `#` of the address, as a login
// page would request them: a user's token, and the id of a device.

import { attempt } from "./part.js";

const [token, device] = location.hash.slice(1).split(",");
const { outcome } = window;
outcome.module = true;
outcome.origin = self.origin;
outcome.storage = await attempt(() => typeof localStorage.length);
outcome.cookies = await attempt(() => typeof document.cookie);
// Without credentials the page learns nothing. With `credentials: "include"` a browser would ask its user for them.
outcome.unasked = await attempt(async () => (await fetch("/tenant/currentTenant", { credentials: "omit" })).status);
const headers = { Authorization: `Basic ${token}`, Accept: "application/json" };
outcome.tenant = await attempt(async () => (await (await fetch("/tenant/currentTenant", { headers })).json()).name);
await document.fonts.ready;
const wide = document.getElementById("wide");
outcome.color = getComputedStyle(wide).color;
outcome.width = Math.round(wide.getBoundingClientRect().width);
outcome.fonts = [...document.fonts].map((font) => `${font.family} ${font.status}`);

const socket = new WebSocket(`ws://${location.host}/notification/realtime`);
let client;
const send = (message) => socket.send(JSON.stringify([{ ...message, clientId: client }]));
const then = {
  "/meta/handshake": (reply) => {
    outcome.handshake = reply.successful;
    client = reply.clientId;
    send({ channel: "/meta/subscribe", subscription: `/events/${device}` });
  },
  "/meta/subscribe": (reply) => {
    outcome.subscribed = reply.successful;
    send({ channel: "/meta/connect", connectionType: "websocket" });
  },
  "/meta/connect": () => send({ channel: "/meta/connect", connectionType: "websocket" }),
};
socket.onopen = () => {
  const ext = { "com.platform.authn": { token } };
  send({ channel: "/meta/handshake", version: "1.0", supportedConnectionTypes: ["websocket"], ext });
};
socket.onclose = ({ code }) => (outcome.closed = code);
socket.onmessage = ({ data }) => {
  for (const message of JSON.parse(data)) {
    if (then[message.channel]) then[message.channel](message);
    else outcome.told = message.data.data.text;
  }
};
