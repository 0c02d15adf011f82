// Times in the time zone of the viewer, with the exact time as a tooltip.

import { signal } from "@preact/signals";
import { ago, exactly, short } from "./values/times";

/** The present time, updated as often as relative times need it, and only in a visible tab. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 5000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = Date.now();
});

/**
 * A time of the server. With `as="ago"` it is relative to now. The tooltip contains the exact time and the server's
 * text.
 */
export function Time({ at, as = "short" }: { at?: string; as?: "short" | "ago" }) {
  if (!at) return <span class="faint">–</span>;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={`${exactly(date)}\n${at}`}>
      {as === "ago" ? ago(date, now.value) : short(date, now.value)}
    </time>
  );
}
