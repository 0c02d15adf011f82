// The user who is logged in: its password, rights and sessions, and the clients of the token service that act as it.

import { useSignal } from "@preact/signals";
import { call, get, getIfKnown, path } from "../../api";
import { useList } from "../../list";
import { useLoad } from "../../load";
import { beginSetUp, type Begun, changePassword, removeSecondFactor } from "../../log_in";
import { CodeField, SetUp } from "../../parts/second_factor";
import type { AccessTokenCollection, CurrentUser, TokenClient, TotpActivity } from "../../reference";
import { can, logOut, session } from "../../session";
import { Time } from "../../time";
import { Action, Card, Field, Form, Page, tell } from "../../ui/kit";
import { ListCard, LoadedCard } from "../../ui/loaded";
import { RightsCard } from "./rights";

export function Profile() {
  const me = useLoad(() => get<CurrentUser>("/user/currentUser"), []);
  const factor = useLoad(() => getIfKnown<TotpActivity>("/user/currentUser/totpSecret/activity"), []);
  const { tenant, user } = session.value!;
  return (
    <Page
      title="Profile"
      sub={
        <>
          {tenant}/<b>{user}</b>
        </>
      }>
      <div class="two">
        {can("ROLE_USER_MANAGEMENT_OWN_ADMIN") && (
          <Password
            changed={me.data.value?.lastPasswordChange}
            needsCode={!!factor.data.value?.isActive}
            onChanged={me.reload}
          />
        )}
        {can("ROLE_USER_MANAGEMENT_OWN_ADMIN") && (
          <LoadedCard title="Name and addresses" of={me}>
            {(found) => <Person of={found} onChanged={me.reload} />}
          </LoadedCard>
        )}
      </div>
      {factor.data.value !== null && (
        <LoadedCard title="Second factor" of={factor}>
          {(found) => found && <SecondFactor of={found} onChanged={factor.reload} />}
        </LoadedCard>
      )}
      <RightsCard />
      <LogIns />
      {can("ROLE_APPLICATION_MANAGEMENT_ADMIN") && <TokenClients />}
    </Page>
  );
}

function Password(props: { changed?: string; needsCode: boolean; onChanged: () => void }) {
  const { changed, needsCode, onChanged } = props;
  const send = async (data: FormData, form: HTMLFormElement) => {
    const password = String(data.get("password"));
    if (password !== data.get("again")) throw new Error("The two new passwords differ.");
    await changePassword(String(data.get("present")), password, String(data.get("code") ?? "").trim());
    form.reset();
    tell("Your password was changed. Everything else that is logged in as you has to log in again.");
    onChanged();
  };
  return (
    <Card
      title="Password"
      aside={
        changed && (
          <span class="faint">
            set <Time at={changed} as="ago" />
          </span>
        )
      }>
      <Form send={send} action="Change password">
        <Field label="Present password">
          <input name="present" type="password" required autocomplete="current-password" />
        </Field>
        <Field label="New password" hint="6 to 32 characters">
          <input name="password" type="password" required minLength={6} maxLength={32} autocomplete="new-password" />
        </Field>
        <Field label="New password, again">
          <input name="again" type="password" required minLength={6} maxLength={32} autocomplete="new-password" />
        </Field>
        {needsCode && <CodeField />}
      </Form>
    </Card>
  );
}

/** The second factor of the user: setting it up, or removing it. */
function SecondFactor({ of: factor, onChanged }: { of: TotpActivity; onChanged: () => void }) {
  const begun = useSignal<Begun | null>(null);
  const { tenant, user } = session.value!;
  const begin = async (form: FormData) => {
    begun.value = await beginSetUp(`${tenant}/${user}`, String(form.get("present"))).catch((error) => {
      throw error.status === 401 ? new Error("The password is wrong.") : error;
    });
  };
  const remove = async (form: FormData) => {
    await removeSecondFactor(String(form.get("code")).trim());
    tell("The second factor was removed. The password alone logs you in.");
    onChanged();
  };
  const done = () => {
    begun.value = null;
    onChanged();
  };
  if (begun.value) return <SetUp begun={begun.value} onDone={done} />;
  if (factor.isActive)
    return (
      <Form send={remove} action="Remove the second factor">
        <p>
          Your log-in needs a code of your authenticator. {factor.recoveryCodes} recovery{" "}
          {factor.recoveryCodes === 1 ? "code is" : "codes are"} left; removing the second factor and setting it up
          again gives new ones.
        </p>
        <CodeField />
      </Form>
    );
  return (
    <Form send={begin} action="Set up a second factor">
      <p>With a second factor, your log-in needs a code that an authenticator shows besides the password.</p>
      <Field label="Your password">
        <input name="present" type="password" required autocomplete="current-password" />
      </Field>
    </Form>
  );
}

