// What pages show of a device.

import type { ManagedObject } from "../types";
import { link } from "../values/addresses";

export const availabilityOf = (device: ManagedObject) => device.plat_Availability ?? {};

export function AlarmCounts({ of }: { of: ManagedObject }) {
  const counts = of.plat_ActiveAlarmsStatus;
  const open = ["critical", "major", "minor", "warning"].filter((severity) => counts?.[severity]);
  return (
    <span class="counts">
      {open.map((severity) => (
        <span key={severity} class={`count severity-${severity}`} title={`${counts![severity]} ${severity}`}>
          {counts![severity]}
          <span class="hidden"> {severity}</span>
        </span>
      ))}
    </span>
  );
}

/** The name of a device, or its id, as a link to its page. */
export function DeviceLink({
  of: { id, name = id },
  class: look,
}: {
  of: { id: string; name?: string };
  class?: string;
}) {
  return (
    <a class={look} href={link(["devices", id])}>
      {name}
    </a>
  );
}
