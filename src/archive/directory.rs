//! The list of files at the end of an archive: read whole, for it is short, and only if it is what it says.

use std::io::{Read, Seek};

use platform_actors::{Error, Result};

use super::end::{Place, find};
use super::records::{Fields, read_at};
use super::{MAX_ENTRIES, refuse, shown};

/// An entry of the list, without what is of variable length.
const ENTRY: usize = 46;
const ENTRY_SIGNATURE: u32 = 0x0201_4b50;
/// Bytes of the list: names, and what tools note beside them.
const MAX_DIRECTORY: u64 = 16 << 20;
/// Tag of the extra field with sizes beyond 4 GiB.
const LONG_SIZES: u16 = 0x0001;

/// Encrypted, in one of three ways; or a patch instead of a content.
const REFUSED_FLAGS: [(u16, &str); 4] = [
    (1, "it is encrypted"),
    (1 << 6, "it is encrypted"),
    (1 << 13, "its head is masked"),
    (1 << 5, "it is patched data"),
];
/// Kinds of files in the mode that Unix systems note.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) entries: Vec<Entry>,
    /// Where it begins.
    pub(super) start: u64,
}

/// What the list says of a file or a directory.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its path; that of a directory ends with a slash.
    pub(super) name: String,
    pub(super) packing: Packing,
    pub(super) crc: u32,
    /// Bytes in the archive.
    pub(super) packed: u64,
    /// Bytes outside of it, so it says.
    pub(super) length: u64,
    /// Where its own head is.
    pub(super) offset: u64,
}

/// How a content is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Stored,
    Deflated,
}

impl Packing {
    pub(super) fn of(method: u16) -> Option<Self> {
        match method {
            0 => Some(Self::Stored),
            8 => Some(Self::Deflated),
            _ => None,
        }
    }
}

impl Entry {
    pub(super) fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }

    pub(super) fn refuse(&self, reason: &str) -> Error {
        refuse_entry(self.name.as_bytes(), reason)
    }
}

/// Reads the list of an archive of `length` bytes.
///
/// # Errors
/// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read.
pub(super) fn read(file: &mut (impl Read + Seek), length: u64) -> Result<Directory> {
    let (place, end) = find(file, length)?;
    // Before anything is read, however many there are said to be.
    if place.entries > MAX_ENTRIES {
        return Err(refuse(&format!("{} entries; allowed: at most {MAX_ENTRIES}", place.entries)));
    }
    if place.size > MAX_DIRECTORY {
        return Err(refuse(&format!(
            "its list of files takes {} bytes; allowed: at most {MAX_DIRECTORY}",
            place.size
        )));
    }
    if place.start.checked_add(place.size) != Some(end) {
        return Err(refuse(
            "its list of files is not where it is said to be: there are bytes before or behind it",
        ));
    }
    let bytes = read_at(file, place.start, place.size as usize)?;
    let entries = parse(&bytes, place)?;
    Ok(Directory { entries, start: place.start })
}

fn parse(bytes: &[u8], place: Place) -> Result<Vec<Entry>> {
    let mut fields = Fields { bytes };
    let mut entries = Vec::new();
    while !fields.bytes.is_empty() {
        if entries.len() as u64 == place.entries {
            return Err(refuse(&format!("it has more entries than the {} it announces", place.entries)));
        }
        entries.push(parse_entry(&mut fields)?);
    }
    match entries.len() as u64 == place.entries {
        true => Ok(entries),
        false => Err(refuse(&format!("it has {} entries and announces {}", entries.len(), place.entries))),
    }
}

fn parse_entry(fields: &mut Fields<'_>) -> Result<Entry> {
    if fields.bytes.len() < ENTRY || fields.u32()? != ENTRY_SIGNATURE {
        return Err(refuse("its list of files is broken"));
    }
    // The versions of its maker and of its readers.
    fields.skip(4)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    // When it was changed last.
    fields.skip(4)?;
    let (crc, packed, length) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let lengths = [fields.u16()?, fields.u16()?, fields.u16()?].map(usize::from);
    let disk = fields.u16()?;
    fields.skip(2)?;
    let (attributes, offset) = (fields.u32()?, fields.u32()?);
    let [name, extra, _] = [fields.take(lengths[0])?, fields.take(lengths[1])?, fields.take(lengths[2])?];

    let refused = |reason: &str| Err(refuse_entry(name, reason));
    if let Some((_, reason)) = REFUSED_FLAGS.iter().find(|(flag, _)| flags & flag != 0) {
        return refused(reason);
    }
    let Some(packing) = Packing::of(method) else {
        return refused(&format!("it is packed by method {method}; allowed: stored (0), deflate (8)"));
    };
    let text = super::names::parse(name).map_err(|reason| refuse_entry(name, &reason))?;
    check_kind(attributes >> 16, text.ends_with('/')).map_err(|reason| refuse_entry(name, reason))?;
    let sizes = Sizes { length, packed, offset, disk };
    let (length, packed, offset) =
        sizes.completed_by(extra).ok_or_else(|| refuse_entry(name, "its sizes are broken"))?;
    Ok(Entry { name: text, packing, crc, packed, length, offset })
}

/// Only files and directories; tools of other systems note nothing.
fn check_kind(mode: u32, is_directory: bool) -> Result<(), &'static str> {
    match (mode & KIND, is_directory) {
        (0, _) | (REGULAR, false) | (DIRECTORY, true) => Ok(()),
        (LINK, _) => Err("it is a link"),
        _ => Err("it is no file and no directory"),
    }
}

/// The sizes of an entry, as far as they fit into 32 bits.
struct Sizes {
    length: u32,
    packed: u32,
    offset: u32,
    disk: u16,
}

impl Sizes {
    /// Length, bytes in the archive, and place, with those that did not fit from the extra field. `None` for one that is
    /// missing, and for another disk.
    fn completed_by(&self, extra: &[u8]) -> Option<(u64, u64, u64)> {
        let mut long = Fields { bytes: long_sizes(extra)? };
        let mut complete = |short: u32| match short {
            u32::MAX => long.u64().ok(),
            short => Some(u64::from(short)),
        };
        let (length, packed) = (complete(self.length)?, complete(self.packed)?);
        let offset = complete(self.offset)?;
        let disk = if self.disk == u16::MAX { long.u32().ok()? } else { self.disk.into() };
        (disk == 0).then_some((length, packed, offset))
    }
}

/// The content of the extra field with long sizes, empty when there is none; `None` when the fields are broken.
fn long_sizes(extra: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields { bytes: extra };
    // Some tools fill up with a few bytes that are no field.
    while fields.bytes.len() >= 4 {
        let (tag, length) = (fields.u16().ok()?, fields.u16().ok()?);
        let content = fields.take(length.into()).ok()?;
        if tag == LONG_SIZES {
            return Some(content);
        }
    }
    Some(&[])
}

pub(super) fn refuse_entry(name: &[u8], reason: &str) -> Error {
    Error::Invalid(format!("Invalid archive: entry {}: {reason}", shown(name)))
}
