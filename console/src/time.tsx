// Times in the time zone of the viewer, with the exact time as a tooltip.

import { signal } from "@preact/signals";

/** The present time, updated as often as relative times need it, and only in a visible tab. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 5000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = Date.now();
});

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

function isSameDay(a: Date, b: Date): boolean {
  return a.toDateString() === b.toDateString();
}

/** `14:03:22` today, with the date otherwise. */
function short(at: Date): string {
  const today = new Date(now.value);
  if (isSameDay(at, today)) return clock.format(at);
  return `${(at.getFullYear() === today.getFullYear() ? day : year).format(at)}, ${clock.format(at).slice(0, 5)}`;
}

function ago(at: Date): string {
  const seconds = (at.getTime() - now.value) / 1000;
  const size = Math.abs(seconds);
  if (size < 10) return "just now";
  if (size < 60) return relative.format(Math.round(seconds / 10) * 10, "second");
  if (size < 3600) return relative.format(Math.round(seconds / 60), "minute");
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), "hour");
  return relative.format(Math.round(seconds / 86_400), "day");
}

/**
 * A time of the server. With `as="ago"` it is relative to now. The tooltip contains the exact time and the server's
 * text.
 */
export function Time({ at, as = "short" }: { at?: string; as?: "short" | "ago" }) {
  if (!at) return <span class="faint">–</span>;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={`${exact.format(date)}\n${at}`}>
      {as === "ago" ? ago(date) : short(date)}
    </time>
  );
}

export const timeOfDay = (at: Date) => clock.format(at);
