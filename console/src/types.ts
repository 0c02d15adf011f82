// The server's resources with what the console reads of them in addition to the API reference: fragments.

import type {
  Alarm as AnyAlarm,
  AuditRecord as AnyRecord,
  BulkOperation as AnyBulkOperation,
  Event,
  ManagedObject as AnyObject,
  Measurement as AnyMeasurement,
  Operation as AnyOperation,
} from "./reference";

/** A resource that was stored. Others have no id. */
type Stored<T> = T & { id: string };

export type Alarm = Stored<AnyAlarm>;
export type AuditRecord = Stored<AnyRecord>;
export type BulkOperation = Stored<AnyBulkOperation>;
export type Measurement = Stored<AnyMeasurement>;
export type Operation = Stored<AnyOperation> & { description?: string };
export type PlatformEvent = Stored<Event> & {
  plat_IsBinary?: { name?: string; type?: string; length?: number };
  plat_Position?: { lat?: number; lng?: number };
};
export type ManagedObject = Stored<AnyObject> & {
  plat_Availability?: { status?: string; lastMessage?: string };
  plat_RequiredAvailability?: { responseInterval?: number };
  plat_Connection?: { status?: string };
  plat_ActiveAlarmsStatus?: Record<string, number>;
};
