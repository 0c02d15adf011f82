//! Columns that the rows of several nouns have.

use platform_model::error::Result;
use platform_model::fragments::Fragments;
use tokio_postgres::Row;

/// Reads a `json` or `jsonb` column without building a tree.
pub(crate) fn fragments(row: &Row, column: usize) -> Result<Fragments> {
    let json: tokio_postgres::types::Json<Fragments> = row.try_get(column)?;
    Ok(json.0)
}
