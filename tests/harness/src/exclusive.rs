//! Work that one test does while others wait, also those of other processes.

use std::fs::File;
use std::path::Path;

/// Waits until no other test has locked a file or a directory, and locks it until the returned value is dropped.
pub(crate) fn lock(path: &Path) -> Result<File, String> {
    let locked = File::open(path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| format!("{} cannot be locked: {error}", path.display()))
}
