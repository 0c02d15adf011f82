// This tenant with its usage and its old data, and the tenants that it manages.

import { type Signal, useSignal } from "@preact/signals";
import { call, path } from "../../api";
import { useList } from "../../list";
import type { Tenant, TenantStatus } from "../../reference";
import { can, isManagement, session } from "../../session";
import { Time } from "../../time";
import { Action, Button, Field, FormDialog, Page, StatusMark, tell, type WindowProps } from "../../ui/kit";
import { ListCard } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { Options } from "./options";
import { Retention } from "./retention";
import { LimitsOf, Usage } from "./usage";

export function Tenants() {
  const mayCreate = can("ROLE_TENANT_MANAGEMENT_ADMIN", "ROLE_TENANT_MANAGEMENT_CREATE");
  const creating = useSignal(false);
  return (
    <Page
      title="Tenants"
      actions={
        mayCreate && (
          <Button class="primary" onClick={() => (creating.value = true)}>
            New tenant
          </Button>
        )
      }>
      <Usage />
      {can("ROLE_RETENTION_RULE_READ") && <Retention />}
      {can("ROLE_OPTION_MANAGEMENT_READ") && <Options />}
      {can("ROLE_TENANT_MANAGEMENT_READ") && <Managed creating={creating} />}
    </Page>
  );
}

function Managed({ creating }: { creating: Signal<boolean> }) {
  const tenants = useList<Tenant>({ path: "/tenant/tenants", member: "tenants", keyOf: (one) => one.id });
  const editing = useSignal<Tenant | null>(null);
  const open = useSignal<string | null>(null);
  const mayChange = can("ROLE_TENANT_MANAGEMENT_ADMIN", "ROLE_TENANT_MANAGEMENT_UPDATE");
  const columns: SmallColumn<Tenant>[] = [
    ["Tenant", (one) => <b>{one.id}</b>],
    ["Company", (one) => one.company],
    ["Domain", (one) => one.domain],
    ["Status", (one) => <StatusMark of={one.status} />],
    ["Created", (one) => <Time at={one.creationTime} />],
    [
      "Actions",
      (one) => (
        <span class="row-actions">
          <Button class="small" label={`Limits of ${one.id}`} onClick={() => (open.value = one.id)}>
            Limits
          </Button>
          {mayChange && (
            <Button class="small" label={`Edit ${one.id}`} onClick={() => (editing.value = one)}>
              Edit
            </Button>
          )}
          {mayChange && one.id !== session.value?.tenant && <Switch of={one} onChanged={tenants.reload} />}
        </span>
      ),
      "actions",
    ],
  ];
  return (
    <ListCard
      title="Tenants below this one"
      of={tenants}
      noun="tenant"
      empty={<p>This tenant manages no other.</p>}
      below={
        <>
          {editing.value && (
            <EditTenant tenant={editing.value} onClose={() => (editing.value = null)} onChanged={tenants.reload} />
          )}
          {open.value && <LimitsOf tenant={open.value} onClose={() => (open.value = null)} />}
          {creating.value && <NewTenant onClose={() => (creating.value = false)} onChanged={tenants.reload} />}
        </>
      }>
      {(list) => <SmallTable label="Tenants" columns={columns} rows={list} />}
    </ListCard>
  );
}

/** The button that suspends a tenant, or activates a suspended one. One that has moved is activated elsewhere. */
function Switch({ of: { id, status }, onChanged }: { of: Tenant; onChanged: () => void }) {
  const setStatus = (status: TenantStatus) => () =>
    call("PUT", path`/tenant/tenants/${id}`, { body: { status } }).then(onChanged);
  if (status === "MOVED") return null;
  if (status === "SUSPENDED") {
    return (
      <Action class="small" label={`Activate ${id}`} run={setStatus("ACTIVE")}>
        Activate
      </Action>
    );
  }
  const question = {
    title: `Suspend the tenant ${id}?`,
    text: "All its connections end, and nobody of it can log in until it is activated.",
    button: "Suspend tenant",
    typed: id,
  };
  return (
    <Action class="small" label={`Suspend ${id}`} confirm={question} run={setStatus("SUSPENDED")}>
      Suspend
    </Action>
  );
}

function EditTenant({ tenant, onClose, onChanged }: WindowProps & { tenant: Tenant }) {
  const address = path`/tenant/tenants/${tenant.id}`;
  const send = async (form: FormData) => {
    const text = (name: string) => String(form.get(name)).trim();
    await call("PUT", address, {
      body: {
        domain: text("domain"),
        company: text("company"),
        contactName: text("contactName") || null,
        contactPhone: text("contactPhone") || null,
      },
    });
    tell(`The tenant ${tenant.id} was changed.`);
  };
  const remove = () => call("DELETE", address).then(() => (onChanged(), onClose()));
  const question = {
    title: `Delete the tenant ${tenant.id} with all its data?`,
    text: "Its devices, their data, its users and its applications are deleted. Nothing brings them back.",
    button: "Delete tenant",
    typed: tenant.id,
  };
  const mayDelete = isManagement.value && can("ROLE_TENANT_MANAGEMENT_ADMIN") && tenant.id !== session.value?.tenant;
  return (
    <FormDialog
      title={`Edit ${tenant.id}`}
      onClose={onClose}
      onChanged={onChanged}
      send={send}
      action="Save"
      beside={
        mayDelete && (
          <Action run={remove} confirm={question} done={`The tenant ${tenant.id} was deleted.`}>
            Delete
          </Action>
        )
      }>
      <Field label="Domain">
        <input name="domain" required defaultValue={tenant.domain} />
      </Field>
      <Field label="Company">
        <input name="company" required defaultValue={tenant.company} />
      </Field>
      <Field label="Contact">
        <input name="contactName" defaultValue={tenant.contactName ?? ""} maxLength={30} />
      </Field>
      <Field label="Phone">
        <input name="contactPhone" defaultValue={tenant.contactPhone ?? ""} maxLength={20} />
      </Field>
    </FormDialog>
  );
}

function NewTenant({ onClose, onChanged }: WindowProps) {
  const send = async (data: FormData) => {
    const body = Object.fromEntries(data);
    await call("POST", "/tenant/tenants", { body });
    tell(`The tenant ${body.id} exists. Log in as ${body.id}/${body.adminName}.`);
  };
  return (
    <FormDialog title="New tenant" onClose={onClose} onChanged={onChanged} send={send} action="Create">
      <Field label="Id" hint="It never changes, and users log in with it.">
        <input name="id" required autocapitalize="none" />
      </Field>
      <Field label="Domain">
        <input name="domain" required placeholder="acme.example.com" />
      </Field>
      <Field label="Company">
        <input name="company" required />
      </Field>
      <Field label="Administrator">
        <input name="adminName" required value="admin" autocomplete="off" />
      </Field>
      <Field label="Password" hint="6 to 32 characters">
        <input name="adminPass" type="password" required minLength={6} autocomplete="new-password" />
      </Field>
      <Field label="E-mail">
        <input name="adminEmail" type="email" required autocomplete="off" />
      </Field>
    </FormDialog>
  );
}
