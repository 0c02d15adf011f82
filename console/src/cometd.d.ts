// Exports of the package that are missing in its own types.
import type { Transport } from "cometd";

declare module "cometd" {
  export interface Message {
    /** Why a request had no response. */
    failure?: object;
  }
  export class LongPollingTransport implements Transport {
    readonly type: string;
    url: string;
    accept(version: string, crossDomain: boolean, url: string): boolean;
    abort(): void;
    xhrSend(packet: PollingPacket): { status: number; abort(): void };
  }
  export interface PollingPacket {
    url: string;
    headers: Record<string, string>;
    body: string;
    onSuccess(text: string): void;
    onError(reason: string): void;
  }
}
