// Numbers for people.

const numbers = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 5 });

export const format = (value: number) => numbers.format(value);

/** Returns a value, or the least and the most of a group of values. */
export const between = (least: number, most: number) =>
  least === most ? format(most) : `${format(least)} to ${format(most)}`;

/** Returns the labels of the time axis, as exact as the shown span requires. Midnight shows the date. */
export function timeLabels(splits: number[]): string[] {
  const span = splits[splits.length - 1] - splits[0];
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const time = new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    second: span < 600 ? "2-digit" : undefined,
    hourCycle: "h23",
  });
  return splits.map((seconds) => {
    const at = new Date(seconds * 1000);
    const isMidnight = at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0;
    return (isMidnight || span > 3 * 86_400 ? day : time).format(at);
  });
}

/** Returns the labels of an axis of values, with as many digits as its steps need. */
export function valueLabels(splits: number[]): string[] {
  const most = Math.max(...splits.map(Math.abs));
  const step = Math.abs((splits[1] ?? 0) - (splits[0] ?? 0)) || most || 1;
  if (most >= 1e6 || (most > 0 && most < 1e-3)) {
    const digits = Math.min(6, Math.max(0, Math.ceil(Math.log10(most / step))));
    const words = new Intl.NumberFormat("en-GB", { notation: "engineering", maximumFractionDigits: digits });
    return splits.map((value) => (value === 0 ? "0" : words.format(value)));
  }
  const words = new Intl.NumberFormat("en-GB", {
    maximumFractionDigits: Math.min(9, Math.max(0, Math.ceil(-Math.log10(step)))),
  });
  return splits.map((value) => words.format(value));
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return "–";
  const [size, unit] = [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
  ].find(([size]) => value >= (size as number)) ?? [1, "bytes"];
  return `${format(Number((value / (size as number)).toPrecision(3)))} ${unit}`;
}

export function periodInWords(seconds: number): string {
  const [size, unit] = [
    [3600, "h"],
    [60, "min"],
  ].find(([size]) => seconds >= (size as number)) ?? [1, "s"];
  return `${format(seconds / (size as number))} ${unit}`;
}
