//! The records of an archive: bytes at a place, and the numbers in them.

use std::io::{Read, Seek, SeekFrom};

use platform_actors::Result;

use super::{refuse, unreadable};

/// Reads so many bytes at a place.
///
/// # Errors
/// `Invalid` when the archive ends before, `Unavailable` when the file cannot be read.
pub(super) fn read_at(file: &mut (impl Read + Seek), at: u64, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
    file.read_exact(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// A number within a record.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// As [`u16_at`], of four bytes.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Numbers and texts of a record, taken one after the other.
pub(super) struct Fields<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.bytes.split_at_checked(length).ok_or_else(|| refuse("its list of files is broken"))?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn skip(&mut self, length: usize) -> Result<()> {
        self.take(length).map(drop)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many bytes were taken"))
    }
}
