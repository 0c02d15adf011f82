// Named consumers of notifications, which outlive every session: how far each of them is, and who reads with it.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, path } from "../../api";
import { useList } from "../../list";
import { useEvery } from "../../load";
import type { NotificationConsumer } from "../../reference";
import { can, session } from "../../session";
import { Action, Button, Page, tell } from "../../ui/kit";
import { ListCard } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { deletionInWords, type Readings, withRead } from "../../values/consumers";
import { Bounds, NewConsumer } from "./forms";
import { Move } from "./move";
import { COLUMNS, Lapse, rateColumn } from "./shown";

/** Backlogs cause no notifications, so the page reads them regularly while it is visible. */
const ASK_EVERY_SECONDS = 2;

export function Consumers() {
  const consumers = useList<NotificationConsumer>({
    path: "/notification/consumers",
    member: "consumers",
    keyOf: (one) => one.name,
  });
  useEvery(ASK_EVERY_SECONDS, consumers.reload);
  const readings = useSignal<Readings>(new Map());
  const at = consumers.at.value;
  useEffect(() => {
    if (at) readings.value = withRead(readings.peek(), consumers.data.peek() ?? [], at.getTime());
  }, [at]);
  const creating = useSignal(false);
  const opened = useSignal<{ window: "move" | "bounds"; name: string } | null>(null);
  const shown = consumers.data.value?.find((one) => one.name === opened.value?.name);
  const close = () => (opened.value = null);
  // The backlog jumps when its consumer is moved, which is no rate.
  const moved = (name: string) => {
    readings.value = new Map([...readings.value].filter(([other]) => other !== name));
    consumers.reload();
  };
  const columns: SmallColumn<NotificationConsumer>[] = [
    ...COLUMNS,
    rateColumn(readings.value),
    [
      "Actions",
      (one) => (
        <Actions of={one} open={(window) => (opened.value = { window, name: one.name })} reload={consumers.reload} />
      ),
      "actions",
    ],
  ];
  return (
    <Page
      title="Consumers"
      sub={
        can("ROLE_USER_MANAGEMENT_READ")
          ? "Each one gets the changes of its channels, also those that happen while nobody reads."
          : "Your own ones. Each gets the changes of its channels, also those that happen while nobody reads."
      }
      actions={
        <Button class="primary" onClick={() => (creating.value = true)}>
          New consumer
        </Button>
      }>
      <ListCard
        title="Consumers of notifications"
        of={consumers}
        noun="consumer"
        every={ASK_EVERY_SECONDS}
        empty={<p>There is no consumer. A session forgets what its client misses; a consumer keeps it.</p>}>
        {(list) => (
          <>
            {list
              .filter(({ state }) => state === "LAPSED")
              .map((one) => (
                <Lapse key={one.name} of={one} />
              ))}
            <SmallTable label="Consumers" columns={columns} rows={list} />
          </>
        )}
      </ListCard>
      {creating.value && <NewConsumer onClose={() => (creating.value = false)} onChanged={consumers.reload} />}
      {shown && opened.value?.window === "move" && (
        <Move of={shown} onClose={close} onChanged={() => moved(shown.name)} />
      )}
      {shown && opened.value?.window === "bounds" && <Bounds of={shown} onClose={close} onChanged={consumers.reload} />}
    </Page>
  );
}

function Actions(props: { of: NotificationConsumer; open: (window: "move" | "bounds") => void; reload: () => void }) {
  const { name, owner } = props.of;
  if (owner !== session.value?.user && !can("ROLE_USER_MANAGEMENT_ADMIN")) return null;
  const remove = async () => {
    await call("DELETE", path`/notification/consumers/${name}`);
    tell(`The consumer ${name} is deleted.`);
    props.reload();
  };
  return (
    <span class="row-actions">
      <Button class="small" label={`Move ${name}`} onClick={() => props.open("move")}>
        Move
      </Button>
      <Button class="small" label={`Bounds of ${name}`} onClick={() => props.open("bounds")}>
        Bounds
      </Button>
      <Action
        class="small"
        label={`Delete ${name}`}
        confirm={{
          title: `Delete the consumer ${name}?`,
          text: deletionInWords(props.of),
          button: "Delete consumer",
        }}
        run={remove}>
        Delete
      </Action>
    </span>
  );
}
