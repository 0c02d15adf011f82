// The parts of the server's representations that the console reads.

export interface Reference {
  managedObject: { id: string; name?: string };
}
export interface ManagedObject {
  id: string;
  name?: string;
  type?: string;
  owner?: string;
  creationTime?: string;
  lastUpdated?: string;
  childDevices?: { references: Reference[] };
  childAssets?: { references: Reference[] };
  deviceParents?: { references: Reference[] };
  assetParents?: { references: Reference[] };
  [fragment: string]: unknown;
}
export type SeverityName = "CRITICAL" | "MAJOR" | "MINOR" | "WARNING";
export interface Alarm {
  id: string;
  type: string;
  text: string;
  severity: SeverityName;
  status: "ACTIVE" | "ACKNOWLEDGED" | "CLEARED";
  time: string;
  firstOccurrenceTime?: string;
  count: number;
  source: { id: string; name?: string };
}
export interface PlatformEvent {
  id: string;
  type: string;
  text: string;
  time: string;
  source: { id: string; name?: string };
  plat_IsBinary?: { name?: string; type?: string; length?: number };
}
export type OperationState = "PENDING" | "EXECUTING" | "SUCCESSFUL" | "FAILED";
export interface Operation {
  id: string;
  deviceId: string;
  deviceName?: string;
  status: OperationState;
  creationTime: string;
  failureReason?: string;
  bulkOperationId?: string;
  description?: string;
  [fragment: string]: unknown;
}
export interface Diagnosis {
  causes: { cause: string; message: string; agentId?: string; since?: string }[];
  agents?: { id: string; name?: string; connection: string; subscribed: boolean; lastMessage?: string }[];
}
export interface BulkOperation {
  id: string;
  groupId?: string;
  failedParentId?: string;
  startDate: string;
  creationRamp: number;
  status: string;
  operationPrototype: Record<string, unknown>;
  progress: { pending: number; failed: number; executing: number; successful: number; all: number };
}
export interface Measurement {
  id?: string;
  type: string;
  time: string;
  source: { id: string };
  [fragment: string]: unknown;
}
export interface Series {
  values: Record<string, ({ min: number; max: number } | null)[]>;
  series: { name: string; type: string; unit?: string }[];
  truncated: boolean;
}
export interface CurrentUser {
  userName: string;
  effectiveRoles?: { name: string }[];
  devicePermissions?: Record<string, string[]>;
}
/** The record of a user among the users of its tenant. */
export interface UserWithGroups {
  groups?: { references: { group: { name: string; devicePermissions?: Record<string, string[]> } }[] };
}
export interface Tenant {
  id?: string;
  name?: string;
  domain?: string;
  domainName?: string;
  company?: string;
  contactName?: string;
  contactPhone?: string;
  status?: string;
  creationTime?: string;
}
/** The data of a notification: the whole object, or its id when it was deleted. */
export interface Notification<T> {
  realtimeAction: "CREATE" | "UPDATE" | "DELETE";
  data: T | string;
}
