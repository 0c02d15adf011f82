//! Copies rows into a table.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::pin::{Pin, pin};

use bytes::{Bytes, BytesMut};
use deadpool_postgres::Transaction;
use futures_util::SinkExt;
use platform_model::error::{Error, Result};
use tokio_postgres::CopyInSink;

use super::tables::Table;
use super::unusable;

/// The size of a part that is sent to PostgreSQL.
const PART: usize = 1 << 16;
/// The greatest size of a row: PostgreSQL takes none above a gigabyte, and no row of a tenant comes near this.
const LARGEST_ROW: u64 = 1 << 28;

/// Rows in the text format of `COPY`.
pub(super) trait Rows {
    /// Appends the next row to `row`, with its line end. Returns `false` after the last one.
    async fn read(&mut self, row: &mut Vec<u8>) -> Result<bool>;
}

/// The rows in a file.
pub(super) struct FileRows<R>(pub(super) R);

impl<R: BufRead> Rows for FileRows<R> {
    async fn read(&mut self, row: &mut Vec<u8>) -> Result<bool> {
        let read = Read::take(&mut self.0, LARGEST_ROW).read_until(b'\n', row);
        Ok(read.map_err(|error| unusable(&error))? > 0)
    }
}

/// The table into which rows are copied: one of a tenant, or a temporary one with the same columns.
pub(super) struct Destination<'a> {
    /// The statement `COPY … FROM STDIN`.
    pub(super) statement: String,
    /// The first values of each row, as the text before its others.
    pub(super) prefix: String,
    /// The ids of applications here, by those at the source.
    pub(super) ids: &'a HashMap<i64, i64>,
}

/// Copies the rows of a table, and returns their number.
pub(super) async fn copy(
    transaction: &Transaction<'_>,
    table: &Table,
    destination: &Destination<'_>,
    rows: &mut impl Rows,
) -> Result<u64> {
    let mut sink = pin!(transaction.copy_in::<_, Bytes>(&destination.statement).await?);
    let copied = send(&mut sink, table, destination, rows).await;
    let finished = match copied {
        Ok(()) => sink.finish().await.map_err(Error::from),
        Err(error) => Err(error),
    };
    finished.map_err(|error| match error.is_unique_violation() {
        true => Error::Invalid(format!(
            "a row of the table {} is there already, of another tenant, and may be there only once: {error}",
            table.name
        )),
        false => error,
    })
}

async fn send(
    sink: &mut Pin<&mut CopyInSink<Bytes>>,
    table: &Table,
    destination: &Destination<'_>,
    rows: &mut impl Rows,
) -> Result<()> {
    let (mut row, mut part) = (Vec::new(), BytesMut::with_capacity(2 * PART));
    while rows.read(&mut row).await? {
        if !row.ends_with(b"\n") {
            return Err(Error::Invalid(format!("a row of the table {} is incomplete", table.name)));
        }
        part.extend_from_slice(destination.prefix.as_bytes());
        part.extend_from_slice(table.with_applications(&row, destination.ids).as_deref().unwrap_or(&row));
        row.clear();
        if part.len() >= PART {
            sink.send(part.split().freeze()).await?;
        }
    }
    Ok(sink.send(part.freeze()).await?)
}
