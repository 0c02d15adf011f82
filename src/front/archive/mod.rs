//! Zip archives from untrusted uploads (W-02): validated before anything is unpacked, and limited while they are
//! unpacked.
//!
//! The crate `zip` reads them. It tolerates many errors, and most dangerous archives are dangerous because they can
//! be read in two ways, so this module tolerates none. [`list`] limits the list of files before the crate reads it,
//! and compares it with the files. [`names`] accepts only names that mean the same everywhere. [`Archive::unpack`]
//! counts the bytes that are really unpacked. Archives inside an archive are files like others and are not opened.

mod disk;
mod list;
mod names;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::io::{Read, Seek};
use std::sync::Arc;

use platform_model::error::{Error, Result};
use zip::ZipReadOptions;
use zip::read::ZipArchiveMetadata;

use disk::Disk;
use list::Entry;

/// The unpacked bytes up to which the ratio is not checked, because a small file with one repeated line is harmless.
const FREE_OF_RATIO: u64 = 1 << 20;
/// The greatest ratio of unpacked to compressed bytes.
const MAX_RATIO: u64 = 100;
/// The bytes that are unpacked at once.
const PIECE: usize = 64 << 10;

/// An archive whose list of files is valid. Nothing is unpacked yet.
#[derive(Debug)]
pub struct Archive<R> {
    disk: Disk<R>,
    list: Arc<ZipArchiveMetadata>,
    /// The entries in the order of their offsets.
    entries: Vec<Entry>,
    /// The most bytes that may be unpacked, by configuration.
    limit: u64,
    /// The most bytes that may be unpacked, by ratio.
    by_ratio: u64,
}

/// Receives the files of an archive, one after the other.
pub trait Sink {
    /// Begins a file.
    ///
    /// # Errors
    /// The receiver has stopped.
    fn begin(&mut self, path: &str) -> Result<()>;

    /// Receives the next bytes of the file.
    ///
    /// # Errors
    /// The receiver has stopped.
    fn bytes(&mut self, bytes: &[u8]) -> Result<()>;

    /// Ends the file, which has the announced length and checksum.
    ///
    /// # Errors
    /// The receiver has stopped.
    fn end(&mut self) -> Result<()>;
}

impl<R: Read + Seek> Archive<R> {
    /// Validates an archive of `length` bytes, of which at most `limit` bytes may be unpacked.
    ///
    /// # Errors
    /// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read.
    pub fn open(file: R, length: u64, limit: u64) -> Result<Self> {
        let disk = Disk::new(file);
        let (list, entries) = disk.check_reads(list::read(&disk, length))?;
        let by_ratio = FREE_OF_RATIO.saturating_add(length.saturating_mul(MAX_RATIO));
        Ok(Self { disk, list, entries, limit, by_ratio })
    }

    /// Returns whether the archive contains a file of this path.
    pub fn has(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == path && !entry.is_directory())
    }

    /// Unpacks every file into `sink`, piece by piece.
    ///
    /// # Errors
    /// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read; the errors of the sink.
    /// Everything that the sink received until then must be discarded.
    pub fn unpack(self, sink: &mut impl Sink) -> Result<()> {
        let mut total = 0;
        for entry in self.entries.iter().filter(|entry| !entry.is_directory()) {
            sink.begin(&entry.name)?;
            self.disk.check_reads(self.copy(entry, &mut total, sink))?;
            sink.end()?;
        }
        Ok(())
    }

    /// Copies the content of an entry and counts it. The crate compares the checksum, and stops a content that is
    /// longer than announced.
    fn copy(&self, entry: &Entry, total: &mut u64, sink: &mut impl Sink) -> Result<()> {
        let broken = |error: &dyn Display| entry.refuse(&because("its content is corrupt", error));
        let mut file = &self.disk;
        let listed = self.list.entry(entry.index);
        let content = listed.and_then(|listed| listed.with_reader(&mut file, ZipReadOptions::new()));
        let mut content = content.map_err(|error| broken(&error))?;
        let most = FREE_OF_RATIO.saturating_add(content.compressed_size().saturating_mul(MAX_RATIO));
        let (mut length, mut piece) = (0_u64, vec![0; PIECE]);
        loop {
            let count = content.read(&mut piece).map_err(|error| broken(&error))?;
            if count == 0 {
                break;
            }
            length += count as u64;
            *total += count as u64;
            let rule = if *total > self.limit {
                format!("with it the unpacked content exceeds the {} bytes allowed", self.limit)
            } else if *total > self.by_ratio {
                format!("with it more than {MAX_RATIO} times the archive comes out")
            } else if length > most {
                format!("it is more than {MAX_RATIO} times as large as its packed content")
            } else {
                sink.bytes(&piece[..count])?;
                continue;
            };
            return Err(entry.refuse(&rule));
        }
        if length == content.size() { Ok(()) } else { Err(entry.refuse("it is shorter than announced")) }
    }
}

/// Returns the error for an archive as a whole.
fn refuse(reason: &str) -> Error {
    Error::Invalid(format!("Invalid archive: {reason}"))
}

/// Returns the error for one entry.
fn refuse_entry(name: &[u8], reason: &str) -> Error {
    refuse(&format!("entry '{}': {reason}", shown(&String::from_utf8_lossy(name))))
}

/// Appends the error of the crate, which may quote names.
fn because(reason: &str, error: impl Display) -> String {
    let error = error.to_string();
    format!("{reason}: {}", shown(error.trim_start_matches("invalid Zip archive: ")))
}

/// Returns untrusted text escaped and shortened.
fn shown(text: &str) -> String {
    let mut escaped = text.escape_debug();
    let mut shown: String = escaped.by_ref().take(100).collect();
    if escaped.next().is_some() {
        shown.push('…');
    }
    shown
}
