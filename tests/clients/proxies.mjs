// Proxies in front of a server: nginx with its defaults, and HAProxy as docs/deploy/haproxy.cfg configures it.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { sleep } from "./wait.mjs";

const DOCUMENTED = fileURLToPath(new URL("../../docs/deploy/haproxy.cfg", import.meta.url));
/** The longest time until a proxy accepts connections, on a busy machine. */
const START = 30_000;

/** The configuration of nginx: a server that passes everything on, and nothing else. */
const nginx = (port, target, directory) => `
daemon off;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
events {}
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://127.0.0.1:${target}; }
  }
}
`;

const haproxy = (port, target) => {
  const nobody = "127.0.0.1:1";
  const servers = [`127.0.0.1:${target}`, nobody, nobody];
  const text = readFileSync(DOCUMENTED, "utf8").replace("bind :8080", `bind 127.0.0.1:${port}`);
  return servers.reduce((text, address, n) => text.replace(`web${n + 1}:8080`, address), text);
};

/** The proxies by name: the program, its arguments before the file, and its configuration. */
const KINDS = {
  nginx: { program: "nginx", version: "-v", options: ["-c"], configure: nginx },
  haproxy: { program: "haproxy", version: "-v", options: ["-db", "-f"], configure: haproxy },
};

/** Debian installs both in a directory that is not in every user's PATH. */
function find(name) {
  const { program, version } = KINDS[name];
  return [program, `/usr/sbin/${program}`].find((path) => !spawnSync(path, [version]).error);
}

/** Returns whether a proxy is installed. If it is not, this says so, or fails where everything is required, as in CI. */
export function isInstalled(name) {
  if (find(name)) return true;
  if (process.env.PLATFORM_CLIENT_SUITE === "required") throw new Error(`${name} is not installed`);
  console.log(`SKIPPED what is behind ${name}, which is not installed`);
  return false;
}

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => resolve(true));
    socket.on("connect", () => socket.destroy()).on("error", () => resolve(false));
  });
}

/** A running proxy. */
export class Proxy {
  /** Every proxy that was started, so that none stays behind. */
  static all = [];

  /** Starts a proxy in front of a server. */
  static async start(name, { port: target }) {
    const { options, configure } = KINDS[name];
    const proxy = new Proxy();
    Proxy.all.push(proxy);
    proxy.port = await freePort();
    proxy.directory = mkdtempSync(path.join(os.tmpdir(), `platform-${name}-`));
    const file = path.join(proxy.directory, "configuration");
    writeFileSync(file, configure(proxy.port, target, proxy.directory));
    proxy.child = spawn(find(name), [...options, file], { stdio: "ignore" });
    const deadline = Date.now() + START;
    while (!(await accepts(proxy.port))) {
      if (Date.now() > deadline) throw new Error(`${name} does not start`);
      await sleep(20);
    }
    return proxy;
  }

  stop() {
    this.child?.kill("SIGTERM");
    rmSync(this.directory, { recursive: true, force: true });
  }
}
