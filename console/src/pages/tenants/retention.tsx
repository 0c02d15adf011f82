// The rules that delete old data, with a preview of the data that a rule would delete now.

import { useSignal } from "@preact/signals";
import { call, get, path } from "../../api";
import { useList } from "../../list";
import { asError, useLoad } from "../../load";
import type { RetentionPreview, RetentionRule, RetentionRunCollection } from "../../reference";
import { can } from "../../session";
import { Time } from "../../time";
import { Action, Button, Field, FormDialog, type WindowProps } from "../../ui/kit";
import { ListCard, States } from "../../ui/loaded";
import { Standing } from "../../ui/standing";
import { countsInWords, DATA_KINDS, ruleInWords } from "../../values/words";

export function Retention() {
  const rules = useList<RetentionRule>({ path: "/retention/retentions", member: "retentionRules", pageSize: 2000 });
  const creating = useSignal(false);
  const mayChange = can("ROLE_RETENTION_RULE_ADMIN");
  return (
    <ListCard
      title="Old data"
      of={rules}
      noun="rule"
      actions={mayChange && <Button onClick={() => (creating.value = true)}>New rule</Button>}
      empty={<p>Everything is kept for ever. A rule deletes what is older than some days, once a day.</p>}
      below={
        <>
          <LastRuns />
          {creating.value && <NewRule onClose={() => (creating.value = false)} onChanged={rules.reload} />}
        </>
      }>
      {(list) => (
        <ul class="rows">
          {list.map((rule) => (
            <OneRule key={rule.id} of={rule} mayChange={mayChange} onChanged={rules.reload} />
          ))}
        </ul>
      )}
    </ListCard>
  );
}

function LastRuns() {
  const runs = useLoad(() => get<RetentionRunCollection>("/retention/runs?pageSize=3"), []);
  return (
    <>
      <p>
        The last runs <Standing of={runs} />
      </p>
      <States
        of={runs}
        isEmpty={({ retentionRuns }) => retentionRuns.length === 0}
        empty={<p class="faint">No rule has run yet.</p>}>
        {({ retentionRuns }) =>
          retentionRuns.map((run) => (
            <p key={run.dueTime} class="faint">
              The run of <Time at={run.dueTime} /> {run.status === "RUNNING" ? "is deleting; so far" : "deleted"}{" "}
              {countsInWords(run.deleted)}.
            </p>
          ))
        }
      </States>
    </>
  );
}

function OneRule({ of: rule, mayChange, onChanged }: { of: RetentionRule; mayChange: boolean; onChanged: () => void }) {
  const preview = useSignal("");
  const show = async () => {
    const found = await get<RetentionPreview>(path`/retention/retentions/${rule.id}/preview`);
    preview.value = `Now it would delete ${countsInWords(found.matching)}.`;
  };
  return (
    <li>
      <span class="grow">
        {ruleInWords(rule)} <span class="faint">older than</span> {rule.maximumAge} days{" "}
        {preview.value && (
          <span class="faint" role="status">
            {preview.value}
          </span>
        )}
      </span>
      <span class="row-actions">
        <Action class="small" label={`Preview the rule for ${ruleInWords(rule)}`} run={show}>
          Preview
        </Action>
        {mayChange && (
          <Action
            class="small"
            label={`Delete the rule for ${ruleInWords(rule)}`}
            confirm={{
              title: `Delete the rule for ${ruleInWords(rule)}?`,
              text: "Data that it would have deleted stays.",
              button: "Delete rule",
            }}
            run={() => call("DELETE", path`/retention/retentions/${rule.id}`).then(onChanged)}>
            Delete
          </Action>
        )}
      </span>
    </li>
  );
}

function NewRule({ onClose, onChanged }: WindowProps) {
  const preview = useSignal("");
  const bodyOf = (form: FormData) => ({
    dataType: form.get("dataType"),
    type: String(form.get("type")).trim() || "*",
    source: String(form.get("source")).trim() || "*",
    maximumAge: Number(form.get("maximumAge")),
  });
  const show = async (event: Event) => {
    const form = (event.currentTarget as HTMLElement).closest("form")!;
    if (!form.reportValidity()) return;
    try {
      const found = await call<RetentionPreview>("POST", "/retention/preview", { body: bodyOf(new FormData(form)) });
      preview.value = `Now it would delete ${countsInWords(found.matching)}.`;
    } catch (error) {
      preview.value = asError(error).message;
    }
  };
  const send = async (form: FormData) => {
    await call("POST", "/retention/retentions", { body: bodyOf(form) });
  };
  return (
    <FormDialog
      title="A rule for old data"
      onClose={onClose}
      onChanged={onChanged}
      send={send}
      action="Create"
      beside={<Button onClick={show}>What would it delete?</Button>}>
      <Field label="Data">
        <select name="dataType">
          {DATA_KINDS.map(([kind, text]) => (
            <option key={kind} value={kind}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Older than, in days" hint="Counted from the arrival at the server.">
        <input name="maximumAge" type="number" min="1" max="36525" value="365" required />
      </Field>
      <Field label="Only of this type" hint="Empty means any.">
        <input name="type" spellcheck={false} autocapitalize="none" />
      </Field>
      <Field label="Only of this device" hint="Its id. Empty means any.">
        <input name="source" inputMode="numeric" />
      </Field>
      {preview.value && (
        <p class="notice" role="status">
          {preview.value}
        </p>
      )}
    </FormDialog>
  );
}
