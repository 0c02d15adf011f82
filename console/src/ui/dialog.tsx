// A window over the page.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { leaving, unsaved } from "../router";
import { Button } from "./button";
import { Icon } from "./icon";

const LOST = "what you entered in this window";

/** A window over the page. Escape and the button close it; the browser keeps the focus inside. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isShown = useRef(true);
  useEffect(() => {
    const shown = dialog.current!;
    shown.showModal();
    return () => {
      isShown.current = false;
      // The browser then returns the focus to where it was.
      shown.close();
    };
  }, []);
  // The browser reports the end of a window late. Another one may have replaced it by then, and must stay.
  const closed = () => isShown.current && props.onClose();
  const isChanged = useRef(false);
  const forget = () => {
    if (isChanged.current) unsaved.value = null;
    isChanged.current = false;
  };
  // Whoever leaves the page together with the window is not asked about what was sent.
  useLayoutEffect(() => forget, []);
  const note = (event: Event) => {
    if (!(event.target as HTMLElement).closest("form[data-kept]")) return;
    isChanged.current = true;
    unsaved.value = LOST;
  };
  const close = async (event: Event) => {
    event.preventDefault();
    if (isChanged.current && !(await leaving.ask(LOST))) return;
    // The browser reports the end of the window later, and the user may leave the page before.
    forget();
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={closed} onCancel={close} onInput={note}>
      <div class="card-head">
        <h2 id={id}>{props.title}</h2>
        <Button class="plain" label="Close" onClick={close}>
          <Icon name="cross" />
        </Button>
      </div>
      {props.children}
    </dialog>
  );
}
