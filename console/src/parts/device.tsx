// What pages show of a device.

import type { ManagedObject } from "../types";

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
