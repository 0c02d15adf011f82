// The channels of one device.

/** Returns the channels of the notifications of one kind about a device. */
export const of = (kind: string, id: string) => ({ channels: [`/${kind}/${id}`], isWhole: true, hasList: true });
