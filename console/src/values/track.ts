// Positions in the plane.

import type { PlatformEvent } from "../types";

export const isPlace = (event: PlatformEvent) =>
  typeof event.plat_Position?.lat === "number" && typeof event.plat_Position?.lng === "number";

export const positionInWords = ({ plat_Position: at }: PlatformEvent) =>
  `${at!.lat!.toFixed(4)}, ${at!.lng!.toFixed(4)}`;
