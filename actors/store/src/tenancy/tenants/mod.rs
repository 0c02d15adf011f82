//! Tenants in PostgreSQL. Every server process is notified of each change that affects their users.

pub(super) mod audit;
pub mod options;
mod sub_tenants;

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::page::{After, Page, PageRequest};
use platform_model::tenancy::subscription::ApplicationReferences;
use platform_model::tenancy::tenant::{NewTenant, Tenant, TenantPatch, TenantStatus};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::{Administration, User};
use serde_json::value::RawValue;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

pub use sub_tenants::count_sub_tenants;

use crate::Database;
use crate::applications::users;
use crate::query::filter::page_of;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, Change, change};
use crate::users::changes;
use crate::users::groups;

const INSERT: &str = include_str!("../../../../../sql/queries/tenants/insert.sql");
const FIND: &str = include_str!("../../../../../sql/queries/tenants/find.sql");
const FIND_BELOW: &str = include_str!("../../../../../sql/queries/tenants/find_below.sql");
const LIST_BELOW: &str = include_str!("../../../../../sql/queries/tenants/list_below.sql");
const COUNT_BELOW: &str = include_str!("../../../../../sql/queries/tenants/count_below.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/tenants/update.sql");
const UPDATE_ADMIN_PASSWORD: &str =
    include_str!("../../../../../sql/queries/tenants/update_admin_password.sql");
const LIST_DOMAINS: &str = include_str!("../../../../../sql/queries/tenants/list_domains.sql");
const SUSPEND: &str = include_str!("../../../../../sql/queries/tenants/suspend.sql");
const HAND_OVER: &str = include_str!("../../../../../sql/queries/tenants/hand_over.sql");
pub(super) const DELETE: &str = include_str!("../../../../../sql/queries/tenants/delete.sql");
const PLAN_BY_INDEX: &str = include_str!("../../../../../sql/queries/tenants/plan_by_index.sql");

/// The tables whose rows of one tenant are unbounded, with the rest of their keys. A table comes before the tables its
/// rows reference, so that deleting a row cascades to few others. Rows of other tables are deleted with the tenant
/// itself. Applications are deleted first of all, because they have users in other tenants.
const CONTENTS: [(&str, &str); 26] = [
    ("consumers", "name"),
    ("journal_notifications", "position, arrived_at"),
    ("subscriptions", "application"),
    ("access_tokens", "hash"),
    ("token_clients", "id"),
    ("user_tokens", "id"),
    ("bulk_operations", "id"),
    ("bulk_operation_targets", "bulk_operation, position"),
    ("measurement_rollups", "source, shape, hour, zone"),
    ("measurement_rollup_marks", "source"),
    ("measurements", "id"),
    ("source_shapes", "source, shape"),
    ("measurement_shapes", "id"),
    ("links", "parent, kind, child"),
    ("external_ids", "type, value"),
    ("alarms", "id"),
    ("binary_chunks", "binary_id, number"),
    ("binaries", "id"),
    ("events", "id"),
    ("device_placements", "user_name"),
    ("operations", "id"),
    ("managed_objects", "id"),
    ("audit_records", "id"),
    ("new_device_requests", "id"),
    ("users", "name"),
    ("modules", "id"),
];
/// The number of rows that one transaction of a deletion deletes.
const CHUNK: i64 = 2000;

/// Creates a tenant of the installation with its default groups (U-10) and notifies every server process. One
/// transaction. Without an administration, as at the first start, it is not audited (Y-07).
///
/// # Errors
/// `Duplicate` when the id or the domain is in use.
pub async fn insert_tenant(
    database: &Database,
    administration: Option<&Administration>,
    tenant: &NewTenant,
) -> Result<()> {
    change(database, async |transaction, announcements| {
        insert(transaction, tenant).await?;
        groups::insert_default_groups(transaction, &tenant.id).await?;
        if let Some(administration) = administration {
            audit::created(transaction, announcements, administration, &tenant.id).await?;
        }
        announcements.add(Change::Tenant(tenant.id.clone()));
        Ok(())
    })
    .await
}

