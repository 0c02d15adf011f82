// The audit log, newest entry first.

import { useSignal } from "@preact/signals";
import { useList } from "../list";
import { chooseParams, route } from "../router";
import { Time } from "../time";
import type { AuditRecord } from "../types";
import { Exports } from "../ui/export";
import { Page, States } from "../ui/kit";
import { ListStanding } from "../ui/standing";
import { type Column, VirtualTable } from "../ui/table";
import { changesOf } from "../values/words";

export function Audit() {
  const user = route.value.params.get("user") ?? "";
  const type = route.value.params.get("type") ?? "";
  const typed = useSignal({ user, type });
  const records = useList<AuditRecord>({
    path: "/audit/auditRecords",
    member: "auditRecords",
    params: { user, type, revert: true },
  });
  const field = (name: "user" | "type", label: string) => (
    <label class="search small">
      <span class="hidden">{label}</span>
      <input
        placeholder={label}
        value={typed.value[name]}
        spellcheck={false}
        onInput={(event) => (typed.value = { ...typed.value, [name]: event.currentTarget.value })}
        onChange={() => chooseParams({ [name]: typed.value[name].trim() })}
      />
    </label>
  );
  return (
    <Page
      title="Audit"
      sub={<ListStanding of={records} noun="record" />}
      actions={<Exports name="audit records" all={records.all} columns={EXPORTED} />}>
      <div class="filters">
        {field("user", "User")}
        {field("type", "Type")}
      </div>
      <div class="fill">
        <States
          of={records}
          isEmpty={(list) => list.length === 0}
          empty={
            <p>
              {user || type
                ? "No record matches."
                : "Nothing was recorded yet. Changes of alarms, operations, users and modules are."}
            </p>
          }>
          {(list) => (
            <VirtualTable
              label="Audit records"
              columns={COLUMNS}
              items={list}
              keyOf={(one) => one.id}
              onEnd={records.more}
              total={records.rest.value.total}
              filters={`${user} ${type}`}
            />
          )}
        </States>
      </div>
    </Page>
  );
}

const EXPORTED: Record<string, (one: AuditRecord) => unknown> = {
  id: (one) => one.id,
  time: (one) => one.time,
  user: (one) => one.user,
  type: (one) => one.type,
  activity: (one) => one.activity,
  text: (one) => one.text,
  changes: changesOf,
  source: (one) => one.source.id,
};

const COLUMNS: Column<AuditRecord>[] = [
  { title: "Time", width: "7rem", cell: (one) => <Time at={one.time} /> },
  { title: "User", width: "minmax(0, 1fr)", cell: (one) => <b class="clip">{one.user}</b> },
  {
    title: "Activity",
    width: "minmax(0, 1.2fr)",
    cell: (one) => <span class="clip">{one.activity}</span>,
    narrow: {
      width: "minmax(0, 2fr)",
      cell: (one) => (
        <>
          <span class="clip">{one.activity}</span>
          <span class="clip faint">{changesOf(one) || one.text}</span>
        </>
      ),
    },
  },
  {
    title: "What",
    width: "minmax(0, 3fr)",
    wide: true,
    cell: (one) => (
      <span class="clip" title={`${one.text}\n${changesOf(one)}`}>
        {one.text} <span class="faint">{changesOf(one)}</span>
      </span>
    ),
  },
  { title: "Source", width: "6rem", wide: true, cell: (one) => <code class="clip">{one.source.id}</code> },
];
