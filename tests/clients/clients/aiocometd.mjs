// aiocometd, a client library of Python, in a process of its own: `aiocometd_client.py`.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("aiocometd_client.py", import.meta.url));

/** A Python with the library; without one its runs are left out. */
let python;

export function usePython(program) {
  python = program;
}

/** Returns whether a way can be played here. */
export const isPlayable = ({ library }) => library !== "aiocometd" || python !== undefined;

/** Opens a client; see `openCometd`. */
export function openAiocometd({ port, transport, authorization, watch, channels }) {
  const child = spawn(python, [PROGRAM], { stdio: ["pipe", "pipe", "ignore"] });
  let isClosing = false;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  ended.then((code) => isClosing || watch.errors.push(`the client in Python ended with ${code}`));
  const handle = ({ outgoing, incoming, notification, error }) => {
    if (outgoing) watch.outgoing(outgoing);
    if (incoming) watch.incoming(incoming);
    if (notification) channels.get(notification.channel)?.(notification);
    if (error) watch.errors.push(error);
  };
  let text = "";
  child.stdout.on("data", (chunk) => {
    const lines = (text + chunk).split("\n");
    text = lines.pop();
    for (const line of lines) handle(JSON.parse(line));
  });
  const url = `http://127.0.0.1:${port}/notification/realtime`;
  child.stdin.on("error", () => {});
  child.stdin.write(`${JSON.stringify({ url, transport, authorization, channels: [...channels.keys()] })}\n`);
  return {
    close: async () => {
      isClosing = true;
      child.stdin.end();
      const killing = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await ended;
      clearTimeout(killing);
    },
  };
}