/// Creates a tenant with its default groups and its first user, an administrator, and notifies every server process.
/// It is audited in the tenant and in that of the caller (Y-07). One transaction.
///
/// # Errors
/// `Duplicate` when the id or the domain is in use; `QuotaExceeded` when the caller's tenant has as many sub-tenants as
/// it may have, or has used up its bytes (Z-20).
pub async fn create_tenant(
    database: &Database,
    administration: &Administration,
    tenant: &NewTenant,
    admin: &User,
    password_hash: Option<&str>,
) -> Result<Tenant> {
    database.ensure_stored_quota(&administration.tenant)?;
    change(database, async |transaction, announcements| {
        sub_tenants::ensure_room_for_another(database, transaction, &administration.tenant).await?;
        let created = insert(transaction, tenant).await?;
        // A request that ran while a tenant of this id was deleted may have left rows.
        delete_contents(transaction, announcements, &tenant.id).await?;
        groups::insert_default_groups(transaction, &tenant.id).await?;
        changes::enter_administrator(transaction, announcements, admin, password_hash).await?;
        audit::created(transaction, announcements, administration, &tenant.id).await?;
        announcements.add(Change::Tenant(tenant.id.clone()));
        Ok(created)
    })
    .await
}

async fn insert(client: &impl GenericClient, tenant: &NewTenant) -> Result<Tenant> {
    let members = &tenant.members;
    let (domain, company) = (members.domain.as_deref(), members.company.as_deref());
    let status = members.status.unwrap_or(TenantStatus::Active).as_str();
    let no_properties = RawValue::from_string("{}".into()).expect("an empty object is JSON");
    let custom_properties = members.custom_properties.as_ref().unwrap_or(&no_properties);
    let inserted = client
        .query_one(
            INSERT,
            &[
                &tenant.id.as_str(),
                &domain,
                &company,
                &members.contact_name.as_ref().and_then(Option::as_ref),
                &members.contact_phone.as_ref().and_then(Option::as_ref),
                &tenant.admin_name,
                &members.admin_email.as_ref().and_then(Option::as_ref),
                &status,
                &members.allow_create_tenants.unwrap_or(false),
                &members.storage_limit_per_device.unwrap_or(0),
                &Json(custom_properties),
                &tenant.parent.as_ref().map(TenantId::as_str),
            ],
        )
        .await;
    let duplicate = || format!("{} ({})", tenant.id, domain.unwrap_or_default());
    from_row(&unless_duplicate(inserted, duplicate)?)
}

fn unless_duplicate<T>(outcome: Result<T, tokio_postgres::Error>, key: impl FnOnce() -> String) -> Result<T> {
    match outcome.map_err(Error::from) {
        Err(error) if error.is_unique_violation() => Err(Error::Duplicate { noun: Noun::Tenant, key: key() }),
        other => other,
    }
}

/// Returns a tenant, without a check of the caller.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_tenant(database: &Database, tenant: &TenantId) -> Result<Tenant> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str()]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?)
}

/// Returns a tenant that `caller` manages: `management` manages all tenants, every other tenant those that it created.
///
/// # Errors
/// `NotFound` both for an unknown tenant and for one that the caller does not manage.
pub async fn get_tenant_below(database: &Database, caller: &TenantId, tenant: &TenantId) -> Result<Tenant> {
    let row = database.reader().await?.find(FIND_BELOW, &[&caller.as_str(), &tenant.as_str()]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?)
}

/// Returns a page of the tenants that `caller` manages, by id, with their number (P-02).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_tenants_below(
    database: &Database,
    caller: &TenantId,
    page: &PageRequest,
) -> Result<Page<Tenant>> {
    let client = database.reader().await?;
    let count = client.row(COUNT_BELOW, &[&caller.as_str()]).await?;
    let (after, limit) = (page.after_name(), i64::from(page.size) + 1);
    let rows = client.rows(LIST_BELOW, &[&caller.as_str(), &after, &limit, &page.offset()]).await?;
    let tenants = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    let count = page.count_of(count.get(0));
    let page = page_of(tenants, page, |tenant| After::Name(tenant.id.as_str().into()));
    Ok(Page { count, ..page })
}

