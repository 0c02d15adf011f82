// The records of a trace as they arrive.

import { useSignal } from "@preact/signals";
import { get, path, withQuery } from "../../api";
import { useEvery, useLoad } from "../../load";
import type { NotificationTrace, NotificationTraceRecord, NotificationTraceRecords } from "../../reference";
import { Time } from "../../time";
import { Card } from "../../ui/kit";
import { States } from "../../ui/loaded";
import { Standing } from "../../ui/standing";
import { amountOf } from "../../values/standing";
import { type Followed, follow, KEPT, NOTHING, subjectInWords } from "../../values/traces";
import { Missing, SessionMark, ToneMark } from "./shown";

const ASK_SECONDS = 1;
/** The most responses that are read at once where the page is behind. */
const MOST_AT_ONCE = 20;
const GONE = 404;

export function Records({ of: trace }: { of: NotificationTrace }) {
  const followed = useSignal(NOTHING);
  const read = async (abort: AbortSignal) => {
    const missing = new Set<string>();
    for (let requests = 0; requests < MOST_AT_ONCE; requests += 1) {
      const address = withQuery(path`/notification/traces/${trace.id}/records`, { dateFrom: followed.peek().since });
      const { records, missingServers } = await get<NotificationTraceRecords>(address, { signal: abort });
      followed.value = follow(followed.peek(), records);
      missingServers.forEach((server) => missing.add(server));
      if (!followed.peek().isBehind) break;
    }
    return [...missing];
  };
  const records = useLoad(read, []);
  const hasEnded = records.error.value?.status === GONE;
  useEvery(ASK_SECONDS, () => hasEnded || records.loading.peek() || records.reload());
  return (
    <Card
      title={`Records of ${subjectInWords(trace)}`}
      aside={
        <>
          <Amount of={followed.value} />
          {hasEnded ? <span class="standing">ended</span> : <Standing of={records} every={ASK_SECONDS} />}
        </>
      }>
      <div role="status">{hasEnded && <p class="notice warn">This trace has ended. Nothing more is recorded.</p>}</div>
      {hasEnded ? (
        <Rows of={followed.value} />
      ) : (
        <States of={records}>
          {(missing) => (
            <>
              <Missing servers={missing} what="their records are missing" />
              <Rows of={followed.value} />
            </>
          )}
        </States>
      )}
    </Card>
  );
}

/** How many records there are, and that older ones are dropped. */
function Amount({ of: { rows, total } }: { of: Followed }) {
  if (total === rows.length) return <span class="faint">{amountOf(total, "record")}</span>;
  return (
    <span class="partial">
      the last {KEPT} of {total.toLocaleString()}, older ones are dropped
    </span>
  );
}

function Rows({ of: { rows } }: { of: Followed }) {
  if (rows.length === 0) {
    return (
      <div class="state">
        <p>Nothing has been recorded. Records appear here within a second, the newest first.</p>
      </div>
    );
  }
  return (
    <ol class="told scroll" tabIndex={0} aria-label="Records, the newest first">
      {rows.map(({ number, record }) => (
        <Record key={number} of={record} />
      ))}
    </ol>
  );
}

function Record({ of: { time, server, type, text, user, session } }: { of: NotificationTraceRecord }) {
  return (
    <li>
      <span class="faint" title={`at ${server}`}>
        <Time at={time} />
      </span>
      <ToneMark of={type} />
      <span>
        {text} {user && <span class="faint">of {user}</span>} <SessionMark of={session} />
      </span>
    </li>
  );
}
