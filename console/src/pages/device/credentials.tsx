// The user with which a device logs in, and its certificates.

import { useSignal } from "@preact/signals";
import { call, get, path } from "../../api";
import { useLoad } from "../../load";
import { CertificateState, Revoke, useDeviceCertificates } from "../../parts/device_certificates";
import type { User } from "../../reference";
import { can, session } from "../../session";
import { Time } from "../../time";
import type { ManagedObject } from "../../types";
import { Action, Button, FactList, Field, Form, StatusMark, tell } from "../../ui/kit";
import { ListCard, LoadedCard } from "../../ui/loaded";

export function Credentials({ of: device }: { of: ManagedObject }) {
  if (!device.owner?.startsWith("device_") || !can("ROLE_USER_MANAGEMENT_READ", "ROLE_USER_MANAGEMENT_ADMIN"))
    return null;
  return (
    <>
      <OfUser name={device.owner} />
      {can("ROLE_USER_MANAGEMENT_READ") && <CertificatesOf user={device.owner} />}
    </>
  );
}

function CertificatesOf({ user }: { user: string }) {
  const certificates = useDeviceCertificates(user);
  return (
    <ListCard
      title="Certificates"
      of={certificates}
      noun="certificate"
      empty={<p>No certificate of the device is known.</p>}>
      {(list) => (
        <ul class="rows">
          {list.map((one) => (
            <li key={one.fingerprint}>
              <span class="grow">
                <code class="secret">{one.serialNumber}</code>{" "}
                <span class="faint">
                  until <Time at={one.notAfter} />
                </span>
              </span>
              <CertificateState of={one} />
              {can("ROLE_USER_MANAGEMENT_ADMIN") && <Revoke of={one} onChanged={certificates.reload} />}
            </li>
          ))}
        </ul>
      )}
    </ListCard>
  );
}

function OfUser({ name }: { name: string }) {
  const address = path`/user/${session.value!.tenant}/users/${name}`;
  const user = useLoad(() => get<User>(address), [address]);
  const changing = useSignal(false);
  const mayChange = can("ROLE_USER_MANAGEMENT_ADMIN");
  const send = async (form: FormData) => {
    await call("PUT", address, { body: { password: form.get("password") } });
    tell("The password was changed. The device needs it at its next log-in.");
    changing.value = false;
    user.reload();
  };
  return (
    <LoadedCard title="Credentials" of={user}>
      {(one) => (
        <div class="stacked">
          <FactList
            of={[
              [
                "User",
                <code>
                  {session.value?.tenant}/{one.userName}
                </code>,
              ],
              ["State", <StatusMark of={one.enabled ? "UP" : "DISABLED"} />],
              ["Password set", <Time at={one.lastPasswordChange} />],
            ]}
          />
          {mayChange && (
            <span class="row-actions">
              <Action
                class="small"
                confirm={
                  one.enabled
                    ? {
                        title: `Lock out ${one.userName}?`,
                        text: "The device is disconnected and cannot send until it is let in again.",
                        button: "Lock out now",
                      }
                    : undefined
                }
                run={() => call("PUT", address, { body: { enabled: !one.enabled } }).then(user.reload)}>
                {one.enabled ? "Lock out" : "Let in"}
              </Action>
              <Button class="small" aria-expanded={changing.value} onClick={() => (changing.value = !changing.value)}>
                New password
              </Button>
            </span>
          )}
          {changing.value && (
            <Form send={send} action="Set">
              <Field label="New password of the device" hint="6 to 32 characters. The old one no longer works then.">
                <input
                  name="password"
                  type="password"
                  required
                  minLength={6}
                  maxLength={32}
                  autocomplete="new-password"
                />
              </Field>
            </Form>
          )}
        </div>
      )}
    </LoadedCard>
  );
}
