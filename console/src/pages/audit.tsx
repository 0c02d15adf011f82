// The audit log, newest entry first.

import { useList } from "../list";
import { route } from "../router";
import { Time } from "../time";
import type { AuditRecord } from "../types";
import { TextFilter } from "../ui/filters";
import { ListPage } from "../ui/loaded";
import type { Column } from "../ui/table";
import { changesOf } from "../values/words";

export function Audit() {
  const user = route.value.params.get("user") ?? "";
  const type = route.value.params.get("type") ?? "";
  const records = useList<AuditRecord>({
    path: "/audit/auditRecords",
    member: "auditRecords",
    params: { user, type, revert: true },
  });
  return (
    <ListPage
      title="Audit"
      of={records}
      noun="audit record"
      filter={`${user} ${type}`}
      filters={
        <>
          <TextFilter label="User" param="user" />
          <TextFilter label="Type" param="type" />
        </>
      }
      columns={COLUMNS}
      exported={EXPORTED}
      empty={
        <p>
          {user || type
            ? "No record matches."
            : "Nothing was recorded yet. Changes of alarms, operations, users and modules are."}
        </p>
      }
    />
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
