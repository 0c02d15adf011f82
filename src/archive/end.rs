//! The record at the very end of an archive, which says where the list of files is; of large archives there is a longer one
//! before it.

use std::io::{Read, Seek};

use platform_actors::Result;

use super::records::{Fields, read_at, u16_at, u32_at};
use super::refuse;

/// The record at the very end, without its comment.
const END: usize = 22;
const END_SIGNATURE: u32 = 0x0605_4b50;
/// What leads to the longer record of archives beyond 4 GiB; directly before [`END`].
const LOCATOR: usize = 20;
const LOCATOR_SIGNATURE: u32 = 0x0706_4b50;
const LONG_END: usize = 56;
const LONG_END_SIGNATURE: u32 = 0x0606_4b50;
const MAX_COMMENT: usize = 0xffff;

/// Where the list of files is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) entries: u64,
    pub(super) size: u64,
    pub(super) start: u64,
}

/// Finds the record at the end, and where the list must end.
pub(super) fn find(file: &mut (impl Read + Seek), length: u64) -> Result<(Place, u64)> {
    let tail = length.min((END + MAX_COMMENT) as u64) as usize;
    let start_of_tail = length - tail as u64;
    let bytes = read_at(file, start_of_tail, tail)?;
    let is_end = |at: &usize| {
        u32_at(&bytes, *at) == Some(END_SIGNATURE)
            && u16_at(&bytes, at + 20).is_some_and(|comment| at + END + usize::from(comment) == tail)
    };
    let at = (0..=tail.saturating_sub(END)).rev().find(is_end);
    let Some(at) = at.filter(|_| tail >= END) else {
        return Err(refuse("it is no zip archive, is cut off, or has bytes behind its end"));
    };
    let mut fields = Fields { bytes: &bytes[at + 4..] };
    let disks = (fields.u16()?, fields.u16()?);
    let (here, entries) = (u64::from(fields.u16()?), u64::from(fields.u16()?));
    let place = Place { entries, size: fields.u32()?.into(), start: fields.u32()?.into() };
    let end = start_of_tail + at as u64;
    let (place, end) = match find_long(file, end)? {
        Some((long, start)) => (place.completed_by(long)?, start),
        None if place.is_cut() => return Err(refuse("its end names no sizes")),
        None => (place, end),
    };
    let one_disk = [disks.0, disks.1].iter().all(|disk| [0, 0xffff].contains(disk));
    match one_disk && (here == entries) {
        true => Ok((place, end)),
        false => Err(refuse("it is one part of several")),
    }
}

/// The longer record of archives beyond 4 GiB, and where it begins.
fn find_long(file: &mut (impl Read + Seek), end: u64) -> Result<Option<(Place, u64)>> {
    let Some(at) = end.checked_sub(LOCATOR as u64) else { return Ok(None) };
    let locator = read_at(file, at, LOCATOR)?;
    if u32_at(&locator, 0) != Some(LOCATOR_SIGNATURE) {
        return Ok(None);
    }
    let mut fields = Fields { bytes: &locator[4..] };
    let (disk, start, disks) = (fields.u32()?, fields.u64()?, fields.u32()?);
    let broken = || refuse("the long form of its end is broken");
    if disk != 0 || disks > 1 || start.checked_add(LONG_END as u64) != Some(at) {
        return Err(broken());
    }
    let record = read_at(file, start, LONG_END)?;
    let mut fields = Fields { bytes: &record };
    let (signature, size) = (fields.u32()?, fields.u64()?);
    fields.skip(4)?;
    let disks = (fields.u32()?, fields.u32()?);
    let (here, entries) = (fields.u64()?, fields.u64()?);
    let place = Place { entries, size: fields.u64()?, start: fields.u64()? };
    let right = signature == LONG_END_SIGNATURE && size == LONG_END as u64 - 12;
    match right && disks == (0, 0) && here == entries {
        true => Ok(Some((place, start))),
        false => Err(broken()),
    }
}

impl Place {
    /// Whether a number was too large for its field.
    fn is_cut(self) -> bool {
        self.entries == 0xffff || self.size == 0xffff_ffff || self.start == 0xffff_ffff
    }

    /// Both records must say the same, as far as the numbers fit into the shorter one.
    fn completed_by(self, long: Self) -> Result<Self> {
        let fits = |short: u64, long: u64, cut: u64| short == long || short == cut;
        match fits(self.entries, long.entries, 0xffff)
            && fits(self.size, long.size, 0xffff_ffff)
            && fits(self.start, long.start, 0xffff_ffff)
        {
            true => Ok(long),
            false => Err(refuse("the two forms of its end contradict each other")),
        }
    }
}
