// The small components that all pages use.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import type { Loaded } from "../load";
import { asError } from "../load";

/** The outlines of icons on a grid of 24, drawn in the colour of the text. */
const ICONS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  devices: "M5 4h14v11H5zM9 20h6M12 15v5",
  alarms: "M12 4 3 19h18zM12 10v4M12 16.5v.5",
  operations: "M5 12h9M10 7l5 5-5 5M19 5v14",
  registration: "M12 5v14M5 12h14",
  live: "M3 12h4l3-7 4 14 3-7h4",
  modules: "M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14",
  users: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.5 2.5-6 6-6s6 2.5 6 6M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3 2.8 3 5.5",
  applications: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  tenants: "M4 20V8l8-4 8 4v12M9 20v-6h6v6",
  audit: "M6 4h9l4 4v12H6zM9 12h7M9 16h5",
  server: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  menu: "M4 7h16M4 12h16M4 17h16",
  check: "M5 12l5 5 9-10",
  cross: "M6 6l12 12M18 6L6 18",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20 20",
  file: "M6 4h8l4 4v12H6zM14 4v4h4",
} as const;
export type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

/** A page. Its heading gets the focus when the page opens, so that screen readers start there. */
export function Page(props: { title: string; sub?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${props.title} · platform`;
  }, [props.title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <header class="page-head">
        <div class="page-title">
          <h1 tabIndex={-1} ref={heading}>{props.title}</h1>
          {props.sub && <p class="sub">{props.sub}</p>}
        </div>
        {props.actions && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </>
  );
}

export function Card(props: { title?: ComponentChildren; aside?: ComponentChildren; class?: string; children: ComponentChildren }) {
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

/** What a list shows instead of rows: that it loads, why it failed, or that it is empty and what to do. */
export function States<T>(props: {
  of: Loaded<T>;
  isEmpty?: (data: T) => boolean;
  empty?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, loading, reload } = props.of;
  const shown = data.value;
  return (
    <>
      {error.value && (
        <div class="state error" role="alert">
          <p>{error.value.message}</p>
          <button type="button" onClick={reload}>Try again</button>
        </div>
      )}
      {shown === undefined && !error.value && (
        <div class="state" aria-busy="true">
          <span class="skeleton" /><span class="skeleton" /><span class="skeleton" />
          <span class="hidden">Loading</span>
        </div>
      )}
      {shown !== undefined &&
        (props.isEmpty?.(shown) && !loading.value ? <div class="state">{props.empty ?? <p>There is nothing yet.</p>}</div> : props.children(shown))}
    </>
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
}
export const toasts = signal<Toast[]>([]);
let lastToast = 0;

/** Shows a message about a completed or failed action. Failures stay until they are dismissed. */
export function tell(text: string, bad = false): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value.slice(-3), { text, bad, id }];
  if (!bad) setTimeout(() => dismiss(id), 5000);
}
const dismiss = (id: number) => (toasts.value = toasts.value.filter((toast) => toast.id !== id));

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={toast.bad ? "toast bad" : "toast"}>
          <span>{toast.text}</span>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(toast.id)}><Icon name="cross" /></button>
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
  confirm?: string;
  class?: string;
  disabled?: boolean;
  label?: string;
  children: ComponentChildren;
}) {
  const busy = useSignal(false);
  const asked = useSignal(false);
  const run = async () => {
    if (props.confirm && !asked.value) {
      asked.value = true;
      return;
    }
    [asked.value, busy.value] = [false, true];
    try {
      await props.run();
      if (props.done) tell(props.done);
    } catch (error) {
      tell(asError(error).message, true);
    } finally {
      busy.value = false;
    }
  };
  return (
    <button
      type="button"
      class={`${props.class ?? ""} ${asked.value ? "danger" : ""}`}
      disabled={busy.value || props.disabled}
      aria-label={asked.value ? undefined : props.label}
      onClick={run}
      onBlur={() => (asked.value = false)}
    >
      {asked.value ? props.confirm : props.children}
    </button>
  );
}

/** A window over the page. Escape and the button close it; the browser keeps the focus inside. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
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
export function Choice(props: { label: string; options: [value: string, text: string][]; value: string; onChange: (value: string) => void }) {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={props.value === value} onClick={() => props.onChange(value)}>{text}</button>
      ))}
    </div>
  );
}

/** A form with a button that sends it. An error of the server or of `send` is shown above the button. */
export function Form(props: {
  send: (data: FormData, form: HTMLFormElement) => Promise<unknown>;
  action: string;
  disabled?: boolean;
  /** The content beside the button. */
  beside?: ComponentChildren;
  children: ComponentChildren;
}) {
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
  const button = <button type="submit" class="primary" disabled={props.disabled}>{props.action}</button>;
  return (
    <form class="stacked" onSubmit={submit}>
      {props.children}
      {problem.value && <p class="problem" role="alert">{problem.value}</p>}
      {props.beside ? <div class="between">{button}{props.beside}</div> : button}
    </form>
  );
}
