//! The private PostgreSQL of the default start.
//!
//! Without `--database-url`, the server runs its own PostgreSQL on `<data-dir>/postgres`, which is reachable only
//! through a Unix socket and is stopped with the server. Reading order: [`EmbeddedPostgres::start`] here, then
//! `binaries` (which installation), `account` (under which account), `relocation` (the default directory of a start as
//! root), `data_dir` (the layout of the directory, the lock), `cluster` (the first start), `postmaster` (the running
//! process and what a crash leaves), `log` (its log file), `disk` (the free space under it).
//!
//! Three mechanisms end the database together with the server: [`EmbeddedPostgres::stop`] in an orderly shutdown; a
//! signal from the kernel when the server dies in any other way (where `setpriv` of util-linux is installed); and the
//! next start, which first stops a database that the other two missed.

mod account;
mod binaries;
mod cluster;
mod data_dir;
mod disk;
mod error;
mod log;
mod postmaster;
mod relocation;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Child,
    time::{Duration, Instant},
};

pub use binaries::{check_bin_dir, client_program};
pub use error::StartError;
pub use relocation::{Relocation, relocation};

use account::Account;
use binaries::Binaries;
use data_dir::DataDir;
use disk::Disk;
use platform_store::Room;
use postmaster::{Launch, PidFile};

/// The first delay before an ended PostgreSQL is restarted. It lets `pg_ctl stop` see that PostgreSQL ended, and lets
/// `pg_ctl restart` start it instead.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest delay between attempts. Together with the half second between two calls and the start itself, PostgreSQL
/// runs again within 5 s after that becomes possible.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// A PostgreSQL that ran for this time counts as stable, and its next restart uses the first delay again.
const PROVEN: Duration = Duration::from_secs(60);

/// The options of the private PostgreSQL.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory for everything that the server stores (`--data-dir`); created if it does not exist. For a start as
    /// root, the account `postgres` (else `nobody`) must be able to enter all its parent directories.
    pub data_dir: PathBuf,
    /// The directory of PostgreSQL's programs (`--postgres-bin-dir`); `None` searches PATH and the usual directories.
    pub bin_dir: Option<PathBuf>,
    /// The durability of commits.
    pub durability: Durability,
    /// The number of bytes that stay free on the disk (`--least-free-bytes`). While fewer are free, nothing can be
    /// stored; 0 disables the check.
    pub least_free: u64,
}

/// The guarantee that a commit gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Committed data is on disk, as a 2xx response promises.
    Durable,
    /// Committed data is in memory, and four times as many connections are allowed. For tests, whose data may be lost.
    Disposable,
}

/// The result of [`EmbeddedPostgres::supervise`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervision {
    /// The database is running.
    Running,
    /// The database had ended and is running again; connections to it are lost.
    Restarted,
    /// The database has ended. The next attempt is due later, or an operator currently runs a PostgreSQL on the data
    /// (`pg_ctl restart`), which is left alone until it ends.
    Waiting,
}

/// A running PostgreSQL that this process owns. Dropping it stops it.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    launch: Launch,
    disk: Disk,
    child: Option<Child>,
    started: Instant,
    next_attempt: Instant,
    pause: Duration,
    /// The lock is held from before the first access to the data until after the end of the database.
    _lock: File,
}

impl EmbeddedPostgres {
    /// Starts the database, creates it on the first start, and waits until it accepts connections. This takes about a
    /// second for the first start, a tenth of a second for later ones, and at most two minutes when a crash must be
    /// recovered from. A database that a crashed server left on the same data is stopped first.
    ///
    /// This function blocks. Call it on a thread that lives as long as the database is needed, such as the main thread:
    /// the kernel's signal that ends the database with its parent is sent when the starting *thread* ends.
    ///
    /// # Errors
    /// [`StartError`]; no process is left running in that case, and a directory that this start created for nothing is
    /// removed.
    pub fn start(options: Options) -> Result<Self, StartError> {
        let data_dir = DataDir::create(&options.data_dir)?;
        let lock = data_dir.lock().inspect_err(|_| data_dir.remove_if_empty())?;
        let launch = prepare(&data_dir, &options).inspect_err(|_| data_dir.remove_if_unused())?;
        postmaster::end_leftover(&launch.cluster)?;
        let mut disk = Disk::new(launch.cluster.clone(), data_dir.reserve(), options.least_free);
        // On a full disk, the start already needs the space of the reserve.
        disk.check();
        let Launch { cluster, binaries, account, durability, .. } = &launch;
        cluster::upgrade_roles(cluster, binaries, account.as_ref(), *durability)?;
        let now = Instant::now();
        let mut postgres = Self {
            launch,
            disk,
            child: None,
            started: now,
            next_attempt: now,
            pause: FIRST_PAUSE,
            _lock: lock,
        };
        postgres.launch()?;
        Ok(postgres)
    }

    /// Returns the connection string for the role `platform` and its database `platform`: `host=<socket directory>
    /// user=platform dbname=platform`, libpq's key/value form.
    pub fn database_url(&self) -> String {
        data_dir::database_url(&self.socket_dir().to_string_lossy())
    }

    /// Returns the directory of the socket. Only the account of the database (and root) may enter it.
    pub fn socket_dir(&self) -> &Path {
        &self.launch.socket_dir
    }

