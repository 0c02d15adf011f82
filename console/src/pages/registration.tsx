// The registration of devices: one that requests its password, or a file with many.

import { useSignal } from "@preact/signals";
import { call, path, upload } from "../api";
import { useList } from "../list";
import { useEvery } from "../load";
import type { BulkRegistrationResult, NewDeviceRequest } from "../reference";
import { link } from "../router";
import { can } from "../session";
import { Action, Card, Field, Form, Page, StatusMark } from "../ui/kit";
import { ListCard } from "../ui/loaded";
import { firstRows, isSecret } from "../values/csv";

/** Registration requests cause no notifications, so this page reads them regularly while it is visible. */
const ASK_EVERY_SECONDS = 2;

export function Registration() {
  const requests = useList<NewDeviceRequest>({ path: "/devicecontrol/newDeviceRequests", member: "newDeviceRequests" });
  useEvery(ASK_EVERY_SECONDS, requests.reload);
  const addressOf = (one: NewDeviceRequest) => path`/devicecontrol/newDeviceRequests/${one.id}`;
  return (
    <Page title="Registration">
      <div class="two">
        {can("ROLE_DEVICE_CONTROL_ADMIN") && <One onChanged={requests.reload} />}
        {can("ROLE_DEVICE_CONTROL_ADMIN") && <Many onChanged={requests.reload} />}
      </div>
      <ListCard
        title="Waiting"
        of={requests}
        noun="request"
        every={ASK_EVERY_SECONDS}
        empty={<p>No device is waiting. Register one, and switch it on.</p>}>
        {(list) => (
          <ul class="rows">
            {[...list].reverse().map((one) => (
              <li key={one.id} class="arrives">
                <span class={`dot ${DOTS[one.status]}`} />
                <code class="grow clip">{one.id}</code>
                <span class="faint">{EXPLAINED[one.status]}</span>
                <StatusMark of={one.status} />
                <span class="row-actions">
                  {one.status !== "ACCEPTED" && (
                    <Action
                      class="small"
                      label={`Accept ${one.id}`}
                      run={() => call("PUT", addressOf(one), { body: { status: "ACCEPTED" } }).then(requests.reload)}
                      done={`${one.id} is accepted. It gets its password when it asks next.`}>
                      Accept
                    </Action>
                  )}
                  {can("ROLE_DEVICE_CONTROL_ADMIN") && (
                    <Action
                      class="small"
                      label={`Remove ${one.id}`}
                      confirm={{
                        title: `Remove the request of ${one.id}?`,
                        text: "The device can ask again.",
                        button: "Remove request",
                      }}
                      run={() => call("DELETE", addressOf(one)).then(requests.reload)}>
                      Remove
                    </Action>
                  )}
                </span>
              </li>
            ))}
          </ul>
        )}
      </ListCard>
    </Page>
  );
}

const DOTS: Record<NewDeviceRequest["status"], string> = {
  WAITING_FOR_CONNECTION: "waiting",
  PENDING_ACCEPTANCE: "maintenance",
  ACCEPTED: "available",
};
const EXPLAINED: Record<NewDeviceRequest["status"], string> = {
  WAITING_FOR_CONNECTION: "It has not asked yet.",
  PENDING_ACCEPTANCE: "It asks for access. Accept it if it is yours.",
  ACCEPTED: "It gets its password when it asks next.",
};

/** Returns the request with which a device asks for its password, as a command. */
const exampleOf = (id: string) =>
  `curl -u management/devicebootstrap -H 'Content-Type: application/json' \\\n` +
  `  ${location.origin}/devicecontrol/deviceCredentials -d '${JSON.stringify({ id })}'`;

function One({ onChanged }: { onChanged: () => void }) {
  const waiting = useSignal("");
  const send = async (data: FormData, form: HTMLFormElement) => {
    const id = String(data.get("id")).trim();
    await call("POST", "/devicecontrol/newDeviceRequests", { body: { id } });
    waiting.value = id;
    form.reset();
    onChanged();
  };
  return (
    <Card title="One device">
      <Form send={send} action="Register">
        <Field label="Identifier" hint="What the device knows about itself, such as its serial number. No colon.">
          <input name="id" required spellcheck={false} autocapitalize="none" />
        </Field>
      </Form>
      {waiting.value && (
        <div class="why">
          <p>
            <b>{waiting.value}</b> may ask for its password now, as this does:
          </p>
          <pre tabIndex={0}>{exampleOf(waiting.value)}</pre>
        </div>
      )}
    </Card>
  );
}

function Many({ onChanged }: { onChanged: () => void }) {
  const preview = useSignal<string[][] | null>(null);
  const file = useSignal<File | null>(null);
  const result = useSignal<BulkRegistrationResult | null>(null);
  const choose = async (event: Event) => {
    const chosen = (event.target as HTMLInputElement).files?.[0] ?? null;
    [file.value, result.value] = [chosen, null];
    preview.value = chosen && firstRows(await chosen.slice(0, 20_000).text());
  };
  const arrived = useSignal<number | null>(null);
  const send = async () => {
    [arrived.value, result.value] = [0, null];
    try {
      result.value = await upload<BulkRegistrationResult>(
        "/devicecontrol/bulkNewDeviceRequests",
        file.value!,
        (part) => (arrived.value = part),
      );
    } finally {
      arrived.value = null;
    }
    onChanged();
  };
  return (
    <Card title="A file of many">
      <div class="stacked">
        <Field
          label="CSV file"
          hint={
            <>
              The first row names the columns: <code>ID</code>, <code>CREDENTIALS</code>, <code>TYPE</code>,{" "}
              <code>NAME</code>, <code>PATH</code> and others.
            </>
          }>
          <input type="file" accept=".csv,.txt,text/csv" onChange={choose} />
        </Field>
        {preview.value && (
          <div class="scroll" tabIndex={0} role="region" aria-label="First rows of the file">
            <table>
              <thead>
                <tr>
                  {preview.value[0]?.map((cell, index) => (
                    <th key={index} scope="col">
                      {cell}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {preview.value.slice(1).map((row, line) => (
                  <tr key={line}>
                    {row.map((cell, index) => (
                      <td key={index}>{isSecret(preview.value![0], index) ? "••••••" : cell}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <Action class="primary" disabled={!file.value} run={send}>
          Register all
        </Action>
        {arrived.value !== null && (
          <div role="status">
            <progress max={1} value={arrived.value} aria-label="How much of the file has arrived" />
            <span class="faint">
              {arrived.value < 1
                ? `${Math.round(arrived.value * 100)} % of the file has arrived.`
                : "The file has arrived; its devices are being registered."}
            </span>
          </div>
        )}
        {result.value && (
          <div role="status">
            <p>
              <b>{result.value.numberOfSuccessful}</b> of {result.value.numberOfAll} rows succeeded
              {result.value.numberOfFailed > 0 && (
                <>
                  , <b class="problem">{result.value.numberOfFailed} failed</b>
                </>
              )}
              . <a href={link(["devices"])}>Show the devices</a>
            </p>
            {result.value.numberOfFailed > 0 && <Failures of={result.value.failedCreationList} />}
          </div>
        )}
      </div>
    </Card>
  );
}

/** The rows that failed, each with the server's reason. */
function Failures({ of: rows }: { of: BulkRegistrationResult["failedCreationList"] }) {
  return (
    <div class="scroll failures" tabIndex={0} role="region" aria-label="Rows that failed">
      <table>
        <thead>
          <tr>
            <th scope="col">Device</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              <td>
                <code>{row.deviceId ?? "–"}</code>
              </td>
              <td>{row.failureReason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
