// The network of the page, which the page of a demo can cut.

import { signal } from "@preact/signals";

/** Whether the page neither sends nor receives anything. */
export const isCut = signal(false);
