// The question before an action that cannot be undone, in a window of its own.

import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { leaving } from "../router";
import { Dialog } from "./dialog";

export interface Question {
  /** The question with the name of what is affected, such as "Delete the device pump 7?". */
  title: string;
  /** What is lost, and how much of it. */
  text?: ComponentChildren;
  /** The text of the button that confirms. */
  button: string;
  /** A word that must be typed before the button works, for what affects much data. */
  typed?: string;
}

interface Asked extends Question {
  decide: (confirmed: boolean) => void;
}

const asked = signal<Asked | undefined>(undefined);
/** The time for which the button stays disabled, so that a double click that opens the window does not confirm. */
const UNINTENDED_MS = 600;

/** Shows a question and returns whether it was confirmed. A new question rejects an open one. */
export function ask(question: Question): Promise<boolean> {
  asked.value?.decide(false);
  return new Promise((resolve) => {
    const decide = (confirmed: boolean) => {
      if (asked.peek()?.decide === decide) asked.value = undefined;
      resolve(confirmed);
    };
    asked.value = { ...question, decide };
  });
}

leaving.ask = (what) => ask({ title: `Discard ${what}?`, text: "It was not saved.", button: "Discard" });

/** The place of the open question, above everything else. */
export function Questions() {
  return asked.value ? <Confirmation key={asked.value.title} of={asked.value} /> : null;
}

function Confirmation({ of: question }: { of: Asked }) {
  const ready = useSignal(false);
  const typed = useSignal("");
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!question.typed) cancel.current?.focus();
    const timer = setTimeout(() => (ready.value = true), UNINTENDED_MS);
    return () => {
      clearTimeout(timer);
      // The page may end with the question, such as at a log-out.
      question.decide(false);
    };
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (ready.value) question.decide(true);
  };
  return (
    <Dialog title={question.title} onClose={() => question.decide(false)}>
      <form class="stacked" onSubmit={submit}>
        {question.text && <p>{question.text}</p>}
        {question.typed && (
          <label class="field">
            <span class="label">
              Type <b>{question.typed}</b> to confirm
            </span>
            <input
              autofocus
              value={typed.value}
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              onInput={(event) => (typed.value = event.currentTarget.value)}
            />
          </label>
        )}
        <div class="between">
          <button type="button" ref={cancel} onClick={() => question.decide(false)}>
            Cancel
          </button>
          <button
            type="submit"
            class="danger"
            disabled={!ready.value || (question.typed !== undefined && typed.value.trim() !== question.typed)}>
            {question.button}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
