// The channels of one device.

/** The notifications of one kind about a device. */
export const of = (kind: string, id: string) => ({ channels: [`/${kind}/${id}`] });
