// The form that names a change and its receiver.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { route } from "../../router";
import { DeviceField } from "../../ui/device_field";
import { Button, Card, Field, Form, FormDialog } from "../../ui/kit";
import { fieldTime, type Question, questionOf, type Receiver, RECEIVERS } from "../../values/traces";

interface Props {
  /** What is typed, which the buttons that begin a trace use too. */
  draft: Signal<Question>;
  explain: (question: Question) => void;
}

export function QuestionForm({ draft, explain }: Props) {
  const finding = useSignal(false);
  const { params } = route.value;
  useEffect(() => {
    draft.value = questionOf(params);
  }, [params]);
  const change = (part: Partial<Question>) => (draft.value = { ...draft.value, ...part });
  const send = async () => {
    const { id, name, ...rest } = draft.value;
    explain({ ...rest, id: id.trim(), name: name.trim() });
  };
  return (
    <Card title="What should have arrived">
      <Form send={send} action="Explain">
        <div class="inline">
          <Field label="Id of what changed" hint="A device, an alarm, an event or an operation">
            <input
              required
              inputMode="numeric"
              autocomplete="off"
              value={draft.value.id}
              onInput={(event) => change({ id: event.currentTarget.value })}
            />
          </Field>
          <Button onClick={() => (finding.value = true)}>Find a device</Button>
        </div>
        <ReceiverFields of={draft.value} change={change} />
        <Field label="Since" hint="In your time zone. It is the last ten minutes if it is empty.">
          <input
            type="datetime-local"
            step="1"
            value={fieldTime(draft.value.since)}
            onChange={({ currentTarget: { value } }) => change({ since: value && new Date(value).toISOString() })}
          />
        </Field>
      </Form>
      {finding.value && (
        <FormDialog
          title="Find a device"
          action="Choose"
          send={async (form) => change({ id: String(form.get("id")) })}
          onClose={() => (finding.value = false)}>
          <DeviceField name="id" />
        </FormDialog>
      )}
    </Card>
  );
}

function ReceiverFields({ of: { kind, name }, change }: { of: Question; change: (part: Partial<Question>) => void }) {
  const label = RECEIVERS.find(([one]) => one === kind)?.[2] ?? "";
  return (
    <div class="inline">
      <Field label="Receiver">
        <select value={kind} onChange={(event) => change({ kind: event.currentTarget.value as Receiver, name: "" })}>
          {RECEIVERS.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      <Field label={label}>
        <input
          required
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={name}
          onInput={(event) => change({ name: event.currentTarget.value })}
        />
      </Field>
    </div>
  );
}
