//! Registration requests in PostgreSQL, as users see them. The part of the devices is in
//! [`credentials`](crate::devices::credentials).

use std::collections::HashSet;

use deadpool_postgres::GenericClient;
use platform_model::device_id::DeviceId;
use platform_model::devices::new_device_request::{
    DeviceToRegister, NewDeviceRequest, RequestStatus, unknown_group,
};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::page::{Page, PageRequest, Position};
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::devices::certificates::enrollments;
use crate::devices::users;
use crate::query::filter::{Filtered, Order, page_of};
use crate::query::prepared::PreparedQueries;

const INSERT: &str = include_str!("../../../../sql/queries/new_device_requests/insert.sql");
const LIST_TAKEN: &str = include_str!("../../../../sql/queries/new_device_requests/list_taken.sql");
const FIND: &str = include_str!("../../../../sql/queries/new_device_requests/find.sql");
const LOCK: &str = include_str!("../../../../sql/queries/new_device_requests/lock.sql");
const UPDATE_STATUS: &str = include_str!("../../../../sql/queries/new_device_requests/update_status.sql");
const DELETE: &str = include_str!("../../../../sql/queries/new_device_requests/delete.sql");
const FIND_EXISTING: &str = include_str!("../../../../sql/queries/managed_objects/find_existing.sql");

/// The columns of a request, in the order [`from_row`] reads them: those of `find.sql`.
const COLUMNS: &str = "r.id, r.status, r.owner, r.created_at, r.group_id, r.number";

/// Stores a request with status WAITING_FOR_CONNECTION, also after an earlier request, with the hash of a one-time
/// password for its first certificate. One transaction.
///
/// # Errors
/// `Invalid` for an unknown group, `Duplicate` when there is a request for this id in any tenant (N-05, N-07);
/// `Unavailable` or `Database`.
pub async fn insert_new_device_request(
    database: &Database,
    tenant: &TenantId,
    new: &DeviceToRegister,
    enrollment_hash: Option<&str>,
    owner: &str,
) -> Result<NewDeviceRequest> {
    database.ensure_stored_quota(tenant)?;
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let user = new.id.user_name();
    if !users::list_others(&transaction, tenant, &[&user]).await?.is_empty() {
        return Err(users::refused(&user));
    }
    if let Some(group) = new.group {
        let found = transaction.find(FIND_EXISTING, &[&tenant.as_str(), &vec![group.0]]).await?;
        found.ok_or_else(|| unknown_group(group))?;
    }
    let (ids, groups) = ([new.id.as_str()], [new.group.map(|group| group.0)]);
    let parameters: [&(dyn ToSql + Sync); 4] = [&tenant.as_str(), &&ids[..], &owner, &&groups[..]];
    let row = transaction.find(INSERT, &parameters).await;
    let row = row.map_err(|error| taken_meanwhile(error, &ids))?.ok_or_else(|| taken(ids[0]))?;
    if let Some(hash) = enrollment_hash {
        enrollments::set_hash(&transaction, tenant, &new.id, hash).await?;
    }
    transaction.commit().await?;
    from_row(tenant, &row)
}

/// Stores requests for devices, each with the group of the device, as part of the caller's transaction.
///
/// # Errors
/// `Duplicate` when any tenant has a request for one of them, or when one occurs twice: the transaction must not be
/// committed then. `Unavailable` or `Database`.
pub(crate) async fn insert_all(
    client: &impl GenericClient,
    tenant: &TenantId,
    owner: &str,
    devices: &[(&DeviceId, Option<ManagedObjectId>)],
) -> Result<()> {
    let ids: Vec<&str> = devices.iter().map(|(id, _)| id.as_str()).collect();
    let groups: Vec<Option<i64>> = devices.iter().map(|(_, group)| group.map(|group| group.0)).collect();
    let rows = client.rows(INSERT, &[&tenant.as_str(), &ids, &owner, &groups]).await;
    let rows = rows.map_err(|error| taken_meanwhile(error, &ids))?;
    let stored: HashSet<&str> = rows.iter().map(|row| row.get(0)).collect();
    match ids.iter().find(|id| !stored.contains(**id)) {
        None => Ok(()),
        Some(id) => Err(taken(id)),
    }
}

