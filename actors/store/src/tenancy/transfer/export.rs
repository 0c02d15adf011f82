//! Copies a tenant out.

use platform_model::error::Result;
use platform_model::id::TenantId;

use super::copying::Rows;
use super::snapshot::Snapshot;
use super::{Content, Output, unusable};
use crate::Database;

/// Copies all rows of a tenant to `output`, as they are at one moment, and returns the proof of them. It reads each
/// table in a stream. One transaction, which writes nothing and keeps no writer waiting.
///
/// # Errors
/// `NotFound`; `Invalid` if the output cannot be written; `Unavailable` or `Database`.
pub async fn export(database: &Database, tenant: &TenantId, output: &mut impl Output) -> Result<Content> {
    let mut client = database.patient_loader().await?;
    let snapshot = Snapshot::open(&mut client, tenant).await?;
    let mut content = Content { partitions: snapshot.partitions().await?, ..snapshot.describe().await? };
    let mut row = Vec::new();
    for table in snapshot.tables().await? {
        content.tables.push(snapshot.content(&table).await?);
        output.begin(&table.name).map_err(|error| unusable(&error))?;
        let mut rows = snapshot.rows(&table, None).await?;
        while rows.read(&mut row).await? {
            output.write(&row).map_err(|error| unusable(&error))?;
            row.clear();
        }
    }
    snapshot.end().await?;
    Ok(content)
}
