//! The list of files at the end of an archive. Its size is limited before it is read. It is accepted only if it
//! matches its own description and the files themselves.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use platform_model::error::{Error, Result};
use zip::read::{ArchiveOffset, Config, ZipArchiveMetadata};
use zip::{CompressionMethod, ZipArchive, ZipReadOptions};

use super::{because, names, refuse, refuse_entry};

/// The size of the record at the end, without a comment.
const END: u64 = 22;
/// The first bytes of the record at the end.
const END_MARK: &[u8] = b"PK\x05\x06";
/// The most files and directories of one archive.
const MAX_ENTRIES: u16 = 10_000;
/// The most bytes of the list: names and metadata, which the crate expands up to tenfold in memory.
const MAX_LIST: u64 = 4 << 20;

/// The flags of encrypted entries, in one of three ways, and of patches.
const REJECTED_FLAGS: u16 = 1 | 1 << 6 | 1 << 13 | 1 << 5;
/// The bits for the kind of file in a Unix mode.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// A file or a directory of an archive.
#[derive(Debug)]
pub(super) struct Entry {
    /// The index of the entry in the list.
    pub(super) index: usize,
    /// The path; that of a directory ends with a slash.
    pub(super) name: String,
    /// The offset of the entry's own header in the archive.
    start: u64,
    /// The offset of the end of the compressed content.
    end: u64,
}

impl Entry {
    pub(super) fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }

    pub(super) fn refuse(&self, reason: &str) -> Error {
        refuse_entry(self.name.as_bytes(), reason)
    }
}

/// Reads the list of an archive of `length` bytes and returns the entries in the order of their offsets.
///
/// # Errors
/// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read.
pub(super) fn read(
    mut file: impl Read + Seek + Copy,
    length: u64,
) -> Result<(Arc<ZipArchiveMetadata>, Vec<Entry>)> {
    let place = ListPosition::find(file, length)?;
    // The position is known, so the crate need not search the whole file for it.
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let archive = ZipArchive::with_config(config, file);
    let mut archive = archive.map_err(|error| refuse(&because("its list of files is broken", error)))?;
    // The crate read the list last.
    let end = file.stream_position().map_err(Error::unavailable)?;
    if archive.central_directory_start() != place.start || end != place.start + place.size {
        return Err(refuse(&format!(
            "its list of files is not of {} entries and {} bytes, as it says",
            place.entries, place.size
        )));
    }
    let list = archive.metadata();
    if list.len() != usize::from(place.entries) {
        return Err(refuse("there are two entries of one name"));
    }
    let entries = (0..list.len()).map(|index| check_entry(&mut archive, &list, index));
    let mut entries = entries.collect::<Result<Vec<_>>>()?;
    names::check(&entries)?;
    entries.sort_by_key(|entry| entry.start);
    check_places(&entries, place.start)?;
    Ok((list, entries))
}

/// The position of the list.
struct ListPosition {
    entries: u16,
    size: u64,
    start: u64,
}

impl ListPosition {
    /// Reads only the record at the end, so an archive with a million entries is rejected here.
    fn find(file: impl Read + Seek, length: u64) -> Result<Self> {
        let no_end = || refuse("it is not a zip archive, is truncated, or has bytes after its end");
        let (end, bytes) = find_end(file, length)?.ok_or_else(no_end)?;
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let (entries, size, start) = (short(10), long(12), long(16));
        if entries == u16::MAX || size == u32::MAX || start == u32::MAX {
            return Err(refuse("it uses zip64, which is not supported; archives have at most 4 GiB"));
        }
        if (short(4), short(6), short(8)) != (0, 0, entries) {
            return Err(refuse("it is a part of a multi-part archive"));
        }
        if entries > MAX_ENTRIES {
            return Err(refuse(&format!("{entries} entries; allowed: at most {MAX_ENTRIES}")));
        }
        let place = Self { entries, size: size.into(), start: start.into() };
        if place.size > MAX_LIST {
            return Err(refuse(&format!(
                "its list of files takes {size} bytes; allowed: at most {MAX_LIST}"
            )));
        }
        if place.start + place.size == end {
            Ok(place)
        } else {
            Err(refuse(
                "its list of files is not at the announced position: there are bytes before or after it",
            ))
        }
    }
}

