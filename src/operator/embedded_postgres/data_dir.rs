//! The data directory: its lock, its layout, and the location of the socket.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use platform_model::hex::hex;

use super::{StartError, account::Account};

/// The name of PostgreSQL's socket at the default port. The port has no other meaning here.
pub(super) const SOCKET_NAME: &str = ".s.PGSQL.5432";
/// The maximum length of a socket path in bytes.
const LONGEST_SOCKET_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The file that is locked while a server uses the directory.
const LOCK: &str = "lock";
/// The prefix of the directories in which first starts are prepared.
const UNFINISHED: &str = "postgres.unfinished";

/// The time for which programs of a killed first start may continue to run.
const ORPHANS_LINGER: Duration = Duration::from_secs(30);

/// The time for which a lock may outlive its holder.
const LOCK_LINGERS: Duration = Duration::from_secs(1);

/// An existing data directory.
#[derive(Debug)]
pub(super) struct DataDir {
    /// The absolute path without symbolic links.
    path: PathBuf,
    /// The directories on the path that this start has created, the innermost first.
    created: Vec<PathBuf>,
}

impl DataDir {
    /// Creates the directory if it does not exist. When PostgreSQL runs under another account, other accounts may pass
    /// through the directory, but not list it.
    pub(super) fn create(path: &Path) -> Result<Self, StartError> {
        let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
        let absolute = std::path::absolute(path).map_err(StartError::io("find", path))?;
        let missing = absolute.ancestors().take_while(|ancestor| fs::symlink_metadata(ancestor).is_err());
        let created: Vec<PathBuf> = missing.map(Into::into).collect();
        DirBuilder::new().recursive(true).mode(mode).create(path).map_err(StartError::io("create", path))?;
        for directory in &created {
            // The umask of root may have closed it to the account of PostgreSQL.
            let open = Permissions::from_mode(mode);
            fs::set_permissions(directory, open).map_err(StartError::io("change the mode of", directory))?;
        }
        let path = fs::canonicalize(path).map_err(StartError::io("find", path))?;
        Ok(Self { path, created })
    }

    /// Removes the directory if this start has created it and no database is in it. The caller holds the lock.
    pub(super) fn remove_if_unused(&self) {
        if self.created.is_empty() || self.cluster().exists() {
            return;
        }
        // The error of the start is reported, not one of the removal, which leaves an unused directory at worst.
        self.remove_unfinished_clusters().ok();
        fs::remove_file(self.path.join(LOCK)).ok();
        self.remove_if_empty();
    }

