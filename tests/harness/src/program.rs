//! The real binary, as an operator runs it.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

use super::PATIENCE;
use super::postgres::{TestDatabase, directory_of_this_run, quickest};
use super::server::{ADMIN_PASSWORD, BOOTSTRAP_PASSWORD};

/// The longest time of a first start, with a database to create, on a slow machine.
const START: Duration = Duration::from_secs(60);

/// The longest time until a private PostgreSQL ends after its server was killed.
const DATABASE_END: Duration = Duration::from_secs(5);

/// The variable that names the directory of the PostgreSQL on which the tests run, in place of the newest installed
/// one. The program has it as a setting.
pub const POSTGRES_PROGRAMS: &str = "PLATFORM_POSTGRES_BIN_DIR";

/// Returns the directory of the PostgreSQL on which the tests run, if [`POSTGRES_PROGRAMS`] names one.
pub fn postgres_programs() -> Option<PathBuf> {
    std::env::var_os(POSTGRES_PROGRAMS).map(PathBuf::from)
}

/// Removes the variables of the tests, which must not become settings of the program. The PostgreSQL stays.
pub fn remove_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PLATFORM_") && name != POSTGRES_PROGRAMS {
            command.env_remove(name);
        }
    }
}

/// Creates a directory that the account of the database can enter even if root created it.
pub fn scratch() -> TempDir {
    let directory = tempfile::Builder::new().prefix("platform-program-").tempdir_in(quickest()).unwrap();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
    directory
}

/// Creates a directory as [`scratch`] does, with the data of a server that has started once and was stopped: a private
/// PostgreSQL with the passwords [`ADMIN_PASSWORD`] and [`BOOTSTRAP_PASSWORD`]. A first start takes four times as long.
pub fn scratch_with_data() -> TempDir {
    static FIRST_START: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = directory_of_this_run().join("first-start");
        std::fs::create_dir(&directory).unwrap();
        std::fs::set_permissions(&directory, Permissions::from_mode(0o711)).unwrap();
        let mut command = Program::command(&directory, &[]);
        command.env("PLATFORM_ADMIN_PASSWORD", ADMIN_PASSWORD);
        command.env("PLATFORM_BOOTSTRAP_PASSWORD", BOOTSTRAP_PASSWORD);
        let mut program = Program::serve_with(command);
        program.signal(Signal::TERM);
        let deadline = Instant::now() + START;
        while program.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the first start does not stop: {}", program.log());
            thread::sleep(Duration::from_millis(10));
        }
        // Most of the write-ahead log are zeros. A copy without them is made in half the time.
        copy_data(&directory.join("data"), &directory.join("sparse"), "--sparse=always");
        directory.join("sparse")
    });
    let directory = scratch();
    copy_data(&FIRST_START, &directory.path().join("data"), "--sparse=auto");
    directory
}

pub(super) fn copy_data(from: &Path, to: &Path, zeros: &str) {
    let copied = Command::new("cp").args(["--archive", zeros]).args([from, to]).status().unwrap();
    assert!(copied.success(), "the data of a first start are not copied");
}

/// Returns a port that is free at this moment, and that neither a connection nor a server that listens on any free port
/// takes until it is used: systems choose those ports from 32768 or 49152 on.
pub fn free_port() -> u16 {
    const PORTS: Range<u32> = 10_000..30_000;
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    // Processes of tests that run at the same time begin at different ports.
    let candidate = || {
        let place = std::process::id() * 101 + CALLS.fetch_add(1, Ordering::Relaxed);
        u16::try_from(PORTS.start + place % (PORTS.end - PORTS.start)).expect("ports have 16 bits")
    };
    std::iter::repeat_with(candidate).take(1000).find(is_free).expect("one of the ports is free")
}

/// Returns whether a test fails if a third-party program is missing, as in CI. Otherwise the test prints that and
/// passes.
pub fn other_programs_are_required() -> bool {
    std::env::var("PLATFORM_CLIENT_SUITE").is_ok_and(|value| value == "required")
}