/** The log-ins and tokens of the user. */
function LogIns() {
  const tokens = useLoad(() => get<AccessTokenCollection>("/user/currentUser/tokens"), []);
  return (
    <LoadedCard
      title="Where you are logged in"
      of={tokens}
      actions={
        <Action
          class="small"
          label="Log out everywhere"
          confirm={{
            title: "Log out everywhere?",
            text: "All your log-ins and tokens are revoked at once, this one too.",
            button: "Log out everywhere",
          }}
          run={() => call("DELETE", "/user/currentUser/tokens").then(() => logOut())}>
          Log out everywhere
        </Action>
      }>
      {({ tokens: list }) => (
        <ul class="rows">
          {list.map((one) => (
            <li key={one.id}>
              <span class="grow clip">
                <b>{one.name}</b> {one.current && "this log-in "}
                <span class="faint">
                  {one.scope.toLowerCase()}, since <Time at={one.creationTime} />, expires{" "}
                  <Time at={one.expirationTime} /> if it is not used
                </span>
              </span>
              {!one.current && (
                <Action
                  class="small"
                  label={`End the log-in ${one.name}`}
                  confirm={{
                    title: `End the log-in "${one.name}"?`,
                    text: "Its token is revoked at once.",
                    button: "End log-in",
                  }}
                  run={() => call("DELETE", path`/user/currentUser/tokens/${one.id}`).then(tokens.reload)}>
                  End
                </Action>
              )}
            </li>
          ))}
        </ul>
      )}
    </LoadedCard>
  );
}

function Person({ of: me, onChanged }: { of: CurrentUser; onChanged: () => void }) {
  const send = async (form: FormData) => {
    const given = ["firstName", "lastName", "email", "phone"].map((name) => [
      name,
      String(form.get(name)).trim() || null,
    ]);
    await call("PUT", "/user/currentUser", { body: Object.fromEntries(given) });
    tell("It was saved.");
    onChanged();
  };
  return (
    <Form send={send} action="Save">
      <Field label="First name">
        <input name="firstName" defaultValue={me.firstName ?? ""} autocomplete="given-name" />
      </Field>
      <Field label="Last name">
        <input name="lastName" defaultValue={me.lastName ?? ""} autocomplete="family-name" />
      </Field>
      <Field label="E-mail">
        <input name="email" type="email" defaultValue={me.email ?? ""} autocomplete="email" />
      </Field>
      <Field label="Phone" hint="+ and 7 to 15 digits">
        <input name="phone" type="tel" defaultValue={me.phone ?? ""} autocomplete="tel" />
      </Field>
    </Form>
  );
}

function TokenClients() {
  const clients = useList<TokenClient>({
    path: "/application/tokenClients",
    member: "tokenClients",
    keyOf: (one) => one.clientId,
  });
  const made = useSignal<TokenClient | null>(null);
  const send = async (form: FormData) => {
    made.value = await call<TokenClient>("POST", "/application/tokenClients", {
      body: { name: form.get("name"), scope: form.get("scope") },
    });
    clients.reload();
  };
  return (
    <ListCard
      title="Programs with tokens"
      of={clients}
      noun="program"
      empty={<p>No program has a key for access tokens.</p>}
      below={
        <>
          {made.value && (
            <p class="notice" role="status">
              <span>
                The secret of {made.value.name} is <code>{made.value.clientSecret}</code>. It is not shown again.
              </span>
            </p>
          )}
          <Form send={send} action="Create a key">
            <Field label="Name of the program">
              <input name="name" required />
            </Field>
            <Field label="What it may do">
              <select name="scope">
                <option value="READ">read</option>
                <option value="READ WRITE">read and write</option>
              </select>
            </Field>
          </Form>
        </>
      }>
      {(list) => (
        <ul class="rows">
          {list.map((one) => (
            <li key={one.clientId}>
              <span class="grow clip">
                <b>{one.name}</b> acts as {one.user}{" "}
                <span class="faint">
                  {one.scope.toLowerCase()}, key <code>{one.clientId}</code>
                </span>
              </span>
              <span class="faint nowrap">
                <Time at={one.creationTime} />
              </span>
              <Action
                class="small"
                label={`Delete the program ${one.name}`}
                confirm={{
                  title: `Delete the key of ${one.name}?`,
                  text: "Its tokens are revoked at once.",
                  button: "Delete key",
                }}
                run={() => call("DELETE", path`/application/tokenClients/${one.clientId}`).then(clients.reload)}>
                Delete
              </Action>
            </li>
          ))}
        </ul>
      )}
    </ListCard>
  );
}
