// Positions in the plane.

import type { PlatformEvent } from "../types";

/** Returns whether an event has a position. */
export const isPlace = (event: PlatformEvent) =>
  typeof event.plat_Position?.lat === "number" && typeof event.plat_Position?.lng === "number";

/** Returns latitude and longitude in degrees. */
export const positionInWords = ({ plat_Position: at }: PlatformEvent) =>
  `${at!.lat!.toFixed(4)}, ${at!.lng!.toFixed(4)}`;

/**
 * Returns the track of events, the newest first, as points in a picture whose top is north, from the oldest to the
 * newest. A degree of longitude is shorter the farther it is from the equator.
 */
export function trackOf(events: PlatformEvent[], picture: { width: number; height: number; edge: number }): number[][] {
  const { width, height, edge } = picture;
  const shrink = Math.cos((events[0].plat_Position!.lat! * Math.PI) / 180);
  const points = events.map(({ plat_Position: at }) => [at!.lng! * shrink, -at!.lat!]).reverse();
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [wide, high] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const size = Math.max(wide / (width - 2 * edge), high / (height - 2 * edge), 1e-9);
  return points.map(([x, y]) => [
    (x - left) / size + (width - wide / size) / 2,
    (y - top) / size + (height - high / size) / 2,
  ]);
}
