//! Zip archives that strangers upload (W-02): looked through before anything is unpacked, and measured while it is.
//!
//! The crate `zip` reads them. It forgives much, and what makes an archive dangerous is mostly that it can be read in two
//! ways: so here nothing is forgiven. [`list`] bounds the list of files before the crate sees it, and compares it with the
//! files; [`names`] takes only names that mean the same everywhere; [`Archive::unpack`] counts what really comes out.
//! Archives in an archive are files like others, and stay closed.

mod disk;
mod list;
mod names;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::io::{Read, Seek};
use std::sync::Arc;

use platform_actors::{Error, Result};
use zip::ZipReadOptions;
use zip::read::ZipArchiveMetadata;

use disk::Disk;
use list::Entry;

/// What is allowed whatever the ratio is: small files of one repeated line are no attack.
const FREE_OF_RATIO: u64 = 1 << 20;
/// Times that contents may be larger than what they are packed in.
const MAX_RATIO: u64 = 100;
/// Bytes that are taken out at once.
const PIECE: usize = 64 << 10;

/// An archive whose list of files was read and found right. Nothing is unpacked yet.
#[derive(Debug)]
pub struct Archive<R> {
    disk: Disk<R>,
    list: Arc<ZipArchiveMetadata>,
    /// As they lie in the archive.
    entries: Vec<Entry>,
    /// Bytes that may come out by the setting.
    limit: u64,
    /// Bytes that may come out by the ratio.
    by_ratio: u64,
}

/// Takes the files of an archive, one after the other.
pub trait Sink {
    /// A file begins.
    ///
    /// # Errors
    /// When nobody wants it any more.
    fn begin(&mut self, path: &str) -> Result<()>;

    /// Its next bytes.
    ///
    /// # Errors
    /// When nobody wants them any more.
    fn bytes(&mut self, bytes: &[u8]) -> Result<()>;

    /// It was whole: as long as it said, and with its checksum.
    ///
    /// # Errors
    /// When nobody wants it any more.
    fn end(&mut self) -> Result<()>;
}

impl<R: Read + Seek> Archive<R> {
    /// Looks through an archive that takes `length` bytes, of which at most `limit` may come out.
    ///
    /// # Errors
    /// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read.
    pub fn open(file: R, length: u64, limit: u64) -> Result<Self> {
        let disk = Disk::new(file);
        let (list, entries) = disk.judge(list::read(&disk, length))?;
        let by_ratio = FREE_OF_RATIO.saturating_add(length.saturating_mul(MAX_RATIO));
        Ok(Self { disk, list, entries, limit, by_ratio })
    }

    /// Whether there is a file of this path.
    pub fn has(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == path && !entry.is_directory())
    }

    /// Unpacks every file into `sink`, a piece at a time.
    ///
    /// # Errors
    /// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read; what the sink answers. What it got
    /// before then is to be thrown away.
    pub fn unpack(self, sink: &mut impl Sink) -> Result<()> {
        let mut total = 0;
        for entry in self.entries.iter().filter(|entry| !entry.is_directory()) {
            sink.begin(&entry.name)?;
            self.disk.judge(self.copy(entry, &mut total, sink))?;
            sink.end()?;
        }
        Ok(())
    }

    /// Copies a content, counting it. The crate compares its checksum, and ends one that is longer than it says.
    fn copy(&self, entry: &Entry, total: &mut u64, sink: &mut impl Sink) -> Result<()> {
        let broken = |error: &dyn Display| entry.refuse(&because("its content is broken", error));
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
                format!("with it more than the {} bytes allowed come out", self.limit)
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
        match length == content.size() {
            true => Ok(()),
            false => Err(entry.refuse("it is shorter than it says")),
        }
    }
}

/// What is wrong with an archive as a whole.
fn refuse(reason: &str) -> Error {
    Error::Invalid(format!("Invalid archive: {reason}"))
}

/// What is wrong with one of its entries.
fn refuse_entry(name: &[u8], reason: &str) -> Error {
    refuse(&format!("entry '{}': {reason}", shown(&String::from_utf8_lossy(name))))
}

/// What the crate says is wrong. It may quote names.
fn because(reason: &str, error: impl Display) -> String {
    let error = error.to_string();
    format!("{reason}: {}", shown(error.trim_start_matches("invalid Zip archive: ")))
}

/// A text of a stranger as it can be shown: escaped and shortened.
fn shown(text: &str) -> String {
    let mut escaped = text.escape_debug();
    let mut shown: String = escaped.by_ref().take(100).collect();
    if escaped.next().is_some() {
        shown.push('…');
    }
    shown
}
