// A window over the page.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon";

/** A window over the page. Escape and the button close it; the browser keeps the focus inside. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current!;
    shown.showModal();
    // The browser then returns the focus to where it was.
    return () => shown.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={props.onClose}>
      <div class="card-head">
        <h2 id={id}>{props.title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}><Icon name="cross" /></button>
      </div>
      {props.children}
    </dialog>
  );
}
