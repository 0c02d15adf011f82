//! The running PostgreSQL: reads its pid file, starts it, and stops one that an earlier run left.

use std::{
    fs,
    io::{Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    Durability, StartError,
    account::{Account, command},
    binaries::Binaries,
    cluster::last_lines,
    log,
};

/// The timeout of a start, including recovery after a crash.
const START_PATIENCE: Duration = Duration::from_secs(120);
/// The timeout of a fast shutdown, which writes a checkpoint.
pub(super) const FAST_SHUTDOWN: Duration = Duration::from_secs(20);
/// The timeout of an immediate shutdown. The next start then recovers from the write-ahead log.
pub(super) const IMMEDIATE_SHUTDOWN: Duration = Duration::from_secs(6);
/// The interval at which a starting or ending process is polled.
const GLANCE: Duration = Duration::from_millis(10);

/// The contents of `postmaster.pid`, which describes the server on a data directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: i32,
    pub(super) socket_dir: String,
    pub(super) ready: bool,
}

impl PidFile {
    pub(super) fn path(cluster: &Path) -> PathBuf {
        cluster.join("postmaster.pid")
    }

    /// Reads the file. Returns `None` when it does not exist or is still being written.
    pub(super) fn read(cluster: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(Self::path(cluster)).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        Some(Self {
            pid: lines.first()?.parse().ok().filter(|pid| *pid > 0)?,
            socket_dir: lines.get(4).copied().unwrap_or_default().into(),
            ready: lines.get(7) == Some(&"ready"),
        })
    }

    /// Reads the file. Returns `None` unless the process that it names is a live server on this data.
    pub(super) fn live(cluster: &Path) -> Option<Self> {
        Self::read(cluster).filter(|file| runs_on(file.pid, cluster))
    }
}

/// Returns whether this process is a PostgreSQL server on this data, because after a crash the process id may have been
/// reused. A zombie process has no command line and does not count.
fn runs_on(pid: i32, cluster: &Path) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    if !Path::new("/proc/self/cmdline").exists() {
        return listed_by_ps(pid, cluster);
    }
    let Ok(line) = fs::read(process.join("cmdline")) else { return false };
    let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let program = words.next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    let directory = cluster.to_string_lossy();
    (name.starts_with("postgres") || name.starts_with("postmaster"))
        && (words.any(|word| word.strip_prefix("-D").unwrap_or(&word) == directory)
            || fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == cluster))
}

/// Returns the same as [`runs_on`] on systems without `/proc`.
fn listed_by_ps(pid: i32, cluster: &Path) -> bool {
    let output = Command::new("ps").args(["-ww", "-o", "command=", "-p"]).arg(pid.to_string()).output();
    output.is_ok_and(|output| {
        let line = String::from_utf8_lossy(&output.stdout);
        line.contains("postgres") && line.contains(&*cluster.to_string_lossy())
    })
}

/// Stops a server that outlived the process that started it, and cleans up after a crash. The caller holds the lock of
/// the data directory, so it cannot be the server of another process.
///
/// # Errors
/// `OrphanStays` when it survives a fast and an immediate shutdown.
pub(super) fn end_leftover(cluster: &Path) -> Result<(), StartError> {
    if let Some(PidFile { pid, .. }) = PidFile::live(cluster) {
        tracing::warn!(process.pid = pid, "stopping a private postgresql that an earlier run left");
        let gone = || !runs_on(pid, cluster);
        if !(end(pid, Signal::INT, FAST_SHUTDOWN, gone) || end(pid, Signal::QUIT, IMMEDIATE_SHUTDOWN, gone)) {
            return Err(StartError::OrphanStays { pid });
        }
    }
    disown_pid_file(cluster)
}

/// Overwrites the process id in a stale pid file. PostgreSQL refuses to start while that process lives, although the id
/// may have been reused. PostgreSQL treats the id of its own parent as stale, so that id is written. The file must not
/// be removed: its line on shared memory prevents the start of a new server while processes of a killed one still
/// write.
fn disown_pid_file(cluster: &Path) -> Result<(), StartError> {
    let path = PidFile::path(cluster);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    fs::write(&path, format!("{}\n{rest}", std::process::id())).map_err(StartError::io("write", path))
}

