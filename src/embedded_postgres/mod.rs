//! The private PostgreSQL of the default start.
//!
//! Without `--database-url` the server runs a PostgreSQL of its own on `<data-dir>/postgres`, reachable through a
//! Unix socket only and stopped with the server. Reading order: [`EmbeddedPostgres::start`] here, then `binaries`
//! (which PostgreSQL), `account` (as whom), `data_dir` (what lies where, the lock), `cluster` (the first start),
//! `postmaster` (the running process and what a crash leaves), `disk` (the room under it).
//!
//! Three things end the database with the server: [`EmbeddedPostgres::stop`] in an orderly end; a signal from the
//! kernel when the server dies in any other way (where `setpriv` of util-linux is installed); and the next start,
//! which stops what the former two missed before it goes on.

mod account;
mod binaries;
mod cluster;
mod data_dir;
mod disk;
mod error;
mod postmaster;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Child,
    time::{Duration, Instant},
};

pub use error::StartError;

use account::Account;
use binaries::Binaries;
use data_dir::DataDir;
use disk::Disk;
use platform_actors::store::Room;
use postmaster::{Launch, PidFile};

/// First pause before an ended server is started again: `pg_ctl stop` sees that it ended, and `pg_ctl restart` may
/// start it instead.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between attempts: with the half second between two calls and the start itself the server is back
/// within 5 s of that being possible.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// A server that ran this long is sound: the pause before its next restart is the first one again.
const PROVEN: Duration = Duration::from_secs(60);

/// What the private PostgreSQL is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of all that the server keeps (`--data-dir`); created where it is missing. A start as root needs
    /// every directory above it to be enterable by the account `postgres` (else `nobody`).
    pub data_dir: PathBuf,
    /// Directory of PostgreSQL's programs (`--postgres-bin-dir`); `None` looks on PATH and in the usual places.
    pub bin_dir: Option<PathBuf>,
    /// What survives a power failure.
    pub durability: Durability,
    /// Bytes that stay free on the disk (`--least-free-bytes`): while fewer are, there is no room to store anything; 0 for none.
    pub least_free: u64,
}

/// What a commit is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Committed means on disk: what a 2xx answer promises (design, section 1).
    Durable,
    /// Committed means in memory, and four times the connections: for tests, whose data nobody misses.
    Disposable,
}

/// What [`EmbeddedPostgres::supervise`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervision {
    /// The database runs.
    Running,
    /// It had ended and runs again; connections to it are gone.
    Restarted,
    /// It has ended; the next attempt is due later, or somebody else runs a PostgreSQL on the data right now
    /// (`pg_ctl restart` by an operator), which is left alone until it ends.
    Waiting,
}

/// A running PostgreSQL that belongs to this process; dropping it stops it.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    launch: Launch,
    disk: Disk,
    child: Option<Child>,
    started: Instant,
    next_attempt: Instant,
    pause: Duration,
    /// Held from before the first look at the data until after the end of the database.
    _lock: File,
}

impl EmbeddedPostgres {
    /// Starts the database, on the first start also creates it, and waits until it takes connections: about a
    /// second for the first start, a tenth for later ones, at most two minutes when a crash must be recovered from.
    /// A server that a crashed predecessor left on the same data is stopped first.
    ///
    /// Blocks. Call it on a thread that lives as long as the database is needed, such as the main thread: the
    /// kernel's signal that ends the database with its parent is sent when the starting *thread* ends.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    pub fn start(options: Options) -> Result<Self, StartError> {
        let data_dir = DataDir::create(&options.data_dir)?;
        let lock = data_dir.lock()?;
        let cluster = data_dir.cluster();
        let account = Account::choose(&cluster)?;
        if let Some(account) = &account {
            account.check_passage(data_dir.path())?;
        }
        let data = cluster::version_of_data(&cluster)?;
        let binaries = Binaries::choose(options.bin_dir.as_deref(), data, &cluster, account.as_ref())?;
        if data.is_none() {
            tracing::info!(data_dir = %data_dir.path().display(), "creating the private postgresql");
            cluster::create(&data_dir, &binaries, account.as_ref(), options.durability)?;
        }
        let launch = Launch {
            binaries,
            cluster,
            socket_dir: data_dir.socket_dir(account.as_ref())?,
            account,
            log: data_dir.log(),
            durability: options.durability,
        };
        postmaster::end_leftover(&launch.cluster)?;
        let mut disk = Disk::new(launch.cluster.clone(), data_dir.reserve(), options.least_free);
        // A full disk needs its reserve for the start already.
        disk.look();
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

    /// How to connect, as the superuser `platform` of the database `platform`: `host=<socket directory>
    /// user=platform dbname=platform`, libpq's key/value form.
    pub fn database_url(&self) -> String {
        data_dir::database_url(&self.socket_dir().to_string_lossy())
    }

    /// The directory of the socket; only the account of the database (and root) may enter it.
    pub fn socket_dir(&self) -> &Path {
        &self.launch.socket_dir
    }

    /// Looks whether there is room on the disk to store something (SE7). Called about twice a second: in between others may
    /// fill it, too.
    pub fn look_at_disk(&mut self) -> Room {
        self.disk.look()
    }

    /// Starts the database again when it ended by itself or was stopped by an operator, after a second and then
    /// with pauses that grow to three. Called about twice a second on the thread that called
    /// [`start`](Self::start); returns at once unless it starts.
    ///
    /// # Errors
    /// [`StartError`] of a failed attempt; later calls try again.
    pub fn supervise(&mut self) -> Result<Supervision, StartError> {
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

    /// Stops the database: clients are disconnected, what is in memory is written, all within 20 s or else at once
    /// (the next start then recovers from the log). Nothing happens when it is stopped already.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            postmaster::stop_child(&mut child);
            tracing::info!(process.pid = child.id(), "private postgresql stopped");
        }
        // One that an operator started in the place of ours goes with the server as well.
        if let Err(error) = postmaster::end_leftover(&self.launch.cluster) {
            tracing::error!(%error, "private postgresql stays");
        }
    }

    fn postpone(&mut self) {
        self.next_attempt = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn launch(&mut self) -> Result<(), StartError> {
        let begin = Instant::now();
        self.clear_socket();
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

    /// Removes the socket of a server that is gone, with its lock file, whose process number may be somebody
    /// else's by now. The directory is ours alone and no server runs on the data.
    fn clear_socket(&self) {
        for name in [data_dir::SOCKET_NAME.to_owned(), format!("{}.lock", data_dir::SOCKET_NAME)] {
            // What cannot be removed PostgreSQL will name in its log.
            fs::remove_file(self.launch.socket_dir.join(name)).ok();
        }
    }
}

impl Drop for EmbeddedPostgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How to connect to the private PostgreSQL that a server runs on this data directory right now, so that commands
/// such as `platform user create` work beside it; `None` when none runs there, and the caller may
/// [`start`](EmbeddedPostgres::start) one.
pub fn running_database_url(data_dir: &Path) -> Option<String> {
    let cluster = data_dir::cluster_of(&fs::canonicalize(data_dir).ok()?);
    let file = PidFile::live(&cluster).filter(|file| file.ready)?;
    Some(data_dir::database_url(&file.socket_dir))
}

/// Whether a server has made its private PostgreSQL in this data directory, running or not.
pub fn holds_database(data_dir: &Path) -> bool {
    matches!(cluster::version_of_data(&data_dir::cluster_of(data_dir)), Ok(Some(_)))
}
