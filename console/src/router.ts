// The page and its filters are stored in the part of the address behind `#`, which a browser never sends to a server.

import { signal } from "@preact/signals";

export interface Route {
  /** The percent-decoded words between slashes. */
  words: string[];
  params: URLSearchParams;
}

function read(): Route {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const decode = (word: string) => {
    try {
      return decodeURIComponent(word);
    } catch {
      return word;
    }
  };
  return { words: path.split("/").filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

export const route = signal<Route>(read());
addEventListener("hashchange", () => (route.value = read()));

/** Returns the address of a page, for links. Empty parameters are left out. */
export function link(words: string[], params: Record<string, string | undefined> = {}): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => !!pair[1]);
  const query = new URLSearchParams(given).toString();
  return `#/${words.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

/** Opens a page as a link does. */
export function open(address: string): void {
  location.hash = address;
}

/**
 * Changes filters in the address. The former address is replaced in the history, so that "back" does not undo single
 * letters.
 */
export function setParams(changes: Record<string, string | undefined>): void {
  const params = Object.fromEntries(route.value.params);
  history.replaceState(null, "", link(route.value.words, { ...params, ...changes }));
  route.value = read();
}