/// A running `platform`; killed when dropped, and its database with it.
pub struct Program {
    child: Child,
    data_dir: PathBuf,
    /// The lines on standard output, up to and including the line `ready`.
    pub printed: Vec<String>,
    log: Arc<Mutex<String>>,
}

impl Program {
    /// Returns the command `platform` with these arguments, on this data directory and any free port.
    pub fn command(data_dir: &Path, arguments: &[&str]) -> Command {
        let binary =
            std::env::var_os("CARGO_BIN_EXE_platform").expect("Cargo runs the tests and names the binary");
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(data_dir).stdin(Stdio::null());
        remove_settings(&mut command);
        command.env("PLATFORM_DATA_DIR", data_dir.join("data")).env("PLATFORM_LISTEN", "127.0.0.1:0");
        command
    }

    /// Returns the command `platform` on an existing database, which survives the process.
    pub fn command_on(database: &TestDatabase, data_dir: &Path) -> Command {
        let mut command = Self::command(data_dir, &[]);
        command.env("PLATFORM_DATABASE_URL", database.url());
        command.env("PLATFORM_SECRET_KEY_FILE", database.data_dir().join("secret.key"));
        command
    }

    /// Starts the server and waits until it is ready.
    pub fn serve(data_dir: &Path) -> Self {
        Self::serve_with(Self::command(data_dir, &[]))
    }

    /// Starts a server and waits until it is ready.
    pub fn serve_with(mut command: Command) -> Self {
        let data_dir = command.get_envs().find(|(name, _)| *name == "PLATFORM_DATA_DIR");
        let data_dir = data_dir.and_then(|(_, value)| value).unwrap().into();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = collected(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut program = Self { child, data_dir, printed: Vec::new(), log };
        let deadline = Instant::now() + START;
        while !program.printed.last().is_some_and(|line| line.starts_with("ready ")) {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => program.printed.push(line),
                Err(_) => panic!("not ready: {:#?}\n{}", program.printed, program.log()),
            }
        }
        program
    }

    /// Returns the address of its line `ready`.
    pub fn base(&self) -> &str {
        self.printed.last().unwrap().strip_prefix("ready ").unwrap()
    }

    /// Returns its log so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Returns the first line of its log that contains a text. It waits for the line, which arrives a moment after what
    /// it is about.
    pub async fn line_with(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = self.log();
            if let Some(line) = log.lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(Instant::now() < deadline, "no line of the log contains {text:?}:\n{log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns its process id.
    pub fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }

    /// Returns its peak memory in kB; `None` where the system does not report it.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// Waits for its end, at most this long.
    pub async fn ended_within(&mut self, limit: Duration) -> ExitStatus {
        super::eventually_within(limit, "the end of the program", async || self.child.try_wait().unwrap())
            .await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let database = database_of(&self.data_dir);
        // The program may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
        // The kernel ends the private PostgreSQL after its parent; until then its directory cannot be removed.
        let deadline = Instant::now() + DATABASE_END;
        while database.is_some_and(|pid| test_kill_process(pid).is_ok()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns the process of the private PostgreSQL in a data directory.
fn database_of(data_dir: &Path) -> Option<Pid> {
    let pid_file = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).ok()?;
    Pid::from_raw(pid_file.lines().next()?.parse().ok()?)
}

/// Copies a program to where it will be run. Another process writes it: a test that forks at the same time would
/// inherit a file that this process has open for writing, and the system does not run such a file (ETXTBSY).
pub fn place_program(from: &Path, to: &Path) {
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(from).arg(to);
    assert!(install.status().unwrap().success(), "{install:?}");
}

/// Runs a command of `platform` to its end, with `input` as its standard input.
pub fn run(mut command: Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that does not read its standard input may have ended already.
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

fn collected(mut stream: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let shared = text.clone();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            shared.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    });
    text
}
