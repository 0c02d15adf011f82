//! Bytes that need not fit into memory: small ones stay there, more go to a file without a name, in the system's directory
//! for such files (`TMPDIR`).

use std::io::{self, Read, Seek, SeekFrom, Write};

use actix_web::web::block;
use bytes::Bytes;
use futures_util::{Stream, stream};
use platform_actors::Error;
use tempfile::SpooledTempFile;

use crate::http::error::Result;

/// Bytes that are written, or read, at once.
const CHUNK: usize = 256 << 10;

/// Bytes that are being written. The file is gone with this, also when the process dies.
pub struct Spool {
    /// Absent while bytes are on their way to it.
    file: Option<SpooledTempFile>,
    pending: Vec<u8>,
    length: u64,
}

/// Bytes that were written, to be read from the beginning.
pub struct Spooled {
    /// The bytes.
    pub file: SpooledTempFile,
    /// How many they are.
    pub length: u64,
}

impl Default for Spool {
    fn default() -> Self {
        Self { file: Some(tempfile::spooled_tempfile(CHUNK)), pending: Vec::new(), length: 0 }
    }
}

impl Spool {
    /// How many bytes there are by now.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds bytes. Waits for a disk now and then, without a thread of those that serve.
    ///
    /// # Errors
    /// `Unavailable` when the disk takes no more.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.pending.len() >= CHUNK { self.flush().await } else { Ok(()) }
    }

    /// Ends writing.
    ///
    /// # Errors
    /// As [`Spool::write`].
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
    /// The bytes, chunk by chunk: the next is read when the connection has taken the last.
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

/// A write that failed, or whose future was dropped, took the file along.
fn broken() -> Error {
    Error::unavailable("a temporary file could not be written")
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    #[actix_web::test]
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
