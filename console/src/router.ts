// The page and its filters are stored in the part of the address behind `#`, which a browser never sends to a server.

import { effect, signal } from "@preact/signals";
import { link, type Route, routeOf } from "./values/addresses";

export { link };

export const route = signal<Route>(routeOf(location.hash));
/** The description of what would be lost if the page were left; `null` if nothing would. */
export const unsaved = signal<string | null>(null);
/** Asks whether unsaved text may be lost. The shell sets it, because a question is a part of the page. */
export const leaving: { ask: (what: string) => Promise<boolean> } = { ask: () => Promise.resolve(true) };

let shown = location.hash;

addEventListener("hashchange", async () => {
  const what = unsaved.peek();
  if (what && location.hash !== shown) {
    const wanted = location.hash;
    history.pushState(history.state, "", shown || "#/");
    if (!(await leaving.ask(what))) return;
    unsaved.value = null;
    location.hash = wanted;
    return;
  }
  arrive();
});
addEventListener("beforeunload", (event) => unsaved.peek() && event.preventDefault());

function arrive(): void {
  if (!history.state?.key) history.replaceState({ key: newKey() }, "");
  shown = location.hash;
  route.value = routeOf(location.hash);
}

/** The values that pages of the history remember, by the key of their entry and a name. */
const memory = new Map<string, unknown>();
let lastKey = Date.now();
const newKey = () => (lastKey += 1);

/** Stores something for the time when its user returns to the present page with "back". */
export const remember = (name: string, value: unknown) => memory.set(`${history.state?.key} ${name}`, value);
export const recall = <T>(name: string) => memory.get(`${history.state?.key} ${name}`) as T | undefined;
history.replaceState({ key: newKey() }, "");

/** The last address of each page that is a list, for the links back to it. */
const lists = new Map<string, string>();
effect(() => {
  const { words } = route.value;
  if (words.length === 1) lists.set(words[0], location.hash);
});
export const lastAddress = (word: string) => lists.get(word) ?? link([word]);

/** Opens a page as a link does. */
export function open(address: string): void {
  location.hash = address;
}

const changed = (changes: Record<string, string | undefined>) =>
  link(route.value.words, { ...Object.fromEntries(route.value.params), ...changes });

/** Changes a filter that is typed. The address is replaced, so that "back" does not undo single letters. */
export function setParams(changes: Record<string, string | undefined>): void {
  history.replaceState(history.state, "", changed(changes));
  arrive();
}

/** Changes a filter that is chosen, which "back" undoes. */
export function chooseParams(changes: Record<string, string | undefined>): void {
  history.pushState({ key: newKey() }, "", changed(changes));
  arrive();
}
