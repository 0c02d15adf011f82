// Which file imports which: rooms import downward only, no page imports another one, and there is no circle.

import { equal } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

/** The rooms of src, from the top to the bottom. The files beside them are the room `.`. */
const ROOMS = ["frame", "pages", "parts", "ui", ".", "values", "types"];
const FRAME = ["main.tsx", "shell.tsx"];
const TYPES = ["reference.ts", "types.ts"];

const src = path.join(process.cwd(), "src");
const files = (readdirSync(src, { recursive: true }) as string[]).filter((name) => /\.tsx?$/.test(name));

/** Returns the files that a file imports. */
function importsOf(file: string): string[] {
  const text = readFileSync(path.join(src, file), "utf8");
  const targets = [...text.matchAll(/^(?:import|export)\b[^"]*?from "(\.[^"]+)";/gm)];
  return targets.map(([, target]) => {
    const stem = path.join(path.dirname(file), target);
    const found = files.find((one) => one === `${stem}.ts` || one === `${stem}.tsx`);
    if (!found) throw new Error(`${file} imports ${target}, which is not there`);
    return found;
  });
}

const graph = new Map(files.map((file) => [file, importsOf(file)]));
const edges = [...graph].flatMap(([from, targets]) => targets.map((to) => ({ from, to })));
const written = (list: { from: string; to: string }[]) =>
  list.map(({ from, to }) => `${from} imports ${to}`).join("\n");

function roomOf(file: string): string {
  if (FRAME.includes(file)) return "frame";
  return TYPES.includes(file) ? "types" : file.includes("/") ? file.split("/")[0] : ".";
}

test("a room imports only itself and those below it", () => {
  const up = edges.filter(({ from, to }) => ROOMS.indexOf(roomOf(from)) > ROOMS.indexOf(roomOf(to)));
  equal(written(up), "");
  equal(files.filter((file) => !ROOMS.includes(roomOf(file))).join("\n"), "");
});

test("a page imports no other page", () => {
  // A page is a file of pages/, or a folder there with the parts that only it has.
  const pageOf = (file: string) => (roomOf(file) === "pages" ? file.split("/")[1] : undefined);
  equal(written(edges.filter(({ from, to }) => pageOf(from) && pageOf(to) && pageOf(from) !== pageOf(to))), "");
});

test("no file imports itself through others", () => {
  const done = new Set<string>();
  const walk = (file: string, way: string[]): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const target of graph.get(file)!) {
      const circle = walk(target, [...way, file]);
      if (circle) return circle;
    }
    done.add(file);
    return undefined;
  };
  const circles = files.map((file) => walk(file, [])).filter((circle) => circle !== undefined);
  equal((circles[0] ?? []).join(" > "), "");
});

test("the picture in the README is what the files import", () => {
  const readme = readFileSync(path.join(src, "../README.md"), "utf8");
  const drawn = [...readme.matchAll(/^ {2}(\S+) --> (.+)$/gm)].flatMap(([, from, to]) =>
    to.split(" & ").map((one) => `${from} > ${one}`),
  );
  const name = (file: string) => roomOf(file).replace(".", "root");
  const real = edges.map(({ from, to }) => `${name(from)} > ${name(to)}`).filter((edge) => !/^(\S+) > \1$/.test(edge));
  equal(drawn.sort().join("\n"), [...new Set(real)].sort().join("\n"));
});

test("what needs no browser has unit tests", () => {
  const values = files.filter((file) => roomOf(file) === "values").map((file) => path.basename(file, ".ts"));
  const tests = readdirSync(path.join(src, "../tests"));
  equal(values.filter((name) => !tests.includes(`${name}.test.ts`)).join(", "), "");
});

test("what is shown loads, subscribes and reads regularly through the hooks for it", () => {
  const own = /\b(setInterval|subscribe)\(/;
  const shown = files.filter((file) => ["pages", "parts", "ui"].includes(roomOf(file)));
  equal(shown.filter((file) => own.test(readFileSync(path.join(src, file), "utf8"))).join(", "), "");
});

test("what is typed into a form stays when the form is shown again", () => {
  // `value` sets the text of a field with each rendering, so it is only for fields that report each change.
  const fields = /<(?:input|textarea|select)\b(?:[^<>{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*>/g;
  const isSet = (tag: string) =>
    /\schecked=\{/.test(tag) || (/\svalue=\{/.test(tag) && !/type="(?:checkbox|radio)"/.test(tag));
  const reports = (tag: string) => /\son(?:Input|Change)=/.test(tag);
  const lost = files.flatMap((file) => {
    const tags = readFileSync(path.join(src, file), "utf8").match(fields) ?? [];
    return tags.filter((tag) => isSet(tag) && !reports(tag)).map((tag) => `${file}: ${tag}`);
  });
  equal(lost.join("\n"), "");
});
