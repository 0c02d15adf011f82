//! Why the private PostgreSQL could not be started, in words for the operator.

use std::{io, path::PathBuf, time::Duration};

/// What stood in the way of the private PostgreSQL. Every message names the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No directory holds both `initdb` and `postgres` of a usable version.
    #[error(
        "no PostgreSQL 14 or newer found (looked on PATH and in the usual places; both initdb and postgres are \
         needed){}\n  Debian, Ubuntu:  apt-get install postgresql\n  Fedora:          dnf install \
         postgresql-server\n  macOS:           brew install postgresql@17\nElse name the directory with \
         --postgres-bin-dir, or a server of your own with --database-url",
        passed_over(rejected)
    )]
    NotFound {
        /// Directories that were passed over, each with the reason.
        rejected: Vec<String>,
    },
    /// The directory named with `--postgres-bin-dir` cannot be used.
    #[error("--postgres-bin-dir: {reason}")]
    UnusableBinDir {
        /// What is missing there.
        reason: String,
    },
    /// Another server holds the data directory.
    #[error(
        "another server is running on the data directory {} (its file `lock` is held); stop it, or choose \
         another --data-dir",
        .data_dir.display()
    )]
    InUse {
        /// The directory both want.
        data_dir: PathBuf,
    },
    /// PostgreSQL refuses to run as root and there is nobody else to run it as.
    #[error(
        "PostgreSQL refuses to run as root, and neither `postgres` nor `nobody` is an account in /etc/passwd; \
         create one, or start the server as an ordinary user"
    )]
    NoAccount,
    /// The account that runs PostgreSQL cannot reach its data.
    #[error(
        "account {account} cannot enter {} (mode {mode:03o}), so PostgreSQL cannot run below it; choose another \
         --data-dir, for example /var/lib/platform, or let it in with chmod o+x",
        .directory.display()
    )]
    Impassable {
        /// Account that PostgreSQL is to run as.
        account: String,
        /// First directory on the way, from the root, that it may not enter.
        directory: PathBuf,
        /// Permission bits of that directory.
        mode: u32,
    },
    /// The directory for the socket belongs to somebody else, who could listen in our place.
    #[error(
        "{} belongs to user {owner} and is not trusted with the database's socket; remove it, or choose a shorter \
         --data-dir, whose path fits a socket",
        .directory.display()
    )]
    ForeignSocketDir {
        /// The directory that was found there.
        directory: PathBuf,
        /// Its owner's user id.
        owner: u32,
    },
    /// The data was written by another major version than every installed one.
    #[error(
        "the data in {} is of PostgreSQL {data}, installed is {installed}; install PostgreSQL {data}, or carry \
         the data over with pg_upgrade",
        .directory.display()
    )]
    OtherVersion {
        /// The data.
        directory: PathBuf,
        /// Major version that wrote it.
        data: u32,
        /// The versions that were found.
        installed: String,
    },
    /// Something that is not a PostgreSQL data directory is in its place.
    #[error(
        "{} is not empty and not a PostgreSQL data directory (it has no PG_VERSION); move it away",
        .directory.display()
    )]
    NotData {
        /// The place of the data.
        directory: PathBuf,
    },
    /// A predecessor's PostgreSQL did not end when told to.
    #[error(
        "PostgreSQL process {pid}, left by an earlier run on this data directory, does not end; stop it by hand"
    )]
    OrphanStays {
        /// Its process id.
        pid: i32,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} failed ({status}): {output}")]
    Program {
        /// Which program.
        program: PathBuf,
        /// How it ended.
        status: std::process::ExitStatus,
        /// The end of what it said.
        output: String,
    },
    /// PostgreSQL ended, or was not ready in time.
    #[error("the private PostgreSQL {what}; the end of {}:\n{tail}", .log.display())]
    NotReady {
        /// What happened instead.
        what: String,
        /// Its log.
        log: PathBuf,
        /// The last lines it logged during this start.
        tail: String,
    },
    /// The file system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The refusal.
        source: io::Error,
    },
}

impl StartError {
    /// For `map_err`: gives a refusal of the file system its verb and its file.
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// PostgreSQL was given its time and is still not ready.
    pub(super) fn late(patience: Duration, log: PathBuf, tail: String) -> Self {
        Self::NotReady { what: format!("was not ready within {} s", patience.as_secs()), log, tail }
    }
}

fn passed_over(rejected: &[String]) -> String {
    rejected.iter().map(|reason| format!("\n  passed over: {reason}")).collect()
}
