//! The account that runs PostgreSQL: the current one, or an unprivileged one when the current one is root.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

use super::StartError;

/// An unprivileged account of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// Selects the account that must run PostgreSQL. `None` means the current account, which is correct for every
    /// account except root.
    ///
    /// Existing data determines the account by its owner, so that a `postgres` account that was installed later does
    /// not prevent `nobody` from reading its own data.
    pub(super) fn choose(cluster: &Path) -> Result<Option<Self>, StartError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        if let Ok(owner) = fs::metadata(cluster)
            && owner.uid() != 0
        {
            let name = named(&passwd, |account| account.uid == owner.uid())
                .map_or_else(|| owner.uid().to_string(), |account| account.name);
            return Ok(Some(Self { name, uid: owner.uid(), gid: owner.gid() }));
        }
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| named(&passwd, |account| account.name == *name))
            .map(Some)
            .ok_or(StartError::NoAccount)
    }

    /// Checks that this account can enter `directory` and all its parents.
    ///
    /// # Errors
    /// `Impassable` with the first directory, starting at the root, whose x bit is missing.
    pub(super) fn check_passage(&self, directory: &Path) -> Result<(), StartError> {
        let mut ancestors: Vec<_> = directory.ancestors().collect();
        ancestors.reverse();
        for ancestor in ancestors {
            let metadata = fs::metadata(ancestor).map_err(StartError::io("read", ancestor))?;
            let enter = match () {
                () if metadata.uid() == self.uid => 0o100,
                () if metadata.gid() == self.gid => 0o010,
                () => 0o001,
            };
            if metadata.permissions().mode() & enter == 0 {
                return Err(StartError::Impassable {
                    account: self.name.clone(),
                    directory: ancestor.into(),
                    mode: metadata.permissions().mode() & 0o7777,
                });
            }
        }
        Ok(())
    }
}

/// Returns the first matching account of a passwd file; invalid lines are skipped.
fn named(passwd: &str, wanted: impl Fn(&Account) -> bool) -> Option<Account> {
    let account = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Account { name, uid, gid })
    };
    passwd.lines().filter_map(account).find(wanted)
}

/// Creates a command that runs as `account` with no environment variable except PATH. Variables of the caller such as
/// `PGDATA`, `PGOPTIONS` or the locale must not affect the database.
pub(super) fn command(program: &Path, account: Option<&Account>) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("/usr/local/bin:/usr/bin:/bin").into());
    command.env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8").current_dir("/").stdin(Stdio::null());
    if let Some(account) = account {
        // The standard library clears the supplementary groups when it sets the user id.
        command.uid(account.uid).gid(account.gid);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_from_passwd_lines() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\n# comment\n\nnobody:*:-2:-2::/:\npostgres:x:101:104:,,,:/x:/y\n";

        let found = named(passwd, |account| account.name == "postgres");

        assert_eq!(found, Some(Account { name: "postgres".into(), uid: 101, gid: 104 }));
        assert_eq!(named(passwd, |account| account.name == "nobody"), None);
    }

    #[test]
    fn directory_without_x_bit_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let closed = outer.path().join("closed");
        fs::create_dir_all(closed.join("data")).unwrap();
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o711)).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = Account { name: "stranger".into(), uid: 4_000_000, gid: 4_000_000 };

        let refused = stranger.check_passage(&closed.join("data")).unwrap_err();

        assert!(
            matches!(&refused, StartError::Impassable { directory, mode: 0o700, .. } if *directory == closed)
        );
        assert!(refused.to_string().contains("--data-dir"), "{refused}");
    }
}