/// Finds the record at the end, and returns its position and its bytes without the comment. `git archive` writes the
/// id of the commit as comment. The last record of the file counts, and it must end the file together with its comment,
/// so no other program finds another one.
fn find_end(mut file: impl Read + Seek, length: u64) -> Result<Option<(u64, [u8; END as usize])>> {
    let mut tail = Vec::new();
    // Most archives have no comment, so the short tail is tried first.
    for longest_comment in [0, u64::from(u16::MAX)] {
        let begin = length.saturating_sub(END + longest_comment);
        tail.resize((length - begin) as usize, 0);
        let read = file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_exact(&mut tail));
        read.map_err(Error::unavailable)?;
        let Some(at) = tail.windows(END_MARK.len()).rposition(|bytes| bytes == END_MARK) else { continue };
        let Some(record) = tail[at..].first_chunk::<{ END as usize }>() else { continue };
        let comment = u16::from_le_bytes([record[20], record[21]]);
        if at + record.len() + usize::from(comment) == tail.len() {
            return Ok(Some((begin + at as u64, *record)));
        }
    }
    Ok(None)
}

/// Checks that an entry of the list is of an allowed kind and that its own header agrees.
fn check_entry(
    archive: &mut ZipArchive<impl Read + Seek>,
    list: &ZipArchiveMetadata,
    index: usize,
) -> Result<Entry> {
    let listed = list.entry(index).map_err(|error| refuse(&because("its list of files is broken", error)))?;
    let refuse = |reason: &str| refuse_entry(listed.name_raw(), reason);
    if listed.flags().as_u16() & REJECTED_FLAGS != 0 {
        return Err(refuse("it is encrypted, or a patch"));
    }
    let method = listed.compression();
    if ![CompressionMethod::Stored, CompressionMethod::Deflated].contains(&method) {
        return Err(refuse(&format!("it is compressed by the method {method}; allowed: stored, deflate")));
    }
    let name = names::parse(listed.name_raw()).map_err(|rule| refuse(&rule))?;
    let is_directory = name.ends_with('/');
    // This applies whatever system the entry claims to come from.
    match (listed.external_attributes() >> 16 & KIND, is_directory) {
        (0, _) | (REGULAR, false) | (DIRECTORY, true) => {}
        (LINK, _) => return Err(refuse("it is a link")),
        _ => return Err(refuse("it is neither a file nor a directory")),
    }
    if is_directory && listed.size() != 0 {
        return Err(refuse("it is a directory with a content"));
    }
    if listed.header_start() >= archive.central_directory_start() {
        return Err(refuse("its local header is not before the list of files"));
    }
    let strict = ZipReadOptions::new().enforce_header_consistency(true);
    let content = archive.by_index_with_options(index, strict);
    let content = content.map_err(|error| refuse(&because("its local header is wrong", error)))?;
    let end = content.data_start().and_then(|start| start.checked_add(content.compressed_size()));
    let end = end.ok_or_else(|| refuse("its sizes are invalid"))?;
    Ok(Entry { index, name, start: content.header_start(), end })
}

/// Checks that no byte belongs to two entries, and that the archive begins with the first entry.
fn check_places(entries: &[Entry], list: u64) -> Result<()> {
    let mut free_from = 0;
    for entry in entries {
        if entry.start < free_from {
            return Err(entry.refuse("it overlaps the entry before it"));
        }
        if free_from == 0 && entry.start != 0 {
            return Err(entry.refuse("there are bytes before the first entry"));
        }
        if entry.end > list {
            return Err(entry.refuse("its content reaches into the list of files"));
        }
        free_from = entry.end;
    }
    Ok(())
}
