//! The errors of starting the private PostgreSQL, with messages for the operator.

use std::{io, path::PathBuf, time::Duration};

/// The reason why the private PostgreSQL cannot be started. Every message names the file or directory and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No directory contains both `initdb` and `postgres` of a supported version.
    #[error(
        "no PostgreSQL 14 or newer found (looked on PATH and in the usual places; both initdb and postgres are \
         needed){}\n  Debian, Ubuntu:  apt-get install postgresql\n  Fedora:          dnf install \
         postgresql-server\n  macOS:           brew install postgresql@17\nElse name the directory with \
         --postgres-bin-dir, or a server of your own with --database-url",
        passed_over(rejected)
    )]
    NotFound {
        /// The directories that were rejected, each with the reason.
        rejected: Vec<String>,
    },
    /// The directory named with `--postgres-bin-dir` cannot be used.
    #[error("--postgres-bin-dir: {reason}")]
    UnusableBinDir {
        /// The reason.
        reason: String,
    },
    /// A client program that a backup or a restore needs is not installed.
    #[error(
        "no {name} of PostgreSQL {server} or newer found (looked on PATH and in the usual places); Debian, Ubuntu: \
         apt-get install postgresql-client; else name its directory with --postgres-bin-dir"
    )]
    NoProgram {
        /// The program.
        name: &'static str,
        /// The major version of the server.
        server: u32,
    },
    /// Another server has locked the data directory.
    #[error(
        "another server is running on the data directory {} (its file `lock` is held); stop it, or choose \
         another --data-dir",
        .data_dir.display()
    )]
    InUse {
        /// The directory that both servers use.
        data_dir: PathBuf,
    },
    /// PostgreSQL refuses to run as root, and no other account exists to run it.
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
        /// The account that is to run PostgreSQL.
        account: String,
        /// The first directory on the path, starting at the root, that the account may not enter.
        directory: PathBuf,
        /// The permission bits of that directory.
        mode: u32,
    },
    /// The directory for the socket belongs to another account, which could listen in place of PostgreSQL.
    #[error(
        "{} belongs to user {owner} and is not trusted with the database's socket; remove it, or choose a shorter \
         --data-dir, whose path fits a socket",
        .directory.display()
    )]
    ForeignSocketDir {
        /// The existing directory.
        directory: PathBuf,
        /// The user id of its owner.
        owner: u32,
    },
    /// The data was written by a major version that is not installed.
    #[error(
        "the data in {} is of PostgreSQL {data}, installed is {installed}; install PostgreSQL {data}, or carry \
         the data over with pg_upgrade",
        .directory.display()
    )]
    OtherVersion {
        /// The directory of the data.
        directory: PathBuf,
        /// The major version that wrote the data.
        data: u32,
        /// The installed versions.
        installed: String,
    },
    /// The directory contains something other than PostgreSQL data.
    #[error(
        "{} is not empty and not a PostgreSQL data directory (it has no PG_VERSION); move it away",
        .directory.display()
    )]
    NotData {
        /// The directory of the data.
        directory: PathBuf,
    },
    /// This user may not look into the data directory.
    #[error(
        "the data in {} cannot be read by this user (permission denied); run the command as the user of the server",
        .data_dir.display()
    )]
    Unreadable {
        /// The data directory.
        data_dir: PathBuf,
    },
    /// The PostgreSQL of an earlier run did not end when it was signalled.
    #[error(
        "PostgreSQL process {pid}, left by an earlier run on this data directory, does not end; stop it by hand"
    )]
    OrphanStays {
        /// Its process id.
        pid: i32,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} failed ({status}): {output}{}", remedy(.output))]
    Program {
        /// The program.
        program: PathBuf,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// The end of its output.
        output: String,
    },
    /// PostgreSQL ended, or was not ready in time.
    #[error("the private PostgreSQL {what}; the end of {}:\n{tail}", .log.display())]
    NotReady {
        /// The event that ended the start.
        what: String,
        /// The log file.
        log: PathBuf,
        /// The last lines that were logged during this start.
        tail: String,
    },
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl StartError {
    /// Returns a function for `map_err` that adds the operation and the file to an I/O error.
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Creates the error for a PostgreSQL that is not ready before its timeout.
    pub(super) fn late(patience: Duration, log: PathBuf, tail: String) -> Self {
        Self::NotReady { what: format!("was not ready within {} s", patience.as_secs()), log, tail }
    }
}

fn passed_over(rejected: &[String]) -> String {
    rejected.iter().map(|reason| format!("\n  passed over: {reason}")).collect()
}

/// Returns what an operator can do about a program that failed, as the end of a message.
fn remedy(output: &str) -> &'static str {
    if output.contains("could not look up effective user ID") {
        "\nPostgreSQL does not run under a user id without a name: add the id to /etc/passwd, run as another user \
         (`docker run` without --user), or use a server of your own with --database-url"
    } else {
        ""
    }
}
