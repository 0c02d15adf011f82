//! The secret key that a restore replaces: it is kept in a file beside it until the restore is done.

use std::fs;
use std::path::{Path, PathBuf};

use super::Failure;

fn beside(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(".before_restore");
    place.with_file_name(name)
}

/// Keeps the key that is there.
pub(super) fn keep(place: &Path) -> Result<(), Failure> {
    if place.try_exists()? {
        fs::copy(place, beside(place))?;
    }
    Ok(())
}

/// Puts the key that was kept back in its place.
pub(super) fn bring_back(place: &Path) -> Result<(), Failure> {
    if beside(place).try_exists()? {
        fs::rename(beside(place), place)?;
    }
    Ok(())
}

/// Deletes the key that was kept. One that cannot be deleted is overwritten by the next restore.
pub(super) fn forget(place: &Path) {
    fs::remove_file(beside(place)).ok();
}
