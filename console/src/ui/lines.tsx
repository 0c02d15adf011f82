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
