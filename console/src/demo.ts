// Whether the devices of the tenant are simulated by `platform demo`, which marks its tenant with an option. Only
// administrators may read options, so only they are offered to break things.

import { effect, signal } from "@preact/signals";
import { get } from "./api";
import { can, session } from "./session";

/** The tenant of `platform demo`. */
export const DEMO = "demo";
/** Whether the server says that this tenant is a demo. */
export const isDemo = signal(false);

effect(() => {
  const asked = session.value;
  isDemo.value = false;
  if (asked?.tenant !== DEMO || !can("ROLE_OPTION_MANAGEMENT_READ")) return;
  get<{ fleet?: string }>("/tenant/options/demo").then(
    ({ fleet }) => session.peek() === asked && (isDemo.value = fleet === "simulated"),
    () => undefined,
  );
});

/** Whether the user may break the demo: an administrator of its tenant. */
export const mayBreak = () => isDemo.value && can("ROLE_ALARM_ADMIN") && can("ROLE_DEVICE_CONTROL_ADMIN");