/// Changes a tenant that `caller` manages; `admin_password` is hashed. When the status or the domain changes, every
/// server process is notified: it drops the cached users of the tenant and ends their sessions. One transaction.
///
/// # Errors
/// `NotFound` for a tenant that is unknown or that the caller does not manage; `Duplicate` when the domain is in use;
/// `Invalid` for a password when the first user was deleted.
pub async fn update_tenant(
    database: &Database,
    administration: &Administration,
    tenant: &TenantId,
    patch: &TenantPatch,
) -> Result<Tenant> {
    let caller = &administration.tenant;
    change(database, async |transaction, announcements| {
        let row = transaction
            .query_opt(
                UPDATE,
                &[
                    &caller.as_str(),
                    &tenant.as_str(),
                    &patch.domain,
                    &patch.company,
                    &patch.contact_name.is_some(),
                    &patch.contact_name.as_ref().and_then(Option::as_ref),
                    &patch.contact_phone.is_some(),
                    &patch.contact_phone.as_ref().and_then(Option::as_ref),
                    &patch.admin_email.is_some(),
                    &patch.admin_email.as_ref().and_then(Option::as_ref),
                    &patch.status.map(TenantStatus::as_str),
                    &patch.allow_create_tenants,
                    &patch.storage_limit_per_device,
                    &patch.custom_properties.as_ref().map(Json),
                ],
            )
            .await;
        let row = unless_duplicate(row, || patch.domain.clone().unwrap_or_default())?
            .ok_or_else(|| Error::not_found(Noun::Tenant, tenant))?;
        let changed = from_row(&row)?;
        if changed.status == TenantStatus::Moved && patch.status.is_some() {
            return Err(Error::Conflict { noun: Noun::Tenant, message: has_moved(tenant) });
        }
        if let Some(hash) = &patch.admin_password {
            update_admin_password(transaction, announcements, &changed, hash).await?;
        }
        let before = (row.get(13), row.get(14), row.get(15));
        if (changed.status.as_str(), &*changed.domain) != (before.0, before.1) {
            announcements.add(Change::Tenant(tenant.clone()));
        }
        audit::updated(transaction, announcements, administration, before, &changed, patch).await?;
        Ok(changed)
    })
    .await
}

/// Returns why the status of a tenant that has moved cannot be changed.
fn has_moved(tenant: &TenantId) -> String {
    format!(
        "tenant {tenant} has moved to another deployment, so only the operator can activate it here: platform admin \
         tenant move --undo"
    )
}

async fn update_admin_password(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenant: &Tenant,
    hash: &str,
) -> Result<()> {
    let changed = client.execute(UPDATE_ADMIN_PASSWORD, &[&tenant.id.as_str(), &hash]).await?;
    match &tenant.admin_name {
        Some(admin) if changed == 1 => {
            announcements.add_user(&tenant.id, admin);
            Ok(())
        }
        _ => Err(Error::Invalid("Invalid value of 'adminPass': the tenant has no such user any more".into())),
    }
}

/// Deletes a tenant with all its data. It is suspended first and then emptied in many small transactions, so that a
/// tenant with millions of objects blocks nobody else. An interrupted deletion continues when this is called again.
///
/// # Errors
/// `NotFound`; `Forbidden` for the tenant of the installation; `Unavailable` or `Database`.
pub async fn delete_tenant(
    database: &Database,
    administration: &Administration,
    tenant: &TenantId,
) -> Result<()> {
    if tenant.as_str() == MANAGEMENT {
        return Err(Error::Forbidden);
    }
    suspend(database, tenant).await?;
    while delete_some_applications(database, tenant).await? {}
    for (table, key) in CONTENTS {
        while delete_some(database, tenant, table, key).await? == CHUNK as u64 {}
    }
    change(database, async |transaction, announcements| {
        delete_contents(transaction, announcements, tenant).await?;
        transaction.execute(HAND_OVER, &[&tenant.as_str()]).await?;
        transaction.execute(DELETE, &[&tenant.as_str()]).await?;
        audit::deleted(transaction, announcements, administration, tenant).await?;
        announcements.add(Change::Tenant(tenant.clone()));
        announcements.add(Change::Applications(tenant.clone()));
        Ok(())
    })
    .await
}