fn taken(id: &str) -> Error {
    Error::Duplicate { noun: Noun::NewDeviceRequest, key: id.to_owned() }
}

/// Returns the error for ids that were registered concurrently. The statement skips an id that another tenant has
/// registered; when one tenant registers an id at two servers at the same time, the primary key may reject it first.
fn taken_meanwhile(error: Error, ids: &[&str]) -> Error {
    if error.is_unique_violation() { taken(&ids.join(", ")) } else { error }
}

/// Returns those of the given devices for which any tenant has a request.
pub(crate) async fn list_taken(client: &impl GenericClient, ids: &[&DeviceId]) -> Result<HashSet<String>> {
    let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let rows = client.rows(LIST_TAKEN, &[&ids]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns a request.
///
/// # Errors
/// `NotFound`, also when its credentials were used or it has expired (N-08); `Unavailable` or `Database`.
pub async fn get_new_device_request(
    database: &Database,
    tenant: &TenantId,
    id: &DeviceId,
) -> Result<NewDeviceRequest> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str(), &id.as_str()]).await?;
    from_row(tenant, &row.ok_or_else(|| not_found(id))?)
}

/// Returns a page of requests in the order of their creation.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_new_device_requests(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<NewDeviceRequest>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("new_device_requests r", "r.tenant", tenant.as_str());
    filtered.only("(r.credentials_until IS NULL OR r.credentials_until > now())");
    let count = filtered.total(&client, page.total).await?;
    let rows =
        client.rows(&filtered.page(COLUMNS, Order::Id("r.number"), page), &filtered.parameters()).await?;
    let requests = rows.iter().map(|row| from_row(tenant, row)).collect::<Result<Vec<_>>>()?;
    Ok(Page { count, ..page_of(requests, page, |request| Position::of_id(request.number)) })
}

/// Changes the status, within the transitions of N-03. One transaction.
///
/// # Errors
/// `NotFound`; `Invalid` for a transition back; `Unavailable` or `Database`.
pub async fn update_status(
    database: &Database,
    tenant: &TenantId,
    id: &DeviceId,
    status: RequestStatus,
) -> Result<NewDeviceRequest> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let (request, _) = lock(&transaction, tenant, id).await?;
    request.status.ensure_may_become(status)?;
    if request.status == status {
        return Ok(request);
    }
    transaction.run(UPDATE_STATUS, &[&tenant.as_str(), &id.as_str(), &status.as_str()]).await?;
    transaction.commit().await?;
    Ok(NewDeviceRequest { status, ..request })
}

/// Deletes a request and its uncollected password. The user that was created with its credentials stays.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn delete_new_device_request(database: &Database, tenant: &TenantId, id: &DeviceId) -> Result<()> {
    let row = database.reader().await?.find(DELETE, &[&tenant.as_str(), &id.as_str()]).await?;
    if row.is_some_and(|row| row.get(0)) { Ok(()) } else { Err(not_found(id)) }
}

/// Returns a request with its encrypted password and locks it until the transaction ends.
pub(crate) async fn lock(
    client: &impl GenericClient,
    tenant: &TenantId,
    id: &DeviceId,
) -> Result<(NewDeviceRequest, Option<String>)> {
    let row = client.find(LOCK, &[&tenant.as_str(), &id.as_str()]).await?;
    let row = row.ok_or_else(|| not_found(id))?;
    Ok((from_row(tenant, &row)?, row.get(6)))
}

pub(crate) fn not_found(id: &DeviceId) -> Error {
    Error::not_found(Noun::NewDeviceRequest, id)
}

fn from_row(tenant: &TenantId, row: &Row) -> Result<NewDeviceRequest> {
    Ok(NewDeviceRequest {
        tenant: tenant.clone(),
        id: DeviceId::parse(row.get(0))?,
        status: RequestStatus::parse(row.get(1))?,
        owner: row.get(2),
        creation_time: Timestamp::stored(row.get(3), 0),
        group: row.get::<_, Option<i64>>(4).map(ManagedObjectId),
        number: row.get(5),
    })
}
