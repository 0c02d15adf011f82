//! The previous secret key during a restore: it is kept in a file beside the new one until the restore has succeeded.

use std::fs;
use std::path::{Path, PathBuf};

use super::Failure;

fn beside(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(".before_restore");
    place.with_file_name(name)
}

/// Copies the existing key to the file beside it.
pub(super) fn keep(place: &Path) -> Result<(), Failure> {
    if place.try_exists()? {
        fs::copy(place, beside(place))?;
    }
    Ok(())
}

/// Replaces the key by the kept one.
pub(super) fn bring_back(place: &Path) -> Result<(), Failure> {
    if beside(place).try_exists()? {
        fs::rename(beside(place), place)?;
    }
    Ok(())
}

/// Deletes the kept key. If it cannot be deleted, the next restore overwrites it.
pub(super) fn forget(place: &Path) {
    fs::remove_file(beside(place)).ok();
}
