//! The directory of a file.

use std::fs::File;
use std::io;
use std::path::Path;

/// Returns the directory of a file; the current one for a name without a directory.
pub fn of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Stores the names of the files in the directory of this one on the disk.
///
/// # Errors
/// The directory cannot be opened, or the disk refuses.
pub(crate) fn synchronize(file: &Path) -> io::Result<()> {
    File::open(of(file))?.sync_all()
}
