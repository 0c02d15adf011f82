//! The rows of a received file, read in batches of some hundred on blocking threads. No thread is held for a
//! whole file.

use std::io::{self, Cursor, Read};

use actix_web::web::block;
use platform_model::devices::bulk_registration::{Header, Row, RowIdentity, named_separator, separator};
use platform_model::error::Error;
use platform_model::id::TenantId;
use tempfile::SpooledTempFile;
use tokio::task::{JoinHandle, spawn_blocking};

use super::lines::{MAX_RECORD, NextRecord, RecordReader};
use super::text::Encoding;
use crate::http::error::Result;

/// The number of rows that are stored together.
const BATCH_ROWS: usize = 500;
/// The largest batch in bytes, so that memory stays bounded however long the rows are.
const BATCH_BYTES: usize = 4 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file that was received completely.
pub(super) struct ReceivedFile {
    pub(super) file: SpooledTempFile,
    pub(super) encoding: Encoding,
}

/// A file whose header has been read.
pub(super) struct RowReader {
    header: Header,
    encoding: Encoding,
    lines: RecordReader<io::Chain<Cursor<Vec<u8>>, SpooledTempFile>>,
}

impl RowReader {
    /// Reads the header.
    ///
    /// # Errors
    /// `Invalid` when no row of the file can succeed (N-16).
    pub(super) async fn open(received: ReceivedFile, uploader: TenantId) -> Result<Self> {
        let opened = block(move || Self::open_now(received, &uploader)).await;
        Ok(opened.map_err(Error::unavailable)??)
    }

    fn open_now(
        ReceivedFile { mut file, encoding }: ReceivedFile,
        uploader: &TenantId,
    ) -> Result<Self, Error> {
        let mut begin = Vec::new();
        file.by_ref().take(MAX_RECORD as u64).read_to_end(&mut begin).map_err(Error::unavailable)?;
        if begin.starts_with(BYTE_ORDER_MARK) {
            begin.drain(..BYTE_ORDER_MARK.len());
        }
        let named = named_separator(&begin);
        let separator = named.unwrap_or_else(|| separator(&begin));
        let mut lines = RecordReader::new(Cursor::new(begin).chain(file), separator);
        if named.is_some() {
            // The line that names the separator (N-12a) is a record of its own.
            lines.next().map_err(Error::unavailable)?;
        }
        let header = match lines.next().map_err(Error::unavailable)? {
            NextRecord::Record(line, record) => {
                let names: Vec<_> = record.cells().map(|name| encoding.decode(name)).collect();
                Header::parse(&names, line, uploader)?
            }
            NextRecord::End => Header::parse(&[""; 0], 1, uploader)?,
            NextRecord::Unreadable(line) => return Err(unreadable(line)),
        };
        Ok(Self { header, encoding, lines })
    }

    /// Starts to read the next batch, which proceeds in the background while the batch before is stored.
    pub(super) fn read(mut self) -> BatchInProgress {
        BatchInProgress(spawn_blocking(move || {
            let (rows, left) = self.next_batch()?;
            Ok((rows, left.then_some(self)))
        }))
    }

    /// Returns the next rows, and whether there may be more.
    fn next_batch(&mut self) -> io::Result<(Vec<Row>, bool)> {
        let (mut rows, mut bytes) = (Vec::with_capacity(BATCH_ROWS), 0);
        while rows.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            match self.lines.next()? {
                NextRecord::Record(line, record) => {
                    bytes += record.length();
                    let cells: Vec<_> = record.cells().map(|cell| self.encoding.decode(cell)).collect();
                    rows.push(self.header.row(line, &cells));
                }
                NextRecord::Unreadable(line) => {
                    let place = RowIdentity { line, id: None, tenant: self.header.uploader().to_string() };
                    rows.push(Row { place, asks: Err(unreadable(line)) });
                    return Ok((rows, false));
                }
                NextRecord::End => return Ok((rows, false)),
            }
        }
        Ok((rows, true))
    }
}

/// A batch that is being read.
pub(super) struct BatchInProgress(JoinHandle<io::Result<(Vec<Row>, Option<RowReader>)>>);

impl BatchInProgress {
    /// Returns the batch, and the rest of the file.
    ///
    /// # Errors
    /// `Unavailable` when the temporary file cannot be read.
    pub(super) async fn rows(self) -> Result<(Vec<Row>, Option<RowReader>)> {
        Ok(self.0.await.map_err(Error::unavailable)?.map_err(Error::unavailable)?)
    }
}

fn unreadable(line: u64) -> Error {
    Error::Invalid(format!(
        "The row that begins in line {line} is longer than {MAX_RECORD} bytes, or a quote in it is not closed; \
         the file cannot be read from there on"
    ))
}
