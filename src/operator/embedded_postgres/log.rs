//! The log of the private PostgreSQL, `postgres.log`. It contains what happens to PostgreSQL itself, such as its starts
//! and crashes. Errors of statements go to the server that sent them (see `roles.sql`), so no client fills the disk.
//! PostgreSQL appends to the file for as long as it runs; a file that has grown is copied and emptied.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The size in bytes from which the log is moved to `postgres.log.1`, which it replaces.
const LARGEST: u64 = 8 << 20;

/// Opens the log for appending. It has mode 600.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Moves a log that has grown too large. Lines that PostgreSQL logs in the same moment may be lost.
///
/// # Errors
/// The file cannot be copied; it is emptied anyway, because it must not fill the disk.
pub(super) fn rotate(path: &Path) -> io::Result<()> {
    if fs::metadata(path).map_or(0, |found| found.len()) < LARGEST {
        return Ok(());
    }
    let mut older = path.as_os_str().to_owned();
    older.push(".1");
    let copied = fs::copy(path, PathBuf::from(older));
    // PostgreSQL appends, so it continues at the beginning of the emptied file.
    OpenOptions::new().write(true).open(path)?.set_len(0)?;
    copied.map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn log_that_has_grown_is_moved_once_while_its_writer_continues() {
        let directory = tempfile::tempdir().unwrap();
        let (path, older) = (directory.path().join("postgres.log"), directory.path().join("postgres.log.1"));
        let mut log = open(&path).unwrap();
        log.write_all(b"a few lines\n").unwrap();
        rotate(&path).unwrap();
        assert!(!older.exists(), "a small log stays");

        for round in [b'a', b'b'] {
            log.write_all(&vec![round; LARGEST as usize]).unwrap();
            rotate(&path).unwrap();
            log.write_all(b"continues\n").unwrap();

            assert_eq!(fs::read(&path).unwrap(), b"continues\n");
            assert!(fs::read(&older).unwrap().ends_with(&[round; 10]), "only the last one is kept");
        }
        assert_eq!(fs::metadata(&older).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
