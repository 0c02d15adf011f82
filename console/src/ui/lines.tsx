// The looks of the lines of a chart: six colours that stay apart for colour-blind people, then the same colours dashed.

/** Custom properties of the style sheet. */
const COLORS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];
/** The lengths of dashes and gaps in pixels. A line without them is solid. */
const DASHES: number[][] = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

export interface Look {
  color: string;
  dash: number[];
}

/** Returns the look of a line. Up to 24 lines of a chart differ from each other. */
export const lookOf = (index: number): Look => ({
  color: COLORS[index % COLORS.length],
  dash: DASHES[Math.floor(index / COLORS.length) % DASHES.length],
});

/** A piece of the line beside its name. */
export function LineMark({ index }: { index: number }) {
  const { color, dash } = lookOf(index);
  return (
    <svg class={`stroke ${color.slice(2)}`} viewBox="0 0 24 8" aria-hidden="true">
      <line x1="0" y1="4" x2="24" y2="4" stroke-dasharray={dash.join(" ") || undefined} />
    </svg>
  );
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
