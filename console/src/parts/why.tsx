// The reasons why an operation has not ended, in the server's words, its age, and the button that ends it.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, get, path } from "../api";
import { asError } from "../load";
import type { OperationDiagnosis } from "../reference";
import { can, session } from "../session";
import { Time } from "../time";
import type { Operation } from "../types";
import { Action } from "../ui/kit";

const ASK_EVERY_MS = 5000;
const STILL: Record<string, string> = { PENDING: "pending", EXECUTING: "executing" };

/** The reasons are requested again while the operation has not ended. */
export function Why({ of: operation }: { of: Operation }) {
  const diagnosis = useSignal<OperationDiagnosis | null>(null);
  const error = useSignal("");
  const state = STILL[operation.status];
  useEffect(() => {
    if (!state) return;
    const ask = () => {
      if (document.hidden) return;
      get<OperationDiagnosis>(path`/devicecontrol/operations/${operation.id}/diagnosis`)
        .then((found) => ([diagnosis.value, error.value] = [found, ""]))
        .catch((failed) => (error.value = asError(failed).message));
    };
    ask();
    const timer = setInterval(ask, ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, [operation.id, state]);
  if (!state) return null;
  const cancel = () =>
    call("PUT", path`/devicecontrol/operations/${operation.id}`, {
      body: { status: "FAILED", failureReason: `Cancelled by ${session.peek()?.user}` },
    });
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
            confirm={{
              title: "Cancel this operation?",
              text:
                operation.status === "PENDING"
                  ? "It becomes FAILED. A device that asks later does not get it."
                  : "It becomes FAILED. The device has it already and may carry it out nevertheless.",
              button: "Cancel operation",
            }}>
            Cancel
          </Action>
        )}
      </div>
      {error.value && <p class="problem">{error.value}</p>}
      <p>
        It was created <Time at={operation.creationTime} as="ago" />.
      </p>
      <ul>
        {diagnosis.value?.causes.map((cause) => (
          <li key={cause.cause + cause.message}>{cause.message}.</li>
        ))}
      </ul>
      {diagnosis.value?.agents?.map((agent) => (
        <p key={agent.id} class="faint">
          {agent.name ?? agent.id}:{" "}
          {agent.connection.toLowerCase() === "unknown" ? "its connection is unknown" : agent.connection.toLowerCase()},{" "}
          {agent.subscribed ? "subscribed" : "not subscribed"}, last message <Time at={agent.lastMessage} as="ago" />
        </p>
      ))}
    </div>
  );
}
