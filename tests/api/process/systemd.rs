//! The notifications of the server to systemd, received on a socket that the test creates.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use super::*;

/// The notification socket of systemd.
struct Systemd(UnixDatagram);

impl Systemd {
    fn listen(directory: &Path) -> Self {
        let socket = UnixDatagram::bind(directory.join("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    /// Starts a server as a unit with this `WatchdogSec`.
    fn start(&self, directory: &Path, watchdog: Duration) -> Program {
        let mut command = Program::command(directory, &["--workers", "1", "--actor-threads", "1"]);
        command.env("NOTIFY_SOCKET", directory.join("notify"));
        command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        Program::serve_with(command)
    }

    /// Returns the next message that contains this line.
    fn told(&self, line: &str) -> String {
        let mut buffer = [0; 4096];
        loop {
            let length = self.0.recv(&mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
            let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if message.lines().any(|told| told == line) {
                return message;
            }
        }
    }

    /// Returns the messages that have arrived.
    fn rest(&self) -> String {
        self.0.set_nonblocking(true).unwrap();
        let (mut buffer, mut messages) = ([0; 4096], String::new());
        while let Ok(length) = self.0.recv(&mut buffer) {
            messages += &String::from_utf8_lossy(&buffer[..length]);
        }
        self.0.set_nonblocking(false).unwrap();
        messages
    }
}

#[tokio::test]
async fn server_notifies_systemd_of_start_readiness_life_and_stop() {
    let directory = scratch_with_data();
    let systemd = Systemd::listen(directory.path());
    let mut program = systemd.start(directory.path(), Duration::from_secs(4));

    systemd.told("EXTEND_TIMEOUT_USEC=180000000");
    assert!(systemd.told("READY=1").contains(&format!("STATUS=ready at {}\n", program.base())));
    systemd.told("WATCHDOG=1");
    systemd.told("WATCHDOG=1");
    program.signal(Signal::TERM);
    // The sum of --drain-seconds and --shutdown-seconds by default, and one minute.
    assert!(systemd.told("STOPPING=1").contains("EXTEND_TIMEOUT_USEC=80000000\n"));
    assert_eq!(program.ended_within(Duration::from_secs(25)).await.code(), Some(0));
}

/// Stops one thread with ptrace, as a debugger does, until standard input is closed.
const HANG: &str = "
import ctypes, os, sys
ptrace, thread = ctypes.CDLL(None, use_errno=True).ptrace, int(sys.argv[1])
SEIZE, INTERRUPT, ANY_THREAD = 0x4206, 0x4207, 0x40000000
for request in SEIZE, INTERRUPT:
    assert ptrace(request, thread, None, None) == 0, os.strerror(ctypes.get_errno())
os.waitpid(thread, ANY_THREAD)
print('it hangs', flush=True)
sys.stdin.read()
";

/// A thread that hangs until this value is dropped.
struct Hanging(Child);

impl Hanging {
    /// Stops a thread of a program. `choose` selects one of the threads whose names start with `name`, in the order of
    /// their start. Returns `None` where ptrace is not permitted.
    fn of(program: &Program, name: &str, choose: fn(&[u32]) -> u32) -> Option<Self> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", program.pid())).unwrap().map(Result::unwrap);
        let named = threads.filter(|entry| {
            std::fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| comm.starts_with(name))
        });
        let numbers = named.map(|entry| entry.file_name().to_string_lossy().parse().unwrap());
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        assert!(!numbers.is_empty(), "no thread {name}");
        let mut command = Command::new("python3");
        command.args(["-c", HANG, &choose(&numbers).to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        if said.is_empty() {
            let output = child.wait_with_output().unwrap();
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(why.contains("not permitted"), "{why}");
            eprintln!("SKIPPED: this user may not stop a thread: {why}");
            return None;
        }
        Some(Self(child))
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

#[tokio::test]
async fn server_with_a_hanging_thread_sends_no_watchdog_notification() {
    let directory = scratch_with_data();
    let systemd = Systemd::listen(directory.path());
    let program = systemd.start(directory.path(), Duration::from_secs(4));
    // The thread that accepts connections; the thread of actors, which starts first; and a thread that serves
    // connections.
    let first: fn(&[u32]) -> u32 = |numbers| numbers[0];
    let last: fn(&[u32]) -> u32 = |numbers| numbers[numbers.len() - 1];
    for (name, choose) in [("actix-server ac", first), ("actix-rt|system", first), ("actix-rt|system", last)]
    {
        systemd.told("WATCHDOG=1");
        let Some(hanging) = Hanging::of(&program, name, choose) else { return };
        let warnings = || program.log().matches("the liveness check ").count();
        let before = warnings();
        // A check that was running when the thread began to hang has ended by the first warning.
        until("a warning", async || warnings() > before).await;
        systemd.rest();
        until("two more warnings", async || warnings() > before + 2).await;
        assert_eq!(systemd.rest(), "", "{name} hangs");
        drop(hanging);
        systemd.told("WATCHDOG=1");
    }
}
