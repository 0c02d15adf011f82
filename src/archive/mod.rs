//! Zip archives that strangers upload (W-02): looked through before anything is unpacked, and measured while it is.
//!
//! This is a reader of its own, and a strict one. What makes an archive dangerous is mostly that it can be read in two ways:
//! a list of files at the end that does not fit the files, doubled names, entries that overlap, bytes before and behind. A
//! reader that forgives cannot see these any more, so here nothing is forgiven: [`directory`] reads the list whole, within its
//! bounds, [`names`] takes only names that mean the same everywhere, [`content`] inflates and counts what really comes out.
//! Archives in an archive are files like others, and stay closed.

mod content;
mod directory;
mod end;
mod names;
mod records;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Seek};

use platform_actors::Error;
use platform_actors::Result;

use directory::Entry;

/// Files and directories of one archive.
pub const MAX_ENTRIES: u64 = 10_000;
/// What is allowed whatever the ratio is: small files of one repeated line are no attack.
const FREE_OF_RATIO: u64 = 1 << 20;
/// Times that contents may be larger than what they are packed in.
const MAX_RATIO: u64 = 100;

/// An archive whose list of files was read and found right. Nothing is unpacked yet.
#[derive(Debug)]
pub struct Archive<R> {
    file: R,
    /// As they lie in the archive.
    entries: Vec<Entry>,
    /// Where the list of files begins: contents end here.
    end: u64,
    budget: Budget,
}

/// What may still come out of an archive.
#[derive(Debug, Clone, Copy)]
struct Budget {
    /// Bytes by the setting.
    total: u64,
    /// Bytes by the ratio of the archive as a whole.
    by_ratio: u64,
    /// What the setting was, for the message.
    limit: u64,
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
    /// Reads the list of files of an archive that takes `length` bytes, of which at most `limit` may come out.
    ///
    /// # Errors
    /// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read.
    pub fn open(mut file: R, length: u64, limit: u64) -> Result<Self> {
        let directory = directory::read(&mut file, length)?;
        let mut entries = directory.entries;
        names::check(&entries)?;
        entries.sort_by_key(|entry| entry.offset);
        let by_ratio = FREE_OF_RATIO.saturating_add(length.saturating_mul(MAX_RATIO));
        let budget = Budget { total: limit, by_ratio, limit };
        Ok(Self { file, entries, end: directory.start, budget })
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
    pub fn unpack(mut self, sink: &mut impl Sink) -> Result<()> {
        let mut free_from = 0;
        for entry in &self.entries {
            if entry.offset < free_from {
                return Err(entry.refuse("it overlaps the entry before it"));
            }
            if free_from == 0 && entry.offset != 0 {
                return Err(entry.refuse("there are bytes before the first entry"));
            }
            free_from = content::unpack(&mut self.file, entry, self.end, &mut self.budget, sink)?;
        }
        Ok(())
    }
}

/// What is wrong with an archive as a whole.
fn refuse(reason: &str) -> Error {
    Error::Invalid(format!("Invalid archive: {reason}"))
}

/// A name as it can be shown: escaped and shortened.
fn shown(name: &[u8]) -> String {
    let (name, rest) = name.split_at(name.len().min(200));
    let text = String::from_utf8_lossy(name);
    let shown: String = text.escape_debug().take(80).collect();
    match rest.is_empty() && text.escape_debug().nth(80).is_none() {
        true => format!("'{shown}'"),
        false => format!("'{shown}…'"),
    }
}

/// An archive that ends before what it announces is wrong; a disk that cannot be read is another matter.
fn unreadable(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => refuse("it ends before what its list of files announces"),
        _ => Error::unavailable(error),
    }
}
