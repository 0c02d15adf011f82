//! Audit records of tenants: in the log of the tenant that manages them, and in their own (Y-07).

use deadpool_postgres::GenericClient;
use platform_model::data::audit_record::AttributeChange;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::tenancy::tenant::{Tenant, TenantPatch, TenantStatus};
use platform_model::users::user::Administration;

use crate::realtime::announcements::Announcements;
use crate::users::audit::{changed_text, insert_record, record};

const TYPE: &str = "Tenant";

/// Records that a tenant was created.
pub(super) async fn created(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    tenant: &TenantId,
) -> Result<()> {
    in_both_logs(client, announcements, administration, tenant, ("Tenant created", Vec::new())).await
}

/// Records that a tenant was imported.
pub(in crate::tenancy) async fn imported(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    tenant: &TenantId,
) -> Result<()> {
    in_both_logs(client, announcements, administration, tenant, ("Tenant imported", Vec::new())).await
}

/// Records that a tenant has moved to another deployment. Its own log is there.
pub(in crate::tenancy) async fn moved(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    tenant: &TenantId,
) -> Result<()> {
    let of_tenant = (TYPE, "Tenant moved", tenant.as_str());
    record(client, announcements, administration, of_tenant, Vec::new()).await
}

/// Records that a tenant was deleted. Its own log is gone with it.
pub(super) async fn deleted(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    tenant: &TenantId,
) -> Result<()> {
    let of_tenant = (TYPE, "Tenant deleted", tenant.as_str());
    record(client, announcements, administration, of_tenant, Vec::new()).await
}

/// Records what a PUT changed for the users of a tenant: its status, its domain, its right to create tenants and the
/// password of its first user. `before` has the previous values of the first three.
pub(super) async fn updated(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    before: (&str, &str, bool),
    after: &Tenant,
    patch: &TenantPatch,
) -> Result<()> {
    let changes = [
        changed_text("status", Some(before.0), Some(after.status.as_str())),
        changed_text("domain", Some(before.1), Some(&*after.domain)),
        changed_text("allowCreateTenants", Some(before.2), Some(after.allow_create_tenants)),
        patch.admin_password.as_ref().map(|_| AttributeChange::concealed("adminPass", true, true)),
    ];
    let changes: Vec<_> = changes.into_iter().flatten().collect();
    if changes.is_empty() {
        return Ok(());
    }
    let activity = match after.status {
        _ if before.0 == after.status.as_str() => "Tenant update",
        TenantStatus::Suspended => "Tenant suspended",
        TenantStatus::Active => "Tenant resumed",
        TenantStatus::Moved => "Tenant moved",
    };
    in_both_logs(client, announcements, administration, &after.id, (activity, changes)).await
}

/// Inserts the record into the log of the managing tenant and into that of the tenant itself.
async fn in_both_logs(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    tenant: &TenantId,
    (activity, changes): (&'static str, Vec<AttributeChange>),
) -> Result<()> {
    let of_tenant = (TYPE, activity, tenant.as_str());
    if administration.tenant != *tenant {
        let own = administration.in_log_of(tenant);
        insert_record(client, &own, TYPE, activity, tenant.to_string(), changes.clone()).await?;
    }
    record(client, announcements, administration, of_tenant, changes).await
}
