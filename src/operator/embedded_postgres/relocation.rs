//! The data directory of a start as root in a directory that the account of PostgreSQL cannot enter, such as `/root`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::account::Account;
use super::{StartError, data_dir, holds_database};

/// The names of default data directories, and the directories that replace them.
const REPLACEMENTS: [(&str, &str); 2] =
    [("platform-data", "/var/lib/platform"), ("platform-demo", "/var/lib/platform-demo")];

/// A data directory that replaces a default one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// The data directory to use.
    pub data_dir: PathBuf,
    /// The reason, for people.
    pub reason: String,
}

/// Returns the data directory to use instead of the default `data_dir`, if PostgreSQL could not run there. Nothing is
/// created. Every command decides with this function, so that all of them find the data of the server.
///
/// `None` keeps the default: for every user except root, where the account of PostgreSQL can enter the directory, where
/// the directory already holds a database, and where the replacement belongs to another user, such as that of a
/// service.
pub fn relocation(data_dir: &Path) -> Option<Relocation> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let (_, replacement) = REPLACEMENTS.iter().find(|(name, _)| data_dir.ends_with(name))?;
    relocation_to(Path::new(replacement), data_dir)
}

fn relocation_to(replacement: &Path, data_dir: &Path) -> Option<Relocation> {
    // The start reports what is wrong with existing data.
    if !matches!(holds_database(data_dir), Ok(false)) {
        return None;
    }
    let refused = passage(data_dir).err()?;
    let StartError::Impassable { account, directory, .. } = refused else { return None };
    let is_foreign = fs::metadata(replacement).is_ok_and(|found| found.uid() != 0);
    if is_foreign || passage(replacement).is_err() {
        return None;
    }
    let reason = format!("the account {account} cannot enter {}", directory.display());
    Some(Relocation { data_dir: replacement.into(), reason })
}

/// Checks that the account of PostgreSQL can enter the existing part of the path of a data directory.
fn passage(data_dir: &Path) -> Result<(), StartError> {
    let Some(account) = Account::choose(&data_dir::cluster_of(data_dir))? else { return Ok(()) };
    let absolute = std::path::absolute(data_dir).map_err(StartError::io("find", data_dir))?;
    let existing = absolute.ancestors().find_map(|path| fs::canonicalize(path).ok());
    existing.map_or(Ok(()), |existing| account.check_passage(&existing))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    fn directory(mode: u32) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
        directory
    }

    #[test]
    fn only_a_closed_directory_without_a_database_is_replaced() {
        if !rustix::process::geteuid().is_root() {
            return; // PostgreSQL then runs under the same account.
        }
        let (closed, open) = (directory(0o700), directory(0o711));
        let (data, replacement) = (closed.path().join("platform-data"), open.path().join("platform"));

        let found = relocation_to(&replacement, &data).unwrap();

        assert_eq!(found.data_dir, replacement);
        assert!(found.reason.ends_with(closed.path().to_str().unwrap()), "{}", found.reason);
        assert!(!data.exists() && !replacement.exists(), "nothing is created");
        assert_eq!(
            relocation_to(&replacement, &open.path().join("platform-data")),
            None,
            "it can be entered"
        );
        assert_eq!(relocation_to(&closed.path().join("platform"), &data), None, "both are closed");
        fs::create_dir_all(data.join("postgres")).unwrap();
        assert!(relocation_to(&replacement, &data).is_some(), "an empty directory is no database");
        fs::write(data.join("postgres/PG_VERSION"), "15\n").unwrap();
        assert_eq!(relocation_to(&replacement, &data), None, "there is a database");
    }

    #[test]
    fn directory_of_another_user_replaces_nothing() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (closed, open) = (directory(0o700), directory(0o711));
        std::os::unix::fs::chown(open.path(), Some(4_000_000), None).unwrap();
        assert_eq!(relocation_to(open.path(), &closed.path().join("platform-data")), None);
        std::os::unix::fs::chown(open.path(), Some(0), None).unwrap();
        assert!(relocation_to(open.path(), &closed.path().join("platform-data")).is_some());
    }

    #[test]
    fn only_default_data_directories_are_replaced() {
        assert_eq!(relocation(Path::new("./elsewhere")), None);
    }
}
