//! Static rows about device.

use super::Row;
use crate::csv::line::Lines;
use crate::csv::refusal::Refusal;

/// Carries out a row.
pub(super) async fn perform(_id: u32, row: &Row<'_>, _lines: &mut Lines) -> Result<(), Refusal> {
    row.arguments.none()?;
    Err(Refusal::InvalidMessageId)
}
