// Addresses: paths of requests, and pages of the console in the part behind `#`.

/**
 * Builds a path: path`/user/${tenant}/users/${name}`. Each value stays one segment of the path, whatever it contains.
 * `.` and `..` cannot be a segment, because browsers resolve them even when they are percent-encoded.
 */
export function path(parts: TemplateStringsArray, ...values: (string | number | undefined)[]): string {
  const segment = (value: string | number | undefined) => {
    const text = String(value ?? "");
    if (text === "" || text === "." || text === "..") throw new Error(`"${text}" cannot be part of an address.`);
    return encodeURIComponent(text);
  };
  return parts.slice(1).reduce((built, part, n) => built + segment(values[n]) + part, parts[0]);
}

/** Builds a path with parameters. Parameters without a value are left out. */
export function withQuery(path: string, params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${path}?${query}` : path;
}

export type Params = Record<string, string | number | boolean | undefined>;

/** Returns the path of a link of the server, whose host may be another one behind a proxy. */
export function pathOf(link: string): string {
  const { pathname, search } = new URL(link, "http://server");
  return pathname + search;
}

export interface Route {
  /** The percent-decoded words between slashes. */
  words: string[];
  params: URLSearchParams;
}

/** Returns the page that an address names. */
export function routeOf(hash: string): Route {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const decode = (word: string) => {
    try {
      return decodeURIComponent(word);
    } catch {
      return word;
    }
  };
  return { words: path.split("/").filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

/** Returns the address of a page, for links. Empty parameters are left out. */
export function link(words: string[], params: Record<string, string | undefined> = {}): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => !!pair[1]);
  const query = new URLSearchParams(given).toString();
  return `#/${words.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}