    /// Removes the directories that this start has created, if they are empty.
    pub(super) fn remove_if_empty(&self) {
        for directory in &self.created {
            fs::remove_dir(directory).ok();
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the data directory of PostgreSQL.
    pub(super) fn cluster(&self) -> PathBuf {
        cluster_of(&self.path)
    }

    /// Creates a directory in which a first start is prepared, so that `cluster` is either complete or absent. Each
    /// first start has its own, because the programs of a killed one may still write.
    pub(super) fn create_unfinished_cluster(&self, account: Option<&Account>) -> Result<PathBuf, StartError> {
        let (prefix, private) = (format!("{UNFINISHED}."), Permissions::from_mode(0o700));
        let directory = tempfile::Builder::new().prefix(&prefix).permissions(private).tempdir_in(&self.path);
        let directory = directory.map_err(StartError::io("create a directory in", &self.path))?.keep();
        hand_over(&directory, account)?;
        Ok(directory)
    }

    /// Removes the directories of interrupted first starts. Programs of a server that was just killed may still write
    /// there; they end when their files are gone.
    ///
    /// # Errors
    /// `Io` when something still cannot be removed after repeated attempts.
    pub(super) fn remove_unfinished_clusters(&self) -> Result<(), StartError> {
        let begun = Instant::now();
        for entry in fs::read_dir(&self.path).map_err(StartError::io("read", &self.path))?.flatten() {
            if !entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                continue;
            }
            loop {
                match remove_tree(&entry.path()) {
                    Ok(()) => break,
                    Err(StartError::Io { source, .. })
                        if source.kind() == ErrorKind::DirectoryNotEmpty
                            && begun.elapsed() < ORPHANS_LINGER =>
                    {
                        std::thread::sleep(ORPHANS_LINGER / 100);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Returns the path of the reserve file, which is removed when the disk is full.
    pub(super) fn reserve(&self) -> PathBuf {
        self.path.join("reserve")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    /// Locks the directory for this process. The operating system releases the lock when the process ends in any way.
    ///
    /// # Errors
    /// `InUse` while another server holds the lock.
    pub(super) fn lock(&self) -> Result<File, StartError> {
        let path = self.path.join(LOCK);
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let file = file.map_err(StartError::io("open", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                // A child process of the previous holder keeps the file open for the moment between its fork and its
                // exec.
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_LINGERS => {
                    std::thread::sleep(LOCK_LINGERS / 20);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StartError::InUse { data_dir: self.path.clone() });
                }
                Err(TryLockError::Error(error)) => return Err(StartError::io("lock", path)(error)),
            }
        }
    }

    /// Returns the directory of the socket and creates it. It is `run` in the data directory. If that path is too long
    /// for a socket or contains characters that are special in a list of directories, it is a directory of this server
    /// among the temporary files.
    pub(super) fn socket_dir(&self, account: Option<&Account>) -> Result<PathBuf, StartError> {
        let name = format!("platform-{}", fingerprint(&self.path));
        let candidates =
            [self.path.join("run"), std::env::temp_dir().join(&name), Path::new("/tmp").join(&name)];
        let fitting = candidates.into_iter().find(|directory| fits_socket(directory));
        let directory = fitting.expect("a name of 25 characters below /tmp fits");
        if let Some(account) = account
            && let Some(parent) = directory.parent()
        {
            account.check_passage(parent)?;
        }
        own_directory(&directory, account)?;
        Ok(directory)
    }
}

/// Returns the path of PostgreSQL's data directory within a data directory.
pub(super) fn cluster_of(data_dir: &Path) -> PathBuf {
    data_dir.join("postgres")
}

/// Creates a directory that only the account can access. An existing one must already be like that.
///
/// # Errors
/// `ForeignSocketDir` when another account created it, because that account could listen in place of PostgreSQL.
fn own_directory(directory: &Path, account: Option<&Account>) -> Result<(), StartError> {
    match create_private(directory, account) {
        Err(StartError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let metadata = fs::symlink_metadata(directory).map_err(StartError::io("read", directory))?;
    let ours = rustix::process::geteuid().as_raw();
    let wanted = account.map_or(ours, |account| account.uid);
    if !metadata.is_dir() || ![ours, wanted].contains(&metadata.uid()) {
        return Err(StartError::ForeignSocketDir { directory: directory.into(), owner: metadata.uid() });
    }
    hand_over(directory, account)
}

/// Creates a directory that only `account` can read.
fn create_private(directory: &Path, account: Option<&Account>) -> Result<(), StartError> {
    DirBuilder::new().mode(0o700).create(directory).map_err(StartError::io("create", directory))?;
    hand_over(directory, account)
}

/// Gives a file or directory to the account of PostgreSQL, if that is another one.
pub(super) fn hand_over(path: &Path, account: Option<&Account>) -> Result<(), StartError> {
    let Some(account) = account else { return Ok(()) };
    lchown(path, Some(account.uid), Some(account.gid)).map_err(StartError::io("change the owner of", path))
}

/// Removes a directory with its contents. A directory that does not exist is not an error.
fn remove_tree(directory: &Path) -> Result<(), StartError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StartError::io("remove", directory)(error)),
        _ => Ok(()),
    }
}

/// Syncs a directory, so that the file names in it survive a power failure.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn fits_socket(directory: &Path) -> bool {
    directory.to_str().is_some_and(|text| !text.contains([',', '"']) && text.trim() == text)
        && directory.join(SOCKET_NAME).as_os_str().len() <= LONGEST_SOCKET_PATH
}

/// Returns sixteen characters that differ for different paths.
fn fingerprint(path: &Path) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, path.as_os_str().as_encoded_bytes());
    hex(&digest.as_ref()[..8])
}

/// Returns the connection string for the socket in `directory`.
pub(super) fn database_url(directory: &str) -> String {
    format!("host={} user=platform dbname=platform", quoted(directory))
}

/// Quotes a value of a libpq key/value string.
fn quoted(value: &str) -> String {
    if !value.contains(|c: char| c.is_whitespace() || c == '\'' || c == '\\') {
        return value.into();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_blanks_and_quotes_are_quoted() {
        assert_eq!(database_url("/data/run"), "host=/data/run user=platform dbname=platform");
        assert_eq!(database_url(r"/my d'a\ta"), r"host='/my d\'a\\ta' user=platform dbname=platform");
    }

    #[test]
    fn long_data_directory_has_its_socket_among_the_temporary_files() {
        let outer = tempfile::tempdir().unwrap();
        let data_dir = DataDir::create(&outer.path().join("a".repeat(100))).unwrap();

        let socket_dir = data_dir.socket_dir(None).unwrap();

        assert!(socket_dir.starts_with(std::env::temp_dir()) && fits_socket(&socket_dir), "{socket_dir:?}");
        assert_eq!(fs::metadata(&socket_dir).unwrap().mode() & 0o777, 0o700);
        assert_eq!(data_dir.socket_dir(None).unwrap(), socket_dir, "the same at every start");
        fs::remove_dir(socket_dir).unwrap();
    }

    #[test]
    fn link_in_the_place_of_the_socket_directory_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let data_dir = DataDir::create(outer.path()).unwrap();
        std::os::unix::fs::symlink("/", outer.path().join("run")).unwrap();

        let refused = data_dir.socket_dir(None).unwrap_err();

        assert!(matches!(refused, StartError::ForeignSocketDir { .. }), "{refused}");
    }

    #[test]
    fn data_directory_has_one_holder() {
        let outer = tempfile::tempdir().unwrap();
        let data_dir = DataDir::create(&outer.path().join("data")).unwrap();
        let first = data_dir.lock().unwrap();

        let refused = data_dir.lock().unwrap_err();

        assert!(matches!(&refused, StartError::InUse { .. }), "{refused}");
        drop(first);
        data_dir.lock().unwrap();
    }
}
