// What lists and figures say of themselves: whether they are live, when they were loaded, and how much is there.

/** A subscription to what is shown. */
export interface Watch {
  isConnected: boolean;
  /** The channels, and the number of those that the server accepted. */
  channels: number;
  accepted: number;
  /** Whether the channels announce everything that is shown; true if it is absent. */
  isWhole?: boolean;
  hasFailed: boolean;
}

/** Returns whether changes of everything that is shown arrive by themselves. */
export const isLive = ({ isConnected, channels, accepted, isWhole = true, hasFailed }: Watch) =>
  isConnected && isWhole && channels > 0 && accepted === channels && !hasFailed;

/** Data that is read every few seconds counts as read regularly until it is this late. */
const latestAge = (seconds: number) => 3000 * seconds + 5000;

/** Returns how data that is not live is kept up to date: it is read regularly, or its user has to load it again. */
export function standingOf(data: { age: number; every?: number; hasFailed: boolean }): "read" | "loaded" {
  const isRead = data.every !== undefined && !data.hasFailed && data.age <= latestAge(data.every);
  return isRead ? "read" : "loaded";
}

/** Returns a number with its noun, whose plural has an s. */
export const amountOf = (number: number, noun: string) =>
  `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;

/** Returns the number of rows, and of how many if there are more. `total` is `null` where nobody counts them. */
export function amountInWords(shown: number, noun: string, rest: { isPartial: boolean; total: number | null }): string {
  const { isPartial, total } = rest;
  if (!isPartial) return amountOf(shown, noun);
  const isKnown = total !== null && total > shown;
  return isKnown
    ? `${shown.toLocaleString()} of ${amountOf(total, noun)}`
    : `${shown.toLocaleString()} or more ${noun}s`;
}
