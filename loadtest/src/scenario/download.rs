//! Downloads on one keep-alive connection. The bytes are counted and dropped, so that a large file costs the
//! generator little.

use std::time::Instant;

use httparse::Status;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::error::Error;
use crate::error::ParseError;
use crate::target::Target;
use crate::target::response::{Head, MAX_HEAD};
use crate::target::stream::Stream;

/// The number of bytes per read.
const BUFFER: usize = 256 * 1024;

/// A connection that downloads.
#[derive(Debug)]
pub(crate) struct Downloader {
    stream: Stream,
    buffer: Vec<u8>,
}

/// A finished download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Downloaded {
    /// The HTTP status code.
    pub(crate) status: u16,
    /// The size of the body in bytes.
    pub(crate) bytes: usize,
    /// The microseconds from the request to the last byte.
    pub(crate) took: u64,
}

impl Downloader {
    /// Connects.
    ///
    /// # Errors
    /// Fails like [`Target::open_stream`].
    pub(crate) async fn open(target: &Target) -> Result<Self, Error> {
        Ok(Self { stream: target.open_stream().await?, buffer: vec![0; BUFFER] })
    }

    /// Sends a complete request and reads its response to the end. The response must have a `Content-Length`.
    ///
    /// # Errors
    /// The connection broke, or the response is malformed.
    pub(crate) async fn download(&mut self, request: &[u8]) -> Result<Downloaded, Error> {
        let sent = Instant::now();
        self.stream.write_all(request).await?;
        let mut filled = 0;
        let head = loop {
            filled += self.read(filled).await?;
            match Head::read(&self.buffer[..filled])? {
                Status::Complete(head) => break head,
                Status::Partial if filled > MAX_HEAD => return Err(ParseError::HeadTooLong.into()),
                Status::Partial => {}
            }
        };
        let bytes = head.body.ok_or(ParseError::Unframed)?;
        let mut left = bytes.checked_sub(filled - head.length).ok_or(ParseError::Surplus)?;
        while left > 0 {
            left = left.checked_sub(self.read(0).await?).ok_or(ParseError::Surplus)?;
        }
        Ok(Downloaded { status: head.status, bytes, took: sent.elapsed().as_micros() as u64 })
    }

    async fn read(&mut self, from: usize) -> Result<usize, Error> {
        match self.stream.read(&mut self.buffer[from..]).await? {
            0 => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
            count => Ok(count),
        }
    }
}
