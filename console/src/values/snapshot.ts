// Lists that come in notifications, before the changes of a channel (B-36).

import type { Message } from "cometd";

/** The members of a list, and whether it has no further ones. */
export interface Snapshot<T> {
  members: T[];
  isComplete: boolean;
}

/** Returns whether a notification is a piece of a list, or the marker at its end. */
export const isOfList = ({ data }: Message) =>
  data?.realtimeAction === "SNAPSHOT" || data?.realtimeAction === "SNAPSHOT_END";

/** Returns whether a notification is the marker at the end of a list. */
export const endsList = ({ data }: Message) => data?.realtimeAction === "SNAPSHOT_END";

/** Returns the last list in some notifications, and the changes after it; all changes if there is no list. */
export function split<T>(messages: Message[]): { snapshot?: Snapshot<T>; changes: Message[] } {
  const end = messages.findLastIndex(endsList);
  if (end < 0) return { changes: messages };
  const before = messages.slice(0, end);
  const pieces = before.slice(before.findLastIndex(endsList) + 1).filter(isOfList);
  const snapshot = {
    members: pieces.flatMap((piece) => piece.data.data as T[]),
    isComplete: messages[end].data.data.complete,
  };
  return { snapshot, changes: messages.slice(end + 1) };
}
