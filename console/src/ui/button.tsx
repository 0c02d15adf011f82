// A button that does something at once. What takes time is an `Action` of the kit.

import type { ButtonHTMLAttributes } from "preact";

/** `label` is the name for screen readers where the text does not say what is affected. */
export function Button({ label, ...rest }: ButtonHTMLAttributes & { label?: string }) {
  return <button type="button" aria-label={label} {...rest} />;
}
