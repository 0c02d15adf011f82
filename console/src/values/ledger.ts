// Whether the numbers of a ledger agree.

/** What has not arrived after this time is taken for lost. */
const PATIENCE_MS = 30_000;

/** What was sent, and what the server said to it. */
export interface Sent {
  isRunning: boolean;
  seconds: number;
  confirmed: number;
  /** Requests without a response: the server may have carried them out. */
  uncertain: number;
  refused: number;
  problem: string;
  /** The time when the last response had arrived, in milliseconds. */
  endedAt: number;
}

/** Nothing was lost, something was, or it is too early to say; and the reason in words. */
export type Verdict = ["good" | "bad" | "open", string];

/** Every confirmed alarm must be stored, none that was not sent, and the page must have all that is stored. */
export function verdictOfStorm(
  sent: Sent,
  stored: number,
  seen: number,
  page: { now: number; isCut: boolean },
): Verdict {
  const { isRunning, confirmed, uncertain, endedAt } = sent;
  const isLate = page.now > endedAt + PATIENCE_MS;
  if (isRunning) return ["open", "The storm goes on."];
  if (page.isCut) return ["open", "The network of this page is cut. What happens meanwhile is not here yet."];
  if (stored > confirmed + uncertain)
    return ["bad", `${(stored - confirmed - uncertain).toLocaleString()} alarms are stored that were not sent.`];
  if (stored < confirmed)
    return [isLate ? "bad" : "open", `${(confirmed - stored).toLocaleString()} confirmed alarms are not stored.`];
  if (seen !== stored)
    return [
      isLate ? "bad" : "open",
      `${Math.abs(stored - seen).toLocaleString()} stored alarms have not arrived here.`,
    ];
  return ["good", "Nothing was lost: all confirmed alarms are stored, and this page has them all."];
}
