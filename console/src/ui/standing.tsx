// Lists and figures say whether changes arrive by themselves, when they were loaded, and how much of them is there.

import type { List } from "../list";
import { connection } from "../live";
import type { Loaded } from "../load";
import { now } from "../time";
import { timeOfDay } from "../values/times";

/** The standing of data: live, loaded at a time, or read regularly. */
export function Standing({ of, every }: { of: Loaded<unknown>; every?: number }) {
  const at = of.at.value;
  if (!at) return null;
  const time = timeOfDay(at);
  if (of.isLive())
    return (
      <span class="standing live" title={`Changes appear as they happen. Loaded ${time}.`}>
        live
      </span>
    );
  if (every !== undefined) {
    const isLate = now.value - at.getTime() > 3000 * every + 5000;
    if (!isLate && !of.error.value)
      return (
        <span class="standing read" title={`Loaded ${time}.`}>
          read every {every} s
        </span>
      );
  }
  const some = of.accepted.value;
  return (
    <span class="standing">
      loaded {time}, {some > 0 ? `live for ${some} ${some === 1 ? "device" : "devices"} only` : "not live"}
      <button type="button" class="plain" disabled={of.loading.value} onClick={of.reload}>
        Load again
      </button>
    </span>
  );
}

/** The standing of what only notifications show: it is live, or nothing arrives at present. */
export function ArrivalStanding() {
  if (connection.value.state === "live")
    return (
      <span class="standing live" title="Notifications appear as they arrive.">
        live
      </span>
    );
  return <span class="standing">nothing arrives now</span>;
}

/** The number of rows, of how many, and the standing of a list. `noun` is one row; its plural has an s. */
export function ListStanding<T>({ of, noun, every }: { of: List<T>; noun: string; every?: number }) {
  const { next, isBusy, problem, total } = of.rest.value;
  const number = of.data.value?.length;
  if (number === undefined) return <>–</>;
  const [shown, many] = [number.toLocaleString(), (size: number) => (size === 1 ? noun : `${noun}s`)];
  const isPartial = !!next;
  const amount = !isPartial
    ? `${shown} ${many(number)}`
    : total !== null && total > number
      ? `${shown} of ${total.toLocaleString()} ${many(total)}`
      : `${shown} or more ${many(2)}`;
  return (
    <>
      <span aria-live="polite" class={isPartial ? "partial" : ""}>
        {amount}
      </span>{" "}
      <Standing of={of} every={every} />{" "}
      {problem && (
        <span class="problem" role="alert">
          The next rows could not be loaded: {problem}
        </span>
      )}
      {isPartial && (problem || number === 0) && (
        <button type="button" class="plain" disabled={isBusy} onClick={of.retry}>
          {problem ? "Try again" : "Look further"}
        </button>
      )}
    </>
  );
}

/** The end of a table whose next rows are loaded by a button. */
export function MoreRows<T>({ of, noun }: { of: List<T>; noun: string }) {
  const { next, isBusy, total } = of.rest.value;
  if (!next) return null;
  const number = of.data.value?.length ?? 0;
  return (
    <p class="between">
      <span class="partial">
        {number.toLocaleString()} of {total !== null && total > number ? total.toLocaleString() : "more"} {noun}s
      </span>
      <button type="button" disabled={isBusy} onClick={of.retry}>
        Show more {noun}s
      </button>
    </p>
  );
}
