// Lists and figures say whether changes arrive by themselves, when they were loaded, and how much of them is there.

import type { List } from "../list";
import { connection } from "../live";
import type { Loaded } from "../load";
import { now } from "../time";
import { amountInWords, amountOf, standingOf } from "../values/standing";
import { timeOfDay } from "../values/times";
import { Button } from "./kit";

/** The standing of data: live, loaded at a time, or read regularly. */
export function Standing({ of, every }: { of: Loaded<unknown>; every?: number }) {
  const at = of.at.value;
  if (!at) return null;
  const time = timeOfDay(at);
  if (of.isLive()) return <Mark kind="live" title={`Changes appear as they happen. Loaded ${time}.`} />;
  const age = now.value - at.getTime();
  if (standingOf({ age, every, hasFailed: !!of.error.value }) === "read") {
    return <Mark kind="read" text={`read every ${every} s`} title={`Loaded ${time}.`} />;
  }
  const some = of.accepted();
  return (
    <span class="standing">
      loaded {time}, {some > 0 ? `live for ${amountOf(some, "device")} only` : "not live"}
      <Button class="plain" disabled={of.loading.value} onClick={of.reload}>
        Load again
      </Button>
    </span>
  );
}

function Mark({ kind, title, text = kind }: { kind: string; title: string; text?: string }) {
  return (
    <span class={`standing ${kind}`} title={title}>
      {text}
    </span>
  );
}

/** The standing of what only notifications show: it is live, or nothing arrives at present. */
export function ArrivalStanding() {
  if (connection.value.state === "live") return <Mark kind="live" title="Notifications appear as they arrive." />;
  return <span class="standing">nothing arrives now</span>;
}

/** The number of rows, of how many, and the standing of a list. `noun` is one row; its plural has an s. */
export function ListStanding<T>({ of, noun, every }: { of: List<T>; noun: string; every?: number }) {
  const { next, isBusy, problem, total } = of.rest.value;
  const number = of.data.value?.length;
  if (number === undefined) return <>–</>;
  const isPartial = !!next;
  return (
    <>
      <span aria-live="polite" class={isPartial ? "partial" : ""}>
        {amountInWords(number, noun, { isPartial, total })}
      </span>{" "}
      <Standing of={of} every={every} />{" "}
      {problem && (
        <span class="problem" role="alert">
          The next rows could not be loaded: {problem}
        </span>
      )}
      {isPartial && (problem || number === 0) && (
        <Button class="plain" disabled={isBusy} onClick={of.retry}>
          {problem ? "Try again" : "Look further"}
        </Button>
      )}
    </>
  );
}

/** The end of a table whose next rows are loaded by a button. */
export function MoreRows<T>({ of, noun }: { of: List<T>; noun: string }) {
  const { next, isBusy, total } = of.rest.value;
  if (!next) return null;
  return (
    <p class="between">
      <span class="partial">{amountInWords(of.data.value?.length ?? 0, noun, { isPartial: true, total })}</span>
      <Button disabled={isBusy} onClick={of.retry}>
        Show more {noun}s
      </Button>
    </p>
  );
}
