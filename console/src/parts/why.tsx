// The reasons why an operation has not ended, in the server's words, its age, and the button that ends it.

import { call, get, path } from "../api";
import { useEvery, useLoad } from "../load";
import type { OperationDiagnosis } from "../reference";
import { can, session } from "../session";
import { Time } from "../time";
import type { Operation } from "../types";
import { Action } from "../ui/kit";
import { States } from "../ui/loaded";

const ASK_SECONDS = 5;
const STILL: Record<string, string> = { PENDING: "pending", EXECUTING: "executing" };

/** Shows nothing for an operation that has ended. */
export function Why({ of: operation }: { of: Operation }) {
  const state = STILL[operation.status];
  if (!state) return null;
  const cancel = () =>
    call("PUT", path`/devicecontrol/operations/${operation.id}`, {
      body: { status: "FAILED", failureReason: `Cancelled by ${session.peek()?.user}` },
    });
  const question = {
    title: "Cancel this operation?",
    text:
      operation.status === "PENDING"
        ? "It becomes FAILED. A device that asks later does not get it."
        : "It becomes FAILED. The device has it already and may carry it out nevertheless.",
    button: "Cancel operation",
  };
  return (
    <div class="why">
      <div class="between">
        <b>Why is it still {state}?</b>
        {can("ROLE_DEVICE_CONTROL_ADMIN") && (
          <Action
            class="small"
            label="Cancel the operation"
            run={cancel}
            done="The operation is cancelled."
            confirm={question}>
            Cancel
          </Action>
        )}
      </div>
      <p>
        It was created <Time at={operation.creationTime} as="ago" />.
      </p>
      <Reasons key={state} of={operation} />
    </div>
  );
}

/** The reasons are read again while the operation has not ended. */
function Reasons({ of: { id } }: { of: Operation }) {
  const diagnosis = useLoad(() => get<OperationDiagnosis>(path`/devicecontrol/operations/${id}/diagnosis`), [id]);
  useEvery(ASK_SECONDS, diagnosis.reload);
  return (
    <States of={diagnosis}>
      {({ causes, agents = [] }) => (
        <>
          <ul>
            {causes.map((cause) => (
              <li key={cause.cause + cause.message}>{cause.message}.</li>
            ))}
          </ul>
          {agents.map((agent) => (
            <p key={agent.id} class="faint">
              {agent.name ?? agent.id}:{" "}
              {agent.connection === "UNKNOWN" ? "its connection is unknown" : agent.connection.toLowerCase()},{" "}
              {agent.subscribed ? "subscribed" : "not subscribed"}, last message{" "}
              <Time at={agent.lastMessage} as="ago" />
            </p>
          ))}
        </>
      )}
    </States>
  );
}
