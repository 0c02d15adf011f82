// Why a notification did not arrive: the findings of the server, and the traces that it needs for them.

import { useSignal } from "@preact/signals";
import { useList } from "../../list";
import { useEvery } from "../../load";
import type { NotificationTrace } from "../../reference";
import { DIAGNOSES, mayDiagnose } from "../../parts/quiet";
import { chooseParams, route } from "../../router";
import { Page } from "../../ui/kit";
import { paramsOf, type Question, questionOf } from "../../values/traces";
import { Findings } from "./findings";
import { QuestionForm } from "./form";
import { Records } from "./records";
import { Traces } from "./traces";

const TITLE = "Why is it quiet?";
/** Traces cause no notifications, so the page reads them regularly while it is visible. */
const ASK_EVERY_SECONDS = 2;

export function WhyPage() {
  if (mayDiagnose()) return <Diagnosis />;
  return (
    <Page title={TITLE}>
      <div class="state error" role="alert">
        <p>Access is denied. This page needs {DIAGNOSES}.</p>
      </div>
    </Page>
  );
}

function Diagnosis() {
  const traces = useList<NotificationTrace>({ path: "/notification/traces", member: "traces" });
  useEvery(ASK_EVERY_SECONDS, () => traces.loading.peek() || traces.reload());
  const chosen = useSignal<NotificationTrace | null>(null);
  const question = questionOf(route.value.params);
  const draft = useSignal(question);
  const times = useSignal(0);
  const explain = (asked: Question) => {
    draft.value = asked;
    times.value += 1;
    // The same question again is no other place of the history.
    if (JSON.stringify(asked) !== JSON.stringify(question)) chooseParams(paramsOf(asked));
  };
  const began = (trace: NotificationTrace) => {
    chosen.value = trace;
    traces.reload();
  };
  return (
    <Page title={TITLE} sub="What became of a change on its way to its receiver, as the servers tell it.">
      <QuestionForm draft={draft} explain={explain} />
      {question.id && question.name && (
        <Findings question={question} times={times.value} explain={explain} began={began} />
      )}
      <Traces
        of={traces}
        every={ASK_EVERY_SECONDS}
        about={draft.value}
        chosen={chosen.value?.id}
        choose={(trace) => (chosen.value = trace)}
        began={began}
      />
      {chosen.value && <Records key={chosen.value.id} of={chosen.value} />}
    </Page>
  );
}
