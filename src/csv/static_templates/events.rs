//! Static rows about events.

use super::Row;
use crate::csv::refusal::Refusal;

/// Carries out a row.
pub(super) async fn perform(_id: u32, row: &Row<'_>) -> Result<(), Refusal> {
    row.engine.own_device().await?;
    Err(Refusal::InvalidMessageId)
}