    /// Checks whether the disk has space to store data. Called about twice a second, because other programs may
    /// fill the disk.
    pub fn check_disk(&mut self) -> Room {
        self.disk.check()
    }

    /// Returns the free bytes that the last check found; `None` if the disk is not checked.
    pub fn free_bytes(&self) -> Option<u64> {
        self.disk.last_free()
    }

    /// Restarts the database when it ended by itself or was stopped by an operator, after a delay of one second that
    /// grows to three. Called about twice a second on the thread that called [`start`](Self::start); returns
    /// immediately unless it starts the database or rotates its log.
    ///
    /// # Errors
    /// [`StartError`] of a failed attempt; later calls try again.
    pub fn supervise(&mut self) -> Result<Supervision, StartError> {
        self.rotate_log();
        if let Some(child) = &mut self.child {
            let Ok(Some(status)) = child.try_wait() else {
                if self.started.elapsed() > PROVEN {
                    self.pause = FIRST_PAUSE;
                }
                return Ok(Supervision::Running);
            };
            tracing::warn!(process.pid = child.id(), %status, "private postgresql ended");
            self.child = None;
            self.postpone();
        }
        if Instant::now() < self.next_attempt || PidFile::live(&self.launch.cluster).is_some() {
            return Ok(Supervision::Waiting);
        }
        let attempt = postmaster::end_leftover(&self.launch.cluster).and_then(|()| self.launch());
        if attempt.is_err() {
            self.postpone();
        }
        attempt.map(|()| Supervision::Restarted)
    }

    /// Stops the database: clients are disconnected and a checkpoint is written, within 20 s; after that an immediate
    /// shutdown follows, and the next start recovers from the write-ahead log. It does nothing if the database is
    /// already stopped.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            postmaster::stop_child(&mut child);
            tracing::info!(process.pid = child.id(), "private postgresql stopped");
        }
        // A database that an operator started in place of this one is stopped, too.
        if let Err(error) = postmaster::end_leftover(&self.launch.cluster) {
            tracing::error!(%error, "private postgresql cannot be stopped");
        }
    }

    fn rotate_log(&self) {
        if let Err(error) = log::rotate(&self.launch.log) {
            tracing::warn!(%error, "the log of the private postgresql cannot be rotated");
        }
    }

    fn postpone(&mut self) {
        self.next_attempt = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn launch(&mut self) -> Result<(), StartError> {
        let begin = Instant::now();
        self.clear_socket();
        self.rotate_log();
        let child = self.launch.start()?;
        tracing::info!(
            process.pid = child.id(),
            version = %self.launch.binaries.version,
            took_ms = begin.elapsed().as_millis(),
            "private postgresql started"
        );
        self.started = Instant::now();
        self.child = Some(child);
        Ok(())
    }

    /// Removes the socket of a database that has ended, and its lock file, whose process id may have been reused.
    /// Nobody else uses the directory, and no server runs on the data.
    fn clear_socket(&self) {
        for name in [data_dir::SOCKET_NAME.to_owned(), format!("{}.lock", data_dir::SOCKET_NAME)] {
            // PostgreSQL reports in its log what cannot be removed.
            fs::remove_file(self.launch.socket_dir.join(name)).ok();
        }
    }
}

impl Drop for EmbeddedPostgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Chooses account and programs, and creates the database if there is none.
fn prepare(data_dir: &DataDir, options: &Options) -> Result<Launch, StartError> {
    let cluster = data_dir.cluster();
    let account = Account::choose(&cluster)?;
    if let Some(account) = &account {
        account.check_passage(data_dir.path())?;
    }
    let data = cluster::version_of_data(&cluster)?;
    let binaries = Binaries::choose(options.bin_dir.as_deref(), data, &cluster, account.as_ref())?;
    if data.is_none() {
        tracing::info!(data_dir = %data_dir.path().display(), "creating the private postgresql");
        cluster::create(data_dir, &binaries, account.as_ref(), options.durability)?;
    }
    Ok(Launch {
        binaries,
        cluster,
        socket_dir: data_dir.socket_dir(account.as_ref())?,
        account,
        log: data_dir.log(),
        durability: options.durability,
    })
}

/// Returns the connection string of the private PostgreSQL that a server is currently running on this data directory,
/// so that commands such as `platform admin user create` work at the same time. Returns `None` when none is running;
/// the caller may then [`start`](EmbeddedPostgres::start) one.
pub fn running_database_url(data_dir: &Path) -> Option<String> {
    let cluster = data_dir::cluster_of(&fs::canonicalize(data_dir).ok()?);
    let file = PidFile::live(&cluster).filter(|file| file.ready)?;
    Some(data_dir::database_url(&file.socket_dir))
}

/// Returns whether a server has created its private PostgreSQL in this data directory, running or not.
///
/// # Errors
/// `Unreadable` when this user may not look into the directory, `NotData` when something else is in its place, or `Io`.
pub fn holds_database(data_dir: &Path) -> Result<bool, StartError> {
    match cluster::version_of_data(&data_dir::cluster_of(data_dir)) {
        Err(StartError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            Err(StartError::Unreadable { data_dir: data_dir.into() })
        }
        version => version.map(|version| version.is_some()),
    }
}