/// Signals a process and waits up to `patience` for its end. Returns whether it ended.
pub(super) fn end(pid: i32, signal: Signal, patience: Duration, mut gone: impl FnMut() -> bool) -> bool {
    if let Some(pid) = Pid::from_raw(pid) {
        // The process may have ended meanwhile.
        kill_process(pid, signal).ok();
    }
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        if gone() {
            return true;
        }
        thread::sleep(GLANCE);
    }
    gone()
}

/// The parameters with which the server is started and restarted.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) binaries: Binaries,
    pub(super) account: Option<Account>,
    pub(super) cluster: PathBuf,
    pub(super) socket_dir: PathBuf,
    pub(super) log: PathBuf,
    pub(super) durability: Durability,
}

impl Launch {
    /// Starts the server and waits until it accepts connections.
    ///
    /// # Errors
    /// `NotReady` with the end of its log when it ends or takes longer than two minutes.
    pub(super) fn start(&self) -> Result<Child, StartError> {
        let log = log::open(&self.log).map_err(StartError::io("open", &self.log))?;
        let already = log.metadata().map_err(StartError::io("read", &self.log))?.len();
        let handle = || log.try_clone().map_err(StartError::io("open", &self.log));
        let mut command = self.command();
        command.stdout(Stdio::from(handle()?)).stderr(Stdio::from(handle()?));
        let mut child = command.spawn().map_err(StartError::io("run", command.get_program()))?;
        self.wait_until_ready(&mut child).map_err(|trouble| match trouble {
            Trouble::Ended(status) => StartError::NotReady {
                what: format!("ended at its start ({status})"),
                log: self.log.clone(),
                tail: self.logged_since(already),
            },
            Trouble::Late => StartError::late(START_PATIENCE, self.log.clone(), self.logged_since(already)),
        })?;
        Ok(child)
    }

    /// Returns the command of the server, wrapped in `setpriv` where that can end the server together with this
    /// process.
    fn command(&self) -> Command {
        let postgres = self.binaries.program("postgres");
        let mut command = match self.setpriv() {
            Some(setpriv) => {
                let mut command = command(&setpriv, self.account.as_ref());
                command.args(TIED).arg(postgres);
                command
            }
            None => command(&postgres, self.account.as_ref()),
        };
        command.arg("-D").arg(&self.cluster).arg("-k").arg(&self.socket_dir).args(["-p", "5432"]);
        for setting in COMMON.iter().chain(self.durability.settings()) {
            command.args(["-c", setting]);
        }
        command.args(["-c", &format!("shared_buffers={}MB", self.durability.shared_buffers(memory()))]);
        // The server has a process group of its own, so that Ctrl-C reaches only this process, which stops the database
        // after the last write.
        command.process_group(0);
        command
    }

    /// Returns a `setpriv` (util-linux) that supports signalling a process when its parent dies; old versions do not.
    pub(super) fn setpriv(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let usual = [PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
        let candidates = std::env::split_paths(&path).chain(usual).map(|directory| directory.join("setpriv"));
        candidates.filter(|candidate| candidate.is_absolute() && candidate.is_file()).find(|candidate| {
            let mut probe = command(candidate, self.account.as_ref());
            probe.args(TIED).arg(self.binaries.program("postgres")).arg("--version");
            probe.output().is_ok_and(|output| output.status.success())
        })
    }

    fn wait_until_ready(&self, child: &mut Child) -> Result<(), Trouble> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            let file = PidFile::read(&self.cluster);
            if file.is_some_and(|file| file.ready && u32::try_from(file.pid) == Ok(child.id())) {
                return Ok(());
            }
            if let Ok(Some(status)) = child.try_wait() {
                return Err(Trouble::Ended(status));
            }
            if Instant::now() >= deadline {
                stop_child(child);
                return Err(Trouble::Late);
            }
            thread::sleep(GLANCE);
        }
    }

    fn logged_since(&self, position: u64) -> String {
        let mut logged = Vec::new();
        if let Ok(mut log) = fs::File::open(&self.log)
            && log.seek(SeekFrom::Start(position)).is_ok()
        {
            // A read error is ignored, because this is already the text of an error.
            log.read_to_end(&mut logged).ok();
        }
        last_lines(&String::from_utf8_lossy(&logged))
    }
}

