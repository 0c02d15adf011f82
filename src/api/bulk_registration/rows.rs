//! Rows of a file that was received, some hundred at a time, on threads for what takes long. None is held for a whole file.

use std::io::{self, Cursor, Read};

use actix_web::web::block;
use platform_actors::Error;
use platform_actors::model::bulk_registration::{Header, Place, Row, separator};
use platform_actors::model::id::TenantId;
use tempfile::SpooledTempFile;
use tokio::task::{JoinHandle, spawn_blocking};

use super::lines::{Lines, MAX_RECORD, Next};
use super::text::Encoding;
use crate::http::error::Result;

/// Rows that are stored together.
const BATCH_ROWS: usize = 500;
/// Bytes of such rows; so few wait in memory, however long they are.
const BATCH_BYTES: usize = 4 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file that was received whole.
pub(super) struct Received {
    pub(super) file: SpooledTempFile,
    pub(super) encoding: Encoding,
}

/// A file whose header was read.
pub(super) struct Rows {
    header: Header,
    encoding: Encoding,
    lines: Lines<io::Chain<Cursor<Vec<u8>>, SpooledTempFile>>,
}

impl Rows {
    /// Reads the header.
    ///
    /// # Errors
    /// `Invalid` when no row of the file could be carried out (N-16).
    pub(super) async fn open(received: Received, uploader: TenantId) -> Result<Self> {
        let opened = block(move || Self::open_now(received, &uploader)).await;
        Ok(opened.map_err(Error::unavailable)??)
    }

    fn open_now(Received { mut file, encoding }: Received, uploader: &TenantId) -> Result<Self, Error> {
        let mut begin = Vec::new();
        file.by_ref().take(MAX_RECORD as u64).read_to_end(&mut begin).map_err(Error::unavailable)?;
        if begin.starts_with(BYTE_ORDER_MARK) {
            begin.drain(..BYTE_ORDER_MARK.len());
        }
        let separator = separator(&begin);
        let mut lines = Lines::new(Cursor::new(begin).chain(file), separator);
        let header = match lines.next().map_err(Error::unavailable)? {
            Next::Record(_, record) => {
                let names: Vec<_> = record.iter().map(|name| encoding.decode(name)).collect();
                Header::parse(&names, uploader)?
            }
            Next::End => Header::parse(&[""; 0], uploader)?,
            Next::Unreadable(line) => return Err(unreadable(line)),
        };
        Ok(Self { header, encoding, lines })
    }

    /// Begins to read the next rows, which goes on by itself while those before are stored.
    pub(super) fn read(mut self) -> Reading {
        Reading(spawn_blocking(move || {
            let (rows, left) = self.next_batch()?;
            Ok((rows, left.then_some(self)))
        }))
    }

    /// The next rows, and whether there may be more.
    fn next_batch(&mut self) -> io::Result<(Vec<Row>, bool)> {
        let (mut rows, mut bytes) = (Vec::with_capacity(BATCH_ROWS), 0);
        while rows.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            match self.lines.next()? {
                Next::Record(line, record) => {
                    bytes += record.as_slice().len();
                    let cells: Vec<_> = record.iter().map(|cell| self.encoding.decode(cell)).collect();
                    rows.push(self.header.row(line, &cells));
                }
                Next::Unreadable(line) => {
                    let place = Place { line, id: None, tenant: self.header.uploader().to_string() };
                    rows.push(Row { place, asks: Err(unreadable(line)) });
                    return Ok((rows, false));
                }
                Next::End => return Ok((rows, false)),
            }
        }
        Ok((rows, true))
    }
}

/// Rows that are being read.
pub(super) struct Reading(JoinHandle<io::Result<(Vec<Row>, Option<Rows>)>>);

impl Reading {
    /// Some rows, and the rest of the file behind them.
    ///
    /// # Errors
    /// `Unavailable` when the temporary file cannot be read.
    pub(super) async fn rows(self) -> Result<(Vec<Row>, Option<Rows>)> {
        Ok(self.0.await.map_err(Error::unavailable)?.map_err(Error::unavailable)?)
    }
}

fn unreadable(line: u64) -> Error {
    Error::Invalid(format!(
        "The row that begins in line {line} is longer than {MAX_RECORD} bytes, or a quote in it is not closed; \
         the file cannot be read from there on"
    ))
}
