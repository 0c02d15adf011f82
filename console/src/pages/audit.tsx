// The audit log, newest entry first.

import { useSignal } from "@preact/signals";
import { get, withQuery } from "../api";
import { useLoad } from "../load";
import { route, setParams } from "../router";
import { Time } from "../time";
import { Page, States } from "../ui/kit";
import { type Column, VirtualTable } from "../ui/table";

interface AuditRecord {
  id: string;
  time: string;
  type: string;
  activity: string;
  text: string;
  user?: string;
  severity: string;
  source: { id: string };
  changes?: { attribute?: string; previousValue?: unknown; newValue?: unknown }[];
}

export function Audit() {
  const user = route.value.params.get("user") ?? "";
  const type = route.value.params.get("type") ?? "";
  const typed = useSignal({ user, type });
  const records = useLoad(() => get<{ auditRecords: AuditRecord[] }>(withQuery("/audit/auditRecords", { user, type, revert: true, pageSize: 1000 })).then((page) => page.auditRecords), [user, type]);
  const field = (name: "user" | "type", label: string) => (
    <label class="search small">
      <span class="hidden">{label}</span>
      <input placeholder={label} value={typed.value[name]} spellcheck={false} onInput={(event) => (typed.value = { ...typed.value, [name]: event.currentTarget.value })} onChange={() => setParams({ [name]: typed.value[name].trim() })} />
    </label>
  );
  return (
    <Page title="Audit" actions={<button type="button" onClick={records.reload}>Load again</button>}>
      <div class="filters">{field("user", "User")}{field("type", "Type")}</div>
      <div class="fill">
        <States of={records} isEmpty={(list) => list.length === 0} empty={<p>{user || type ? "No record matches." : "Nothing was recorded yet. Changes of alarms, operations, users and modules are."}</p>}>
          {(list) => <VirtualTable label="Audit records" columns={COLUMNS} items={list} keyOf={(one) => one.id} />}
        </States>
      </div>
    </Page>
  );
}

const changed = (one: AuditRecord) => one.changes?.map((change) => `${change.attribute}: ${show(change.previousValue)} → ${show(change.newValue)}`).join(", ") ?? "";
const show = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? null));

const COLUMNS: Column<AuditRecord>[] = [
  { title: "Time", width: "7rem", cell: (one) => <Time at={one.time} /> },
  { title: "User", width: "minmax(0, 1fr)", cell: (one) => <b class="clip">{one.user}</b> },
  { title: "Activity", width: "minmax(0, 1.2fr)", cell: (one) => <span class="clip">{one.activity}</span> },
  { title: "What", width: "minmax(0, 3fr)", wide: true, cell: (one) => <span class="clip" title={`${one.text}\n${changed(one)}`}>{one.text} <span class="faint">{changed(one)}</span></span> },
  { title: "Source", width: "6rem", wide: true, cell: (one) => <code class="clip">{one.source?.id}</code> },
];