/// The reason why a start failed.
enum Trouble {
    Ended(std::process::ExitStatus),
    Late,
}

/// Stops the server with a fast shutdown, then an immediate one, then SIGKILL. Each step has a timeout, and the child
/// is reaped in every case.
pub(super) fn stop_child(child: &mut Child) {
    let Ok(pid) = i32::try_from(child.id()) else { return };
    if !matches!(child.try_wait(), Ok(None)) {
        return;
    }
    let mut gone = || !matches!(child.try_wait(), Ok(None));
    if end(pid, Signal::INT, FAST_SHUTDOWN, &mut gone) {
        return;
    }
    tracing::warn!(process.pid = pid, "private postgresql does not end, sending an immediate shutdown");
    if !end(pid, Signal::QUIT, IMMEDIATE_SHUTDOWN, &mut gone) {
        child.kill().and_then(|()| child.wait()).ok();
    }
}

/// The server receives SIGINT when its parent dies, which is a fast shutdown. (SIGTERM would wait for clients to
/// disconnect.)
const TIED: [&str; 3] = ["--pdeathsig", "INT", "--"];

/// These settings are passed on the command line, so that they override `postgresql.conf`.
const COMMON: [&str; 8] = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "wal_compression=on",
    "log_destination=stderr",
    "logging_collector=off",
    // Statements contain what clients sent.
    "log_min_error_statement=panic",
    "log_timezone=UTC",
    // The unit of the package allows no memory that is both written and executed.
    "jit=off",
];

/// Returns the memory of this machine in kibibytes, or `None` on systems without `/proc/meminfo`.
fn memory() -> Option<u64> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    table.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok())
}

impl Durability {
    /// Returns the size of PostgreSQL's shared buffers in mebibytes: an eighth of the memory, between 128 and 1024. The
    /// server runs on the same machine. A disposable database is small, and PostgreSQL searches all buffers when one of
    /// its many databases is dropped.
    fn shared_buffers(self, memory: Option<u64>) -> u64 {
        match self {
            Self::Durable => memory.map_or(128, |kibibytes| (kibibytes / 1024 / 8).clamp(128, 1024)),
            Self::Disposable => 128,
        }
    }

    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Durable => {
                &["max_connections=100", "fsync=on", "synchronous_commit=on", "full_page_writes=on"]
            }
            // Many test servers share one of these databases.
            Self::Disposable => &[
                "max_connections=400",
                "fsync=off",
                "synchronous_commit=off",
                "full_page_writes=off",
                "wal_compression=off",
                "wal_level=minimal",
                "max_wal_senders=0",
                "autovacuum=off",
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID_FILE: &str = "4711\n/data/postgres\n1763600000\n5432\n/data/run\n\n  1234 5\nready   \n";

    #[test]
    fn pid_file_names_process_socket_and_readiness() {
        let file = PidFile { pid: 4711, socket_dir: "/data/run".into(), ready: true };

        assert_eq!(PidFile::parse(PID_FILE), Some(file));
        assert_eq!(PidFile::parse("4711\n/data/postgres\n").map(|file| file.ready), Some(false));
        assert_eq!(PidFile::parse(""), None);
        assert_eq!(PidFile::parse("-1\n"), None);
    }

    #[test]
    fn memory_for_pages_is_an_eighth_within_bounds() {
        let of = |gibibytes: u64| Durability::Durable.shared_buffers(Some(gibibytes << 20));
        assert_eq!([of(1), of(4), of(64)], [128, 512, 1024]);
        assert_eq!(Durability::Durable.shared_buffers(None), 128);
    }

    #[test]
    fn pid_of_another_program_is_not_a_server() {
        let cluster = tempfile::tempdir().unwrap();
        let me = std::process::id();
        fs::write(PidFile::path(cluster.path()), PID_FILE.replace("4711", &me.to_string())).unwrap();

        assert_eq!(PidFile::live(cluster.path()), None);
        end_leftover(cluster.path()).unwrap();

        let left = fs::read_to_string(PidFile::path(cluster.path())).unwrap();
        assert_eq!(left, PID_FILE.replace("4711", &me.to_string()), "the line on shared memory stays");
    }
}
