// What the server found about a change and its receiver.

import { useRef } from "preact/hooks";
import { get, withQuery } from "../../api";
import { useLoad } from "../../load";
import type { NotificationDiagnosis, NotificationFinding, NotificationTrace } from "../../reference";
import { Time } from "../../time";
import { Action } from "../../ui/kit";
import { LoadedCard } from "../../ui/loaded";
import { amountOf } from "../../values/standing";
import { type Question, subjectInWords } from "../../values/traces";
import { beginTrace, DEFAULT_SECONDS } from "./begin";
import { Missing, SessionMark, ToneMark } from "./shown";

interface Props {
  question: Question;
  /** The number of times for which "Explain" was pressed. */
  times: number;
  explain: (question: Question) => void;
  began: (trace: NotificationTrace) => void;
}

export function Findings({ question, times, explain, began }: Props) {
  const { id, kind, name, since } = question;
  const address = withQuery("/notification/diagnosis", { id, [kind]: name, dateFrom: since });
  const diagnosis = useLoad(() => get<NotificationDiagnosis>(address), [address, times]);
  const list = useRef<HTMLOListElement>(null);
  const number = diagnosis.data.value?.findings.length;
  return (
    <LoadedCard
      title="Findings"
      of={diagnosis}
      about={<span role="status">{number !== undefined && amountOf(number, "finding")}</span>}>
      {({ findings, missingServers }) => (
        <>
          <Missing servers={missingServers} what="their records and sessions are missing" />
          <ol class="told" aria-label="Findings" tabIndex={-1} ref={list}>
            {findings.map((finding, index) => (
              <Finding key={index} of={finding} />
            ))}
          </ol>
          {findings.some(({ cause }) => cause === "NOT_TRACED") && kind !== "consumer" && (
            <NotTraced question={question} explain={explain} began={began} focus={() => list.current?.focus()} />
          )}
        </>
      )}
    </LoadedCard>
  );
}

function Finding({ of: { time, cause, text, session } }: { of: NotificationFinding }) {
  return (
    <li>
      <span class="faint">{time ? <Time at={time} /> : "now"}</span>
      <ToneMark of={cause} />
      <span>
        {text} <SessionMark of={session} />
      </span>
    </li>
  );
}

/** Nothing is known about the past, but a trace of the receiver records what happens from now on. */
function NotTraced({ question, explain, began, focus }: Omit<Props, "times"> & { focus: () => void }) {
  const subject = { [question.kind]: question.name };
  const run = async () => {
    const trace = await beginTrace(subject, DEFAULT_SECONDS);
    began(trace);
    explain({ ...question, since: trace.creationTime });
    // The button goes away with its finding.
    focus();
  };
  return (
    <div class="notice">
      <span>
        A trace of {subjectInWords(subject)} records for ten minutes what happens from now on. Let the change happen
        again then, and explain it.
      </span>
      <Action run={run} done="The trace has begun. Let the change happen again.">
        Begin a trace and try again
      </Action>
    </div>
  );
}
