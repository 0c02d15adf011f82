// The window that creates an operation, and the parts that the window for a whole group has too.

import { useSignal } from "@preact/signals";
import { call } from "../api";
import type { ManagedObject } from "../types";
import { DeviceField } from "../ui/device_field";
import { Field, FormDialog, tell } from "../ui/kit";

const TEMPLATES: [string, object][] = [
  ["Restart", { plat_Restart: {} }],
  ["Command", { plat_Command: { text: "status" } }],
  ["Firmware", { plat_Firmware: { name: "", version: "", url: "" } }],
  ["Configuration", { plat_Configuration: { config: "" } }],
  ["Logs", { plat_LogfileRequest: { logFile: "", dateFrom: "", dateTo: "", searchText: "", maximumLines: 1000 } }],
];

export function Content({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <>
      <div class="templates" role="group" aria-label="Templates">
        {TEMPLATES.map(([name, content]) => (
          <button
            key={name}
            type="button"
            class="small"
            onClick={() => onChange(JSON.stringify({ description: name, ...content }, null, 2))}>
            {name}
          </button>
        ))}
      </div>
      <Field label="What the device is to do" hint="JSON, as the device understands it">
        <textarea
          name="content"
          rows={7}
          spellcheck={false}
          class="code"
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </Field>
    </>
  );
}

export function parsed(text: string): Record<string, unknown> {
  const value = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("This is not a JSON object.");
  return value;
}

export const FIRST_CONTENT = JSON.stringify({ description: "Restart", plat_Restart: {} }, null, 2);

export function NewOperation({ device, onClose }: { device?: ManagedObject; onClose: () => void }) {
  const content = useSignal(FIRST_CONTENT);
  const send = async (form: FormData) => {
    const deviceId = device?.id ?? String(form.get("device"));
    if (!deviceId) throw new Error("Choose a device of the list.");
    await call("POST", "/devicecontrol/operations", { body: { deviceId, ...parsed(content.value) } });
    tell("The operation was created.");
  };
  return (
    <FormDialog
      title={device ? `New operation for ${device.name ?? device.id}` : "New operation"}
      onClose={onClose}
      send={send}
      action="Create">
      {!device && <DeviceField name="device" />}
      <Content value={content.value} onChange={(value) => (content.value = value)} />
    </FormDialog>
  );
}
