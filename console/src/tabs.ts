// Tabs that are opened from the console are logged in too. The credentials pass from one window to the other, once, and
// are stored nowhere.

import { kept, session } from "./session";

const ASKS = "platform-console-asks";
const GIVES = "platform-console-gives";
/** The time for which a new tab waits for the tab that opened it. */
const LONGEST_MS = 1000;

/** The tabs that were opened here and have not asked yet. A page that is loaded there later gets nothing. */
const expected = new Set<unknown>();

/** Opens a link in a tab of its own, as Ctrl and the middle button do. */
function openTab(event: MouseEvent): void {
  const isMiddle = event.type === "auxclick" && event.button === 1;
  if (!session.peek() || !(isMiddle || (event.type === "click" && (event.ctrlKey || event.metaKey)))) return;
  const address = (event.target as Element).closest?.('a[href^="#/"]')?.getAttribute("href");
  if (!address) return;
  const tab = window.open(location.pathname + address);
  // A browser that forbids windows opens the link itself, and the tab asks for the password.
  if (!tab) return;
  event.preventDefault();
  expected.add(tab);
}

export function openTabsLoggedIn(): void {
  addEventListener("click", openTab);
  addEventListener("auxclick", openTab);
  addEventListener("message", (event) => {
    if (event.origin !== location.origin || event.data !== ASKS || !expected.delete(event.source)) return;
    const { token } = session.peek() ?? {};
    if (token) (event.source as Window).postMessage({ type: GIVES, token, isKept: kept() !== null }, location.origin);
  });
}

export interface Given {
  token: string;
  isKept: boolean;
}

/** Asks the tab that opened this one. Returns nothing if none did, or if it does not reply. */
export function askOpener(): Promise<Given | undefined> {
  const opener = window.opener as Window | null;
  if (!opener) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const end = (given?: Given) => {
      removeEventListener("message", take);
      window.opener = null;
      resolve(given);
    };
    const take = (event: MessageEvent) => event.source === opener && event.origin === location.origin && event.data?.type === GIVES && end(event.data);
    addEventListener("message", take);
    setTimeout(end, LONGEST_MS);
    opener.postMessage(ASKS, location.origin);
  });
}
