//! The content of one entry: its own head must agree with the list, and what comes out is counted while it comes.

use std::io::{self, Read, Seek};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use platform_actors::Result;

use super::directory::{Entry, Packing};
use super::records::{Fields, read_at};
use super::{Budget, FREE_OF_RATIO, MAX_RATIO, Sink, unreadable};

/// The head before a content, without name and extra field.
const HEAD: usize = 30;
const HEAD_SIGNATURE: u32 = 0x0403_4b50;
/// Bytes that are taken out at once.
const PIECE: usize = 64 << 10;

/// Unpacks an entry; gives where it ends. Contents end before `end`.
///
/// # Errors
/// `Invalid` names the entry and the rule; `Unavailable` when the file cannot be read; what the sink answers.
pub(super) fn unpack(
    file: &mut (impl Read + Seek),
    entry: &Entry,
    end: u64,
    budget: &mut Budget,
    sink: &mut impl Sink,
) -> Result<u64> {
    let start = check_head(file, entry)?;
    let behind = start.checked_add(entry.packed).filter(|behind| *behind <= end);
    let Some(behind) = behind else { return Err(entry.refuse("its content reaches into the list of files")) };
    if entry.is_directory() {
        return match entry.length {
            0 => Ok(behind),
            _ => Err(entry.refuse("it is a directory with a content")),
        };
    }
    sink.begin(&entry.name)?;
    let packed = file.take(entry.packed);
    match entry.packing {
        Packing::Stored => {
            copy(packed, entry, budget, sink)?;
        }
        Packing::Deflated => {
            let mut decoder = DeflateDecoder::new(packed);
            copy(&mut decoder, entry, budget, sink)?;
            if decoder.total_in() != entry.packed {
                return Err(entry.refuse("there are bytes behind its packed content"));
            }
        }
    }
    sink.end()?;
    Ok(behind)
}

/// Compares the head before the content with the list; gives where the content begins, which is where the file is read next.
fn check_head(file: &mut (impl Read + Seek), entry: &Entry) -> Result<u64> {
    let head = read_at(file, entry.offset, HEAD)?;
    let mut fields = Fields { bytes: &head };
    let signature = fields.u32()?;
    fields.skip(2)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.skip(4 + 12)?;
    let (name, extra) = (usize::from(fields.u16()?), usize::from(fields.u16()?));
    let same = signature == HEAD_SIGNATURE
        && flags & 1 == 0
        && Packing::of(method) == Some(entry.packing)
        && name == entry.name.len();
    if !same || read_at(file, entry.offset + HEAD as u64, name)? != entry.name.as_bytes() {
        return Err(entry.refuse("its head and the list of files contradict each other"));
    }
    let start = entry.offset + (HEAD + name) as u64;
    // Read, not sought: an archive that ends here is cut off.
    read_at(file, start, extra)?;
    Ok(start + extra as u64)
}

/// Copies a content, counting it against its own bounds and those of the archive.
fn copy(mut content: impl Read, entry: &Entry, budget: &mut Budget, sink: &mut impl Sink) -> Result<()> {
    let most = FREE_OF_RATIO.saturating_add(entry.packed.saturating_mul(MAX_RATIO));
    let (mut length, mut crc, mut piece) = (0_u64, Crc::new(), vec![0; PIECE]);
    loop {
        let count = match content.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error)
                if error.kind() == io::ErrorKind::InvalidInput
                    || error.kind() == io::ErrorKind::InvalidData =>
            {
                return Err(entry.refuse("its packed content is broken"));
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(entry.refuse("its packed content is cut off"));
            }
            Err(error) => return Err(unreadable(error)),
        };
        length += count as u64;
        budget.take(count as u64, entry)?;
        if length > most {
            return Err(
                entry.refuse(&format!("it is more than {MAX_RATIO} times as large as its packed content"))
            );
        }
        if length > entry.length {
            return Err(entry.refuse("it is longer than it says"));
        }
        crc.update(&piece[..count]);
        sink.bytes(&piece[..count])?;
    }
    if length != entry.length {
        return Err(entry.refuse("it is shorter than it says"));
    }
    match crc.sum() == entry.crc {
        true => Ok(()),
        false => Err(entry.refuse("its checksum is wrong")),
    }
}

impl Budget {
    fn take(&mut self, bytes: u64, entry: &Entry) -> Result<()> {
        let Some(total) = self.total.checked_sub(bytes) else {
            return Err(entry.refuse(&format!("with it more than the {} bytes allowed come out", self.limit)));
        };
        let Some(by_ratio) = self.by_ratio.checked_sub(bytes) else {
            return Err(entry.refuse(&format!("with it more than {MAX_RATIO} times the archive comes out")));
        };
        (self.total, self.by_ratio) = (total, by_ratio);
        Ok(())
    }
}
