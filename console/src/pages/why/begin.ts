// The request that begins a trace, and the device of a change.

import { ApiError, call, get, path } from "../../api";
import type { NotificationTrace } from "../../reference";
import type { Subject } from "../../values/traces";

export const DEFAULT_SECONDS = 600;

export const beginTrace = (subject: Subject, seconds: number) =>
  call<NotificationTrace>("POST", "/notification/traces", { body: { ...subject, seconds } });

type Change = { source?: { id: string }; deviceId?: string; id: string };

/** The resources that may have an id. */
const READS = [
  (id: string) => path`/inventory/managedObjects/${id}`,
  (id: string) => path`/alarm/alarms/${id}`,
  (id: string) => path`/event/events/${id}`,
  (id: string) => path`/devicecontrol/operations/${id}`,
];

/** Returns the device on whose channels the changes of an object are published. */
export async function deviceOf(id: string): Promise<string> {
  let isHidden = false;
  for (const address of READS) {
    try {
      const found = await get<Change>(address(id));
      return found.source?.id ?? found.deviceId ?? found.id;
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
      isHidden ||= error.status === 403;
    }
  }
  // Whoever may not read the device can trace it nevertheless.
  if (isHidden) return id;
  throw new Error(`There is no device, alarm, event or operation ${id}.`);
}
