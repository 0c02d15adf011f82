// The focus stays in a list when the row or the button that had it goes away.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

interface Place {
  key: string | undefined;
  index: number;
}

const rowsOf = (list: Element) => [...list.querySelectorAll<HTMLElement>("[data-key]")];
const controlOf = (row: Element | undefined) =>
  [...(row?.querySelectorAll<HTMLElement>("button, a, input") ?? [])].at(-1);

/**
 * Moves the focus to the same row, or to the row that took its place, when the focused control of a list disappears.
 * Rows have `data-key`.
 */
export function useKeptFocus(list: RefObject<HTMLElement | null>): void {
  const place = useRef<Place | null>(null);
  // The rows can have the focus as soon as they are there.
  useLayoutEffect(() => {
    const root = list.current;
    if (!root) return;
    const note = (event: FocusEvent) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-key]");
      place.current = row && { key: row.dataset.key, index: rowsOf(root).indexOf(row) };
    };
    // A control that is still there lost the focus because the user went elsewhere.
    const forget = (event: FocusEvent) =>
      queueMicrotask(
        () =>
          (event.target as HTMLElement).isConnected &&
          event.relatedTarget !== null &&
          !root.contains(event.relatedTarget as Node) &&
          (place.current = null),
      );
    const leave = (event: MouseEvent) => !root.contains(event.target as Node) && (place.current = null);
    root.addEventListener("focusin", note);
    root.addEventListener("focusout", forget);
    document.addEventListener("mousedown", leave);
    return () => {
      root.removeEventListener("focusin", note);
      root.removeEventListener("focusout", forget);
      document.removeEventListener("mousedown", leave);
    };
  }, [list.current]);
  useEffect(() => {
    if (!place.current || !list.current || document.activeElement !== document.body) return;
    const { key, index } = place.current;
    const rows = rowsOf(list.current);
    const control = controlOf(
      rows.find((row) => row.dataset.key === key) ?? rows[Math.min(Math.max(index, 0), rows.length - 1)],
    );
    (control ?? list.current).focus({ preventScroll: true });
  });
}
