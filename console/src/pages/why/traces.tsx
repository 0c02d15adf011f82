// The running traces, and the form that begins one.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { call, path } from "../../api";
import type { List } from "../../list";
import type { NotificationTrace } from "../../reference";
import { Time } from "../../time";
import { useKeptFocus } from "../../ui/focus";
import { Action, Button, Field, Form } from "../../ui/kit";
import { ListCard } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { type Question, type Subject, subjectInWords } from "../../values/traces";
import { beginTrace, DEFAULT_SECONDS, deviceOf } from "./begin";

interface Props {
  of: List<NotificationTrace>;
  every: number;
  /** What is typed in the form for a diagnosis. */
  about: Question;
  /** The id of the trace whose records are shown. */
  chosen?: string;
  choose: (trace: NotificationTrace) => void;
  began: (trace: NotificationTrace) => void;
}

export function Traces({ of: traces, every, about, chosen, choose, began }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useKeptFocus(place);
  const columns: SmallColumn<NotificationTrace>[] = [
    ...COLUMNS,
    [
      "Actions",
      (one) => (
        <span class="row-actions" data-key={one.id}>
          <Button
            class="small"
            label={`Show the records of ${subjectInWords(one)}`}
            aria-pressed={one.id === chosen}
            onClick={() => choose(one)}>
            Records
          </Button>
          <Action
            class="small"
            label={`End the trace of ${subjectInWords(one)}`}
            run={() => call("DELETE", path`/notification/traces/${one.id}`).then(traces.reload)}>
            End
          </Action>
        </span>
      ),
      "actions",
    ],
  ];
  return (
    <div ref={place} tabIndex={-1}>
      <ListCard
        title="Running traces"
        of={traces}
        noun="trace"
        every={every}
        empty={<p>No trace is running. Servers record what happens to notifications while one does.</p>}
        below={<Begin about={about} began={began} />}>
        {(list) => <SmallTable label="Traces" columns={columns} rows={list} />}
      </ListCard>
    </div>
  );
}

const COLUMNS: SmallColumn<NotificationTrace>[] = [
  ["Subject", (one) => <b title={one.session}>{subjectInWords(one)}</b>],
  ["Begun by", (one) => one.owner],
  ["Ends", (one) => <Time at={one.endTime} />],
];

const DURATIONS: [seconds: number, text: string][] = [
  [60, "1 minute"],
  [DEFAULT_SECONDS, "10 minutes"],
  [1800, "30 minutes"],
  [3600, "1 hour"],
];

interface Offer {
  kind: string;
  text: string;
  find: () => Promise<Subject>;
}

/** Returns the subjects of a new trace that the typed question names, and the whole tenant. */
function offersOf({ id, kind, name }: Question): Offer[] {
  const [of, receiver] = [id.trim(), name.trim()];
  const offers: Offer[] = [];
  if (of)
    offers.push({ kind: "device", text: `the device of ${of}`, find: async () => ({ device: await deviceOf(of) }) });
  if (receiver && kind !== "consumer") {
    const subject: Subject = { [kind]: receiver };
    offers.push({ kind, text: subjectInWords(subject), find: () => Promise.resolve(subject) });
  }
  return [...offers, { kind: "tenant", text: subjectInWords({}), find: () => Promise.resolve({}) }];
}

/** The form that begins a trace of what the question names. */
function Begin({ about, began }: Pick<Props, "about" | "began">) {
  const kind = useSignal("");
  const offers = offersOf(about);
  const chosen = offers.find((one) => one.kind === kind.value) ?? offers[0];
  const send = async (form: FormData) => began(await beginTrace(await chosen.find(), Number(form.get("seconds"))));
  return (
    <Form send={send} action="Begin a trace">
      <div class="inline">
        <Field label="Trace of" hint="The fields above offer their device and their receiver.">
          <select value={chosen.kind} onChange={(event) => (kind.value = event.currentTarget.value)}>
            {offers.map(({ kind, text }) => (
              <option key={kind} value={kind}>
                {text}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Duration">
          <select name="seconds">
            {DURATIONS.map(([seconds, text]) => (
              <option key={seconds} value={seconds} selected={seconds === DEFAULT_SECONDS}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      </div>
    </Form>
  );
}
