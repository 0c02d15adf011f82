// The sessions of clients that receive notifications: their users, their connections, their queues.

import { call, path } from "../../api";
import { readPages } from "../../collection";
import { useEvery, useLoad } from "../../load";
import type { ClientSession, ClientSessionCollection } from "../../reference";
import { can } from "../../session";
import { mayDiagnose, QuietLink } from "../../parts/quiet";
import { Time } from "../../time";
import { Action } from "../../ui/kit";
import { LoadedCard } from "../../ui/loaded";
import { type Column, VirtualTable } from "../../ui/table";
import { withQuery } from "../../values/addresses";

const ASK_EVERY_SECONDS = 5;
const PAGE_SIZE = 2000;
const MOST = 10_000;
/** Reads the sessions to the end, or as many as the page shows. */
async function read() {
  const address = withQuery("/tenant/sessions", { pageSize: PAGE_SIZE });
  const part = await readPages<ClientSession>(address, "sessions", { most: MOST });
  const { missingServers } = part.response as ClientSessionCollection;
  return { sessions: part.items, missingServers, next: part.next };
}

const WAYS: Record<string, string> = { LONG_POLLING: "long polling", CSV: "CSV", WEBSOCKET: "WebSocket" };

export function Sessions() {
  const sessions = useLoad(read, []);
  useEvery(ASK_EVERY_SECONDS, sessions.reload);
  const found = sessions.data.value;
  const columns: Column<ClientSession>[] = [
    { title: "User", width: "minmax(0, 1.6fr)", cell: (one) => <UserOf session={one} /> },
    { title: "Transport", width: "7rem", cell: (one) => WAYS[one.transport] ?? one.transport },
    {
      title: "Subscriptions",
      width: "minmax(0, 1.6fr)",
      wide: true,
      cell: (one) => (
        <span class="clip faint" title={one.subscriptions.join("\n")}>
          {one.subscriptions.join(", ") || "none"}
        </span>
      ),
    },
    { title: "Waiting", width: "4.5rem", wide: true, cell: (one) => one.queuedNotificationCount.toLocaleString() },
    {
      title: "Last delivery",
      width: "7rem",
      wide: true,
      cell: (one) => (
        <span class="faint">
          <Time at={one.lastDeliveryTime} as="ago" />
        </span>
      ),
    },
    {
      title: "From",
      width: "minmax(0, 1fr)",
      wide: true,
      cell: (one) => (
        <span class="clip faint" title={`since ${one.creationTime}, at ${one.server}`}>
          {one.address}
        </span>
      ),
    },
    ...(can("ROLE_USER_MANAGEMENT_ADMIN")
      ? [
          {
            title: "Actions",
            width: "6rem",
            cell: (one: ClientSession) => (
              <Action
                class="small"
                label={`End the session of ${one.user}`}
                confirm={{
                  title: `End the session of ${one.user}?`,
                  text: "Notifications that wait in it are lost. The client can connect again.",
                  button: "End session",
                }}
                run={() => call("DELETE", path`/tenant/sessions/${one.id}`).then(sessions.reload)}>
                End
              </Action>
            ),
          },
        ]
      : []),
  ];
  return (
    <LoadedCard
      title="Sessions of this tenant"
      about={
        found && (
          <span class={found.next ? "partial" : ""}>
            {found.sessions.length.toLocaleString()}
            {found.next ? " or more" : ""}
          </span>
        )
      }
      of={sessions}
      every={ASK_EVERY_SECONDS}
      isEmpty={({ sessions, missingServers }) => sessions.length + missingServers.length === 0}
      empty={<p>No client is connected.</p>}>
      {({ sessions, missingServers }) => (
        <>
          {missingServers.length > 0 && (
            <p class="notice warn">
              These servers did not respond, and their sessions are missing: {missingServers.join(", ")}.
            </p>
          )}
          <div class="bounded">
            <VirtualTable label="Sessions" columns={columns} items={sessions} keyOf={(one) => one.id} />
          </div>
        </>
      )}
    </LoadedCard>
  );
}

/** The name of the user, which opens the diagnosis of its session. */
function UserOf({ session: { id, user } }: { session: ClientSession }) {
  const name = <b class="clip">{user}</b>;
  if (!mayDiagnose()) return name;
  return (
    <QuietLink of={{ session: id }} class="clip" label={`${user}: why is this session quiet?`}>
      {name}
    </QuietLink>
  );
}
