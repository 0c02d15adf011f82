// Builds the console into a directory: names with hashes, each file also compressed with gzip.
//
//   node build.mjs <directory>

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? "dist");

async function put(name, content) {
  const bytes = Buffer.from(content);
  await writeFile(path.join(out, name), bytes);
  await writeFile(path.join(out, `${name}.gz`), gzipSync(bytes, { level: 9 }));
}

/** Writes a file under a name with its hash, and returns that name. */
async function putHashed(stem, end, content) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const name = `${stem}-${hash}.${end}`;
  await put(name, content);
  return name;
}

const bundled = await build({
  entryPoints: [path.join(here, "src/main.tsx")],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  write: false,
  outdir: out,
  legalComments: "none",
  logLevel: "error",
});
const contentOf = (end) => bundled.outputFiles.find((file) => file.path.endsWith(end)).contents;

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const names = {
  script: await putHashed("console", "js", contentOf(".js")),
  style: await putHashed("console", "css", contentOf(".css")),
  icon: await putHashed("icon", "svg", await readFile(path.join(here, "src/icon.svg"))),
};
const page = await readFile(path.join(here, "index.html"), "utf8");
await put(
  "index.html",
  page.replace(/\{(script|style|icon)\}/g, (_, name) => `/console/${names[name]}`),
);
