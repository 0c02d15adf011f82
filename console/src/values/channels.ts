// The channels of notifications, to complete what people type.

interface Kind {
  word: string;
  /** The role with which a user may have the changes of all objects. */
  role: string;
  /** Whether there are channels of an object and of all objects below it. */
  hasFamilies?: boolean;
}

const KINDS: Kind[] = [
  { word: "alarms", role: "ROLE_ALARM_READ", hasFamilies: true },
  { word: "events", role: "ROLE_EVENT_READ", hasFamilies: true },
  { word: "measurements", role: "ROLE_MEASUREMENT_READ" },
  { word: "operations", role: "ROLE_DEVICE_CONTROL_READ" },
  { word: "managedobjects", role: "ROLE_INVENTORY_READ" },
];

/** The channels of all objects of a kind. */
export const OF_ALL = KINDS.map(({ word }) => `/${word}/*`);

/** Returns the channels of all objects of a kind for which a user has the role. */
export const ofAllFor = (can: (role: string) => boolean) =>
  KINDS.filter(({ role }) => can(role)).map(({ word }) => `/${word}/*`);

/**
 * Returns the possible continuations of a typed channel. Those that end with a slash still need the id of an object. A
 * text without a slash at its begin is completed too.
 */
export function channelsLike(typed: string): string[] {
  const begin = typed.trim().replace(/^\/?/, "/");
  const all = KINDS.flatMap(({ word, hasFamilies }) => [
    `/${word}/*`,
    `/${word}/`,
    ...(hasFamilies ? [`/${word}WithChildren/`] : []),
  ]);
  return all.filter((one) => one !== begin && one.toLowerCase().startsWith(begin.toLowerCase()));
}

/** Returns the channels with another one at their end, each of them once. */
export const withChannel = (channels: string[], typed: string) => {
  const channel = typed.trim();
  return channel ? [...new Set([...channels, channel])] : channels;
};
