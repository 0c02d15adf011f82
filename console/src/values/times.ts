// Times in the time zone of the viewer.

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
export function short(at: Date, now: number): string {
  const today = new Date(now);
  if (isSameDay(at, today)) return clock.format(at);
  return `${(at.getFullYear() === today.getFullYear() ? day : year).format(at)}, ${clock.format(at).slice(0, 5)}`;
}

/** `5 min. ago`; what is less than ten seconds away is now. */
export function ago(at: Date, now: number): string {
  const seconds = (at.getTime() - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 10) return "just now";
  if (size < 60) return relative.format(Math.round(seconds / 10) * 10, "second");
  if (size < 3600) return relative.format(Math.round(seconds / 60), "minute");
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), "hour");
  return relative.format(Math.round(seconds / 86_400), "day");
}

/** `14:03:22`. */
export const timeOfDay = (at: Date) => clock.format(at);

/** The exact time with its zone. */
export const exactly = (at: Date) => exact.format(at);
