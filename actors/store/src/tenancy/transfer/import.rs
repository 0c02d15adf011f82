//! Creates a tenant from an export.

use deadpool_postgres::Transaction;
use platform_model::error::Result;
use platform_model::users::user::Administration;
use tokio::sync::Mutex;

use super::arrival::{Arrival, prove};
use super::copying::FileRows;
use super::{Content, Existing, Mode, Secrets, Source, Target, partitions, unusable};
use crate::Database;
use crate::realtime::announcements::{Announcements, change_over, rehearse};
use crate::tenancy::tenants;

/// Creates a tenant from an export, or replaces a suspended one, and notifies every server process. Returns the number
/// of secrets that could not be opened. One transaction, apart from partitions, which are made before: it is rolled
/// back unless every table has the rows that the file claims.
///
/// # Errors
/// `Duplicate` for a tenant or a domain that exists; `Invalid` for a file that does not fit this deployment, or that
/// contains other rows than it claims; `Unavailable` or `Database`.
pub async fn import(
    database: &Database,
    by: &Administration,
    (content, source): (&Content, &Mutex<impl Source>),
    target: &Target,
    (existing, mode): (Existing, Mode),
    secrets: &Secrets<'_>,
) -> Result<usize> {
    let connect = async || database.patient_loader().await;
    let work = async |transaction: &Transaction<'_>, announcements: &Announcements| {
        let closed = run(transaction, announcements, (content, source), (target, existing), secrets).await?;
        tenants::audit::imported(transaction, announcements, by, &target.tenant).await?;
        Ok(closed)
    };
    match mode {
        Mode::Rehearsal => rehearse(database, connect, work).await,
        Mode::Real => {
            partitions::make(database, &content.partitions).await?;
            change_over(database, connect, work).await
        }
    }
}

async fn run(
    transaction: &Transaction<'_>,
    announcements: &Announcements,
    (content, source): (&Content, &Mutex<impl Source>),
    (target, existing): (&Target, Existing),
    secrets: &Secrets<'_>,
) -> Result<usize> {
    let expected: Vec<_> = content.tables.iter().map(|table| (&*table.table, &*table.columns)).collect();
    let arrival =
        Arrival::begin(transaction, announcements, target, existing, (&expected, &content.applications))
            .await?;
    let mut source = source.lock().await;
    for table in &arrival.tables {
        let rows = source.rows(&table.name).map_err(|error| unusable(&error))?;
        arrival.copy(table, &table.name, &mut FileRows(rows)).await?;
    }
    prove(&content.tables, &arrival.contents().await?)?;
    if content.status == "ACTIVE" {
        arrival.leave_room().await?;
    }
    arrival.complete(announcements, (&content.tenant, &content.tables), secrets).await
}
