// The web applications and microservices that the tenant sees, owns, or subscribes to.

import { useSignal } from "@preact/signals";
import { call, path, upload } from "../api";
import { useList } from "../list";
import { useEvery } from "../load";
import type { Application, ApplicationReference } from "../reference";
import { can, session } from "../session";
import { Time } from "../time";
import { Action, Button, Card, Field, FormDialog, Page, StatusMark, tell, type WindowProps } from "../ui/kit";
import { States } from "../ui/loaded";
import { type SmallColumn, SmallTable } from "../ui/small_table";
import { ListStanding, MoreRows } from "../ui/standing";

const HEALTH_SECONDS = 5;
const KINDS: Record<string, string> = {
  HOSTED: "web application",
  MICROSERVICE: "microservice",
  EXTERNAL: "external",
  APAMA_CEP_RULE: "rule",
};
const isOwn = (one: Application) => one.owner.tenant.id === session.value?.tenant;
const subscriptions = () => path`/tenant/tenants/${session.value!.tenant}/applications`;

export function Applications() {
  const applications = useList<Application>({ path: "/application/applications", member: "applications" });
  const subscribed = useList<ApplicationReference>({
    path: subscriptions(),
    member: "references",
    keyOf: (one) => one.application.id,
  });
  const creating = useSignal(false);
  const uploading = useSignal<Application | null>(null);
  useEvery(HEALTH_SECONDS, applications.reload);
  const mayChange = can("ROLE_APPLICATION_MANAGEMENT_ADMIN");
  const held = new Set(subscribed.data.value?.map(({ application }) => application.id));
  const reload = () => (applications.reload(), subscribed.reload());
  const columns: SmallColumn<Application>[] = [
    ["Name", (one) => <b>{one.name}</b>],
    ["Kind", (one) => KINDS[one.type]],
    ["Path", (one) => <Address of={one} />],
    ["Owner", (one) => (isOwn(one) ? "this tenant" : one.owner.tenant.id)],
    ["Who may use it", (one) => (one.availability === "MARKET" ? "every tenant" : "its owner and subscribers")],
    ["Health", (one) => <Health of={one} />],
    [
      "Actions",
      (one) =>
        mayChange && (
          <Actions
            of={one}
            isSubscribed={held.has(one.id)}
            onUpload={() => (uploading.value = one)}
            onChanged={reload}
          />
        ),
      "actions",
    ],
  ];
  return (
    <Page
      title="Applications"
      sub={<ListStanding of={applications} noun="application" every={HEALTH_SECONDS} />}
      actions={
        mayChange && (
          <Button class="primary" onClick={() => (creating.value = true)}>
            New application
          </Button>
        )
      }>
      <Card>
        <States of={applications} isEmpty={(list) => list.length === 0} empty={<p>The tenant sees no application.</p>}>
          {(list) => <SmallTable label="Applications" columns={columns} rows={list} />}
        </States>
        <MoreRows of={applications} noun="application" />
      </Card>
      {creating.value && <NewApplication onClose={() => (creating.value = false)} onChanged={reload} />}
      {uploading.value && (
        <Upload application={uploading.value} onClose={() => (uploading.value = null)} onChanged={reload} />
      )}
    </Page>
  );
}

function Address({ of: one }: { of: Application }) {
  if (one.type === "HOSTED" && one.activeVersionId)
    return (
      <a href={path`/apps/${one.contextPath}/`} target="_blank" rel="noreferrer">
        /apps/{one.contextPath}/
      </a>
    );
  return (
    <span class="faint">
      {one.type === "HOSTED"
        ? "no files uploaded"
        : one.contextPath && one.type === "MICROSERVICE"
          ? `/service/${one.contextPath}/`
          : "–"}
    </span>
  );
}

function Health({ of: { health } }: { of: Application }) {
  if (!health) return <span class="faint">–</span>;
  return (
    <span title={health.message}>
      <StatusMark of={health.status} />{" "}
      {health.since && (
        <span class="faint">
          since <Time at={health.since} as="ago" />
        </span>
      )}
    </span>
  );
}