/// Deletes some applications of a tenant together with their users in other tenants, which are announced. Returns
/// `false` when there is none. One transaction.
async fn delete_some_applications(database: &Database, tenant: &TenantId) -> Result<bool> {
    change(database, async |transaction, announcements| {
        users::delete_some_applications(transaction, announcements, tenant).await
    })
    .await
}

async fn suspend(database: &Database, tenant: &TenantId) -> Result<()> {
    change(database, async |transaction, announcements| {
        if transaction.execute(SUSPEND, &[&tenant.as_str()]).await? == 0 {
            return Err(Error::not_found(Noun::Tenant, tenant));
        }
        announcements.add(Change::Tenant(tenant.clone()));
        Ok(())
    })
    .await
}

/// Deletes the next rows of a table and returns their number. One transaction, on whatever connection is free, so that
/// a long deletion does not occupy one.
async fn delete_some(database: &Database, tenant: &TenantId, table: &str, key: &str) -> Result<u64> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    transaction.batch_execute(PLAN_BY_INDEX).await?;
    let statement = deletion(table, key);
    let deleted = transaction.execute(&statement, &[&tenant.as_str(), &Some(CHUNK)]).await?;
    transaction.commit().await?;
    Ok(deleted)
}

/// Deletes all rows of a tenant, except those that are deleted with the tenant itself. A part of a transaction.
pub(super) async fn delete_contents(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenant: &TenantId,
) -> Result<()> {
    while users::delete_some_applications(client, announcements, tenant).await? {}
    for (table, key) in CONTENTS {
        client.execute(&deletion(table, key), &[&tenant.as_str(), &None::<i64>]).await?;
    }
    Ok(())
}

/// Returns the statement that deletes some rows of a tenant, or all of them when their number is null. It deletes by
/// physical position and not by key, so each part costs only its own rows. A row that moves meanwhile is deleted by the
/// next part.
fn deletion(table: &str, key: &str) -> String {
    format!(
        "DELETE FROM {table} WHERE tenant = $1 AND ctid = ANY(ARRAY(\
         SELECT few.ctid FROM {table} few WHERE few.tenant = $1 ORDER BY {key} LIMIT $2::bigint))"
    )
}

/// Returns the id and the domain of every tenant, to resolve host names to tenants.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_domains(database: &Database) -> Result<Vec<(TenantId, String, TenantStatus)>> {
    let client = database.loader().await?;
    let rows = client.query(LIST_DOMAINS, &[]).await?;
    let read = |row: &Row| Ok((TenantId::parse(row.get(0))?, row.get(1), TenantStatus::stored(row.get(2))?));
    rows.iter().map(read).collect()
}

fn from_row(row: &Row) -> Result<Tenant> {
    let id = TenantId::parse(row.get(0))?;
    // Tenants of the installation are below its tenant.
    let parent = row.get::<_, Option<String>>(11).or_else(|| Some(MANAGEMENT.to_owned()));
    Ok(Tenant {
        domain: row.get(1),
        company: row.get(2),
        contact_name: row.get(3),
        contact_phone: row.get(4),
        admin_name: row.get(5),
        admin_email: row.get(6),
        status: TenantStatus::stored(row.get(7))?,
        allow_create_tenants: row.get(8),
        storage_limit_per_device: row.get(9),
        custom_properties: row.get::<_, Json<Box<RawValue>>>(10).0,
        parent: parent.filter(|_| id.as_str() != MANAGEMENT),
        creation_time: Timestamp::stored(row.get(12), 0),
        applications: ApplicationReferences::default(),
        owned_applications: ApplicationReferences::default(),
        id,
    })
}
