//! Applications in PostgreSQL, and the event-processing [modules] that are deployed.

pub mod changes;
pub mod collection;
pub mod modules;
pub mod roles;
pub mod routes;
pub mod standard;
pub mod subscriptions;
pub mod users;
pub mod versions;

use std::sync::atomic::Ordering;

use deadpool_postgres::Transaction;
use platform_model::applications::application::{Application, ApplicationType, Availability, TenantRelation};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, BinaryId, TenantId};
use serde_json::value::RawValue;
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{self, Announcements, Change};

const GET: &str = include_str!("../../../../sql/queries/applications/get.sql");
const SEE: &str = include_str!("../../../../sql/queries/applications/see.sql");
const FIND_BY_KEY: &str = include_str!("../../../../sql/queries/applications/find_by_key.sql");
const FIND_AT: &str = include_str!("../../../../sql/queries/applications/find_at.sql");

impl Database {
    /// Returns a counter that rises when any server creates, changes or deletes an application or a subscription. A
    /// cache of applications stores it with each entry and reads it before the look-up.
    pub fn applications_generation(&self) -> u64 {
        self.applications.load(Ordering::Acquire)
    }

    /// Notes that an application or a subscription changed.
    pub fn applications_changed(&self) {
        self.applications.fetch_add(1, Ordering::Release);
    }
}

/// Changes applications or subscriptions of a tenant. One transaction, which is retried when it conflicts with
/// concurrent ones. Every server process is notified at its commit.
///
/// # Errors
/// The error of `work`; `Contended`, `Unavailable` or `Database`.
pub(crate) async fn change<T>(
    database: &Database,
    tenant: &TenantId,
    work: impl AsyncFn(&Transaction<'_>, &Announcements) -> Result<T>,
) -> Result<T> {
    announcements::change(database, async |transaction, announcements| {
        announcements.add(Change::Applications(tenant.clone()));
        work(transaction, announcements).await
    })
    .await
}

/// Returns an application, whichever tenant owns it.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_application(database: &Database, id: ApplicationId) -> Result<Application> {
    let row = database.loader().await?.find(GET, &[&id.0]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::Application, id))?)
}

/// An application as a tenant sees it.
#[derive(Debug, Clone)]
pub struct SeenApplication {
    /// The application.
    pub application: Application,
    /// The encrypted key, for the owner only (W-06).
    pub sealed_key: Option<String>,
}

/// Returns an application as a tenant sees it: its own, one it subscribes to, or one of the market (W-05).
///
/// # Errors
/// `NotFound` both for an unknown application and for one the tenant does not see; `Unavailable` or `Database`.
pub async fn see_application(
    database: &Database,
    tenant: &TenantId,
    id: ApplicationId,
) -> Result<SeenApplication> {
    let row = database.loader().await?.find(SEE, &[&tenant.as_str(), &id.0]).await?;
    seen_from_row(&row.ok_or_else(|| Error::not_found(Noun::Application, id))?)
}

/// Looks up the application at a context path as a tenant sees it. Returns `None` when the tenant does not see it.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_application_at(
    database: &Database,
    tenant: &TenantId,
    context_path: &str,
) -> Result<Option<(Application, TenantRelation)>> {
    let row = database.loader().await?.find(FIND_AT, &[&tenant.as_str(), &context_path]).await?;
    row.map(|row| {
        let relation = if row.get(14) { TenantRelation::Uses } else { TenantRelation::Sees };
        Ok((from_row(&row)?, relation))
    })
    .transpose()
}

/// Looks up the name of the application that has a key, whichever tenant owns it: keys are unique in the deployment
/// (W-04).
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_application_by_key(database: &Database, key_hash: &str) -> Result<Option<String>> {
    let row = database.loader().await?.find(FIND_BY_KEY, &[&key_hash]).await?;
    Ok(row.map(|row| row.get(0)))
}

/// Reads the columns of `see.sql`.
pub(crate) fn seen_from_row(row: &Row) -> Result<SeenApplication> {
    Ok(SeenApplication { application: from_row(row)?, sealed_key: row.get(14) })
}

/// Reads the columns of `get.sql`, which come first in every statement that returns applications.
pub(crate) fn from_row(row: &Row) -> Result<Application> {
    Ok(Application {
        id: ApplicationId(row.get(0)),
        owner: TenantId::parse(row.get(1))?,
        name: row.get(2),
        kind: ApplicationType::parse(row.get(3))?,
        availability: Availability::parse(row.get(4))?,
        context_path: row.get(5),
        resources_url: row.get(6),
        resources_username: row.get(7),
        external_url: row.get(8),
        required_roles: row.get(9),
        roles: row.get(10),
        manifest: row.get::<_, Option<Json<Box<RawValue>>>>(11).map(|manifest| manifest.0),
        active_version: row.get::<_, Option<i64>>(12).map(BinaryId),
        route: row.get(13),
    })
}
