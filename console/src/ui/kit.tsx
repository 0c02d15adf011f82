// The small components that all pages use.

import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { asError } from "../load";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { ask, type Question } from "./question";

export { Button } from "./button";
export { Dialog } from "./dialog";
export { Icon, type IconName } from "./icon";

/** A page. Its heading gets the focus when the page opens, so that screen readers start there. */
export function Page(props: {
  title: string;
  sub?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${props.title} · platform`;
  }, [props.title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <header class="page-head">
        <div class="page-title">
          <h1 tabIndex={-1} ref={heading}>
            {props.title}
          </h1>
          {props.sub && <p class="sub">{props.sub}</p>}
        </div>
        {props.actions && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </>
  );
}

export function Card(props: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={props.title ? id : undefined}>
      {props.title && (
        <div class="card-head">
          <h2 id={id}>{props.title}</h2>
          {props.aside}
        </div>
      )}
      {props.children}
    </section>
  );
}

export function SeverityMark({ of }: { of: string }) {
  return <span class={`mark severity-${of.toLowerCase()}`}>{of.toLowerCase()}</span>;
}

export function StatusMark({ of }: { of: string }) {
  return <span class={`mark status-${of.toLowerCase()}`}>{of.toLowerCase().replaceAll("_", " ")}</span>;
}

interface Toast {
  text: string;
  bad: boolean;
  id: number;
  undo?: () => Promise<unknown>;
}
export const toasts = signal<Toast[]>([]);
let lastToast = 0;

/** The time for which a message is shown, and that for which an action can be undone. */
const SHOWN_MS = 5_000;
const UNDONE_MS = 10_000;

/**
 * Shows a message about a completed or failed action. Failures stay until they are dismissed. `undo` is offered for ten
 * seconds.
 */
export function tell(text: string, bad = false, undo?: () => Promise<unknown>): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value.slice(-3), { text, bad, id, undo }];
  if (!bad) setTimeout(() => dismiss(id), undo ? UNDONE_MS : SHOWN_MS);
}
const dismiss = (id: number) => (toasts.value = toasts.value.filter((toast) => toast.id !== id));

/** Undoes an action, once. */
const undo = (toast: Toast) => {
  dismiss(toast.id);
  toast.undo?.().then(
    () => tell("Undone."),
    (error) => tell(`It could not be undone: ${asError(error).message}`, true),
  );
};

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={toast.bad ? "toast bad" : "toast"}>
          <span>{toast.text}</span>
          {toast.undo && (
            <Button class="plain" onClick={() => undo(toast)}>
              Undo
            </Button>
          )}
          <Button class="plain" label="Dismiss" onClick={() => dismiss(toast.id)}>
            <Icon name="cross" />
          </Button>
        </div>
      ))}
    </div>
  );
}

/** A button that is busy until its action ends, and shows the error if it fails. */
export function Action(props: {
  run: () => Promise<unknown>;
  done?: string;
  /** The question to confirm before the action runs. */
  confirm?: Question | (() => Promise<Question>);
  class?: string;
  disabled?: boolean;
  label?: string;
  children: ComponentChildren;
}) {
  const busy = useSignal(false);
  const run = async () => {
    if (busy.value) return;
    try {
      const question = typeof props.confirm === "function" ? await props.confirm() : props.confirm;
      if (question && !(await ask(question))) return;
      busy.value = true;
      await props.run();
      if (props.done) tell(props.done);
    } catch (error) {
      tell(asError(error).message, true);
    } finally {
      busy.value = false;
    }
  };
  return (
    // A disabled button would lose the focus.
    <button
      type="button"
      class={props.class}
      disabled={props.disabled}
      aria-disabled={busy.value}
      aria-label={props.label}
      onClick={run}>
      {props.children}
    </button>
  );
}

export function Field(props: { label: string; hint?: ComponentChildren; children: ComponentChildren }) {
  return (
    <label class="field">
      <span class="label">{props.label}</span>
      {props.children}
      {props.hint && <span class="hint">{props.hint}</span>}
    </label>
  );
}

/** A choice of one of a few options, as buttons that stay pressed. */
export function Choice(props: {
  label: string;
  options: [value: string, text: string][];
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={props.value === value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}

interface FormProps {
  send: (data: FormData, form: HTMLFormElement) => Promise<unknown>;
  action: string;
  disabled?: boolean;
  /** The content beside the button. */
  beside?: ComponentChildren;
  children: ComponentChildren;
}

/** A form with a button that sends it. An error of the server or of `send` is shown above the button. */
export function Form(props: FormProps) {
  const problem = useSignal("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    try {
      await props.send(new FormData(form), form);
      problem.value = "";
    } catch (failed) {
      problem.value = asError(failed).message;
    }
  };
  const button = (
    <button type="submit" class="primary" disabled={props.disabled}>
      {props.action}
    </button>
  );
  return (
    <form class="stacked" data-kept onSubmit={submit}>
      {props.children}
      {problem.value && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      {props.beside ? (
        <div class="between">
          {button}
          {props.beside}
        </div>
      ) : (
        button
      )}
    </form>
  );
}

/** What is known of one thing: names with values. Facts that are `false` are left out. */
export function FactList({ of: facts }: { of: (false | [name: string, value: ComponentChildren])[] }) {
  const known = facts.filter((fact) => fact !== false);
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** What a window does when it closes, and when it has changed something. */
export interface WindowProps {
  onClose: () => void;
  onChanged: () => void;
}

/** A window with a form. It closes when the form was sent. */
export function FormDialog(props: FormProps & { title: string; onClose: () => void; onChanged?: () => void }) {
  const { title, onClose, onChanged, send, ...form } = props;
  const sendAndClose: FormProps["send"] = async (data, element) => {
    await send(data, element);
    onChanged?.();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form send={sendAndClose} {...form} />
    </Dialog>
  );
}
