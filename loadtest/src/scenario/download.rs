//! Downloads on one keep-alive connection. The bytes are counted and dropped, so that a large file costs the
//! generator little.

use std::time::Instant;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::error::Error;
use crate::error::ParseError;
use crate::target::Target;
use crate::target::stream::Stream;

/// The number of bytes per read.
const BUFFER: usize = 256 * 1024;
/// The longest response head in bytes.
const MAX_HEAD: usize = 16 * 1024;

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
            if let Some(end) = memmem::find(&self.buffer[..filled], b"\r\n\r\n") {
                break end + 4;
            }
            if filled > MAX_HEAD {
                return Err(ParseError::HeadTooLong.into());
            }
        };
        let (status, bytes) = read_head(&self.buffer[..head])?;
        let mut left = bytes.checked_sub(filled - head).ok_or(ParseError::Surplus)?;
        while left > 0 {
            left = left.checked_sub(self.read(0).await?).ok_or(ParseError::Surplus)?;
        }
        Ok(Downloaded { status, bytes, took: sent.elapsed().as_micros() as u64 })
    }

    async fn read(&mut self, from: usize) -> Result<usize, Error> {
        match self.stream.read(&mut self.buffer[from..]).await? {
            0 => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
            count => Ok(count),
        }
    }
}

/// Returns status and length of the body.
fn read_head(head: &[u8]) -> Result<(u16, usize), ParseError> {
    let text = std::str::from_utf8(head).map_err(|_| ParseError::StatusLine)?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse())
    });
    let length = length.ok_or(ParseError::Unframed)?.map_err(|_| ParseError::Length)?;
    Ok((status.ok_or(ParseError::StatusLine)?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_length_are_parsed_in_any_spelling() {
        let head = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-length: 12\r\n\r\n";
        assert_eq!(read_head(head), Ok((200, 12)));
        assert_eq!(read_head(b"HTTP/1.1 200 OK\r\n\r\n"), Err(ParseError::Unframed));
        assert_eq!(read_head(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"), Err(ParseError::Length));
        assert_eq!(read_head(b"SPDY\r\ncontent-length: 1\r\n\r\n"), Err(ParseError::StatusLine));
    }
}
