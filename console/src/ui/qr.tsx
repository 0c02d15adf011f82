// A QR code, for the camera of a phone.

import { generate } from "lean-qr";
import { useMemo } from "preact/hooks";

/** The squares of light ground that a code needs around it. */
const MARGIN = 4;

export function QrCode({ of: text, label }: { of: string; label: string }) {
  const { size, squares } = useMemo(() => {
    const code = generate(text);
    const indices = Array.from({ length: code.size ** 2 }, (_, index) => index);
    const places = indices.map((index) => [index % code.size, Math.floor(index / code.size)]);
    const dark = places.filter(([x, y]) => code.get(x, y));
    return { size: code.size, squares: dark.map(([x, y]) => `M${x} ${y}h1v1h-1z`).join("") };
  }, [text]);
  const side = size + 2 * MARGIN;
  return (
    <svg
      class="qr"
      role="img"
      aria-label={label}
      viewBox={`${-MARGIN} ${-MARGIN} ${side} ${side}`}
      shape-rendering="crispEdges">
      <path d={squares} />
    </svg>
  );
}
