//! Buffers bytes that may exceed memory: small amounts stay in memory, larger ones are written to an unnamed file in
//! the system's directory for temporary files (`TMPDIR`).

use std::io::{self, Read, Seek, SeekFrom, Write};

use actix_web::web::block;
use bytes::Bytes;
use futures_util::{Stream, stream};
use platform_model::error::Error;
use tempfile::SpooledTempFile;

use crate::http::error::Result;

/// The number of bytes of one write or read.
const CHUNK: usize = 256 << 10;

/// Bytes that are being written. The file disappears with this value, even when the process dies.
pub struct Spool {
    /// The file; `None` while a write is in progress.
    file: Option<SpooledTempFile>,
    pending: Vec<u8>,
    length: u64,
}

/// Bytes that were written and can be read from the beginning.
pub struct Spooled {
    /// The bytes.
    pub file: SpooledTempFile,
    /// The number of bytes.
    pub length: u64,
}

impl Default for Spool {
    fn default() -> Self {
        Self { file: Some(tempfile::spooled_tempfile(CHUNK)), pending: Vec::new(), length: 0 }
    }
}

impl Spool {
    /// Returns the number of bytes written so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends bytes. Writes to the disk run on a thread for blocking work, not on one that serves requests.
    ///
    /// # Errors
    /// `Unavailable` when the disk accepts no more bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.pending.len() >= CHUNK { self.flush().await } else { Ok(()) }
    }

    /// Finishes writing.
    ///
    /// # Errors
    /// The errors of [`Spool::write`].
    pub async fn finish(mut self) -> Result<Spooled> {
        self.flush().await?;
        let mut file = self.file.take().ok_or_else(broken)?;
        file.seek(SeekFrom::Start(0)).map_err(unavailable)?;
        Ok(Spooled { file, length: self.length })
    }

    async fn flush(&mut self) -> Result<()> {
        let (mut file, mut pending) =
            (self.file.take().ok_or_else(broken)?, std::mem::take(&mut self.pending));
        let written = block(move || {
            file.write_all(&pending)?;
            pending.clear();
            Ok((file, pending))
        });
        let (file, pending) = written.await.map_err(Error::unavailable)?.map_err(unavailable)?;
        (self.file, self.pending) = (Some(file), pending);
        Ok(())
    }
}

impl Spooled {
    /// Streams the bytes. The next chunk is read when the connection has accepted the previous one.
    pub fn stream(self) -> impl Stream<Item = Result<Bytes, Error>> {
        stream::try_unfold(self.file, |mut file| async move {
            let read = block(move || {
                let mut bytes = Vec::with_capacity(CHUNK);
                Read::by_ref(&mut file).take(CHUNK as u64).read_to_end(&mut bytes)?;
                Ok::<_, io::Error>((file, bytes))
            });
            let (file, bytes) = read.await.map_err(Error::unavailable)?.map_err(Error::unavailable)?;
            Ok((!bytes.is_empty()).then(|| (Bytes::from(bytes), file)))
        })
    }
}

fn unavailable(error: io::Error) -> Error {
    tracing::error!(%error, "a temporary file cannot be used");
    Error::unavailable(error)
}

/// Returns the error after a write that failed or whose future was dropped, which destroyed the file.
fn broken() -> Error {
    Error::unavailable("a temporary file could not be written")
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    #[actix::test]
    async fn what_was_written_is_read_back_whatever_its_length() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let mut spool = Spool::default();
            for part in bytes.chunks(100_003) {
                spool.write(part).await.expect("written");
            }

            let spooled = spool.finish().await.expect("finished");

            assert_eq!(spooled.length, length as u64);
            let read: Vec<Bytes> = spooled.stream().try_collect().await.expect("read");
            assert!(read.concat() == bytes, "{length}");
        }
    }
}
