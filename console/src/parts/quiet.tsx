// The link to the page that explains why a notification did not arrive.

import type { ComponentChildren } from "preact";
import { can } from "../session";
import { link } from "../values/addresses";
import type { Receiver } from "../values/traces";

export const DIAGNOSES = "ROLE_NOTIFICATION_ADMIN";
export const mayDiagnose = () => can(DIAGNOSES);

interface Props {
  /** The parts of the question that are known: the id of what changed, or its receiver. */
  of: { [part in "id" | Receiver]?: string };
  class?: string;
  /** The text for screen readers, where the link alone does not say what it is about. */
  label?: string;
  children: ComponentChildren;
}

/** Shows nothing to a user who may not open the page. */
export function QuietLink({ of, class: look = "button", label, children }: Props) {
  if (!mayDiagnose()) return null;
  return (
    <a class={look} href={link(["why"], of)} aria-label={label}>
      {children}
    </a>
  );
}