function Actions({
  of: one,
  isSubscribed,
  onUpload,
  onChanged,
}: {
  of: Application;
  isSubscribed: boolean;
  onUpload: () => void;
  onChanged: () => void;
}) {
  const address = path`/application/applications/${one.id}`;
  const subscribe = () => call("POST", subscriptions(), { body: { application: { id: one.id } } }).then(onChanged);
  const unsubscribe = () => call("DELETE", subscriptions() + path`/${one.id}`).then(onChanged);
  return (
    <span class="row-actions">
      {isSubscribed ? (
        <Action
          class="small"
          label={`Unsubscribe from ${one.name}`}
          run={unsubscribe}
          confirm={{
            title: `Unsubscribe from ${one.name}?`,
            text: "Its user in this tenant is deleted, and so are roles that it defined.",
            button: "Unsubscribe",
          }}>
          Unsubscribe
        </Action>
      ) : (
        <Action
          class="small"
          label={`Subscribe to ${one.name}`}
          run={subscribe}
          done={`The tenant subscribes to ${one.name}.`}>
          Subscribe
        </Action>
      )}
      {isOwn(one) && one.type !== "EXTERNAL" && (
        <Button class="small" label={`Upload ${one.name}`} onClick={onUpload}>
          Upload
        </Button>
      )}
      {isOwn(one) && (
        <Action
          class="small"
          label={`Delete ${one.name}`}
          run={() => call("DELETE", address).then(onChanged)}
          done={`${one.name} was deleted.`}
          confirm={{
            title: `Delete the application ${one.name}?`,
            text: "Its files and its users are deleted.",
            button: "Delete application",
            typed: one.name,
          }}>
          Delete
        </Action>
      )}
    </span>
  );
}

function NewApplication({ onClose, onChanged }: WindowProps) {
  const kind = useSignal("HOSTED");
  const send = async (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? "").trim() || undefined;
    const name = text("name")!;
    const body = {
      name,
      key: text("key"),
      type: kind.value,
      contextPath: text("contextPath"),
      resourcesUrl: kind.value === "HOSTED" ? "/" : undefined,
      externalUrl: text("externalUrl"),
    };
    await call("POST", "/application/applications", { body });
    tell(kind.value === "EXTERNAL" ? `${name} exists.` : `${name} exists. Upload its archive.`);
  };
  return (
    <FormDialog title="New application" onClose={onClose} onChanged={onChanged} send={send} action="Create">
      <Field label="Kind">
        <select value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value)}>
          {["HOSTED", "MICROSERVICE", "EXTERNAL"].map((one) => (
            <option key={one} value={one}>
              {KINDS[one]}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Name" hint={kind.value === "MICROSERVICE" ? "a-z, A-Z, 0-9, - _ and ." : undefined}>
        <input name="name" required />
      </Field>
      <Field label="Key" hint="A word of your own that no other application has.">
        <input name="key" required autocapitalize="none" spellcheck={false} />
      </Field>
      {kind.value === "EXTERNAL" ? (
        <Field label="Address">
          <input name="externalUrl" type="url" required />
        </Field>
      ) : (
        <Field label="Path" hint="Its address is /apps/<path>/, or /service/<path>/ for a microservice.">
          <input name="contextPath" required autocapitalize="none" spellcheck={false} />
        </Field>
      )}
    </FormDialog>
  );
}

function Upload({ application, onClose, onChanged }: WindowProps & { application: Application }) {
  const part = useSignal<number | null>(null);
  const send = async (form: FormData) => {
    part.value = 0;
    try {
      await upload(
        path`/application/applications/${application.id}/binaries`,
        form.get("file") as File,
        (arrived) => (part.value = arrived),
      );
    } finally {
      part.value = null;
    }
    tell(`The archive of ${application.name} is active.`);
  };
  return (
    <FormDialog
      title={`Upload ${application.name}`}
      onClose={onClose}
      onChanged={onChanged}
      send={send}
      action="Upload and activate">
      <Field label="ZIP archive" hint="It replaces the active version at once.">
        <input name="file" type="file" accept=".zip,application/zip" required />
      </Field>
      {part.value !== null && <progress max={1} value={part.value} aria-label="How much of the archive has arrived" />}
    </FormDialog>
  );
}
