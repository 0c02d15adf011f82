// How findings and records are shown.

import { shortened, toneOf } from "../../values/traces";

/** The classes of marks, by their tone. */
const LOOKS = { good: "status-done", bad: "status-failed", neutral: "" };

/** The cause of a finding or the type of a record, in the colour of what it means for the notification. */
export function ToneMark({ of: cause }: { of: string }) {
  return <span class={`mark ${LOOKS[toneOf(cause)]}`}>{cause.toLowerCase().replaceAll("_", " ")}</span>;
}

export function SessionMark({ of: session }: { of?: string }) {
  if (!session) return null;
  return (
    <span class="faint" title={session}>
      session <code>{shortened(session)}</code>
    </span>
  );
}

/** The servers that did not respond. */
export function Missing({ servers, what }: { servers: string[]; what: string }) {
  if (servers.length === 0) return null;
  return (
    <p class="notice warn">
      These servers did not respond, and {what}: {servers.join(", ")}.
    </p>
  );
}
