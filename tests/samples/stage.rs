//! A server that restarts at its address, and a sample that runs beside it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use platform_test_harness::{
    ADMIN_PASSWORD, Caller, Program, TestDatabase, eventually, free_port, other_programs_are_required,
    scratch,
};
use rustix::process::Signal;
use tempfile::TempDir;

/// The longest time of an orderly stop.
const STOP: Duration = Duration::from_secs(60);

/// A server at one address, whose data survive restarts.
pub(crate) struct Stage {
    pub(crate) database: Arc<TestDatabase>,
    pub(crate) directory: TempDir,
    port: u16,
    server: Option<Program>,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let (database, directory, port) = (TestDatabase::create().await, scratch(), free_port());
        let mut stage = Self { database, directory, port, server: None };
        stage.launch();
        stage
    }

    /// Starts the server.
    pub(crate) fn launch(&mut self) {
        let mut command = Program::command_on(&self.database, self.directory.path());
        command.env("PLATFORM_LISTEN", format!("127.0.0.1:{}", self.port));
        self.server = Some(Program::serve_with(command));
    }

    /// Sends a signal to the server and waits for its end.
    pub(crate) async fn end(&mut self, signal: Signal) {
        let mut server = self.server.take().unwrap();
        server.signal(signal);
        server.ended_within(STOP).await;
    }

    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn caller(&self, user: &str) -> Caller {
        Caller::new(&self.base(), Some((user, ADMIN_PASSWORD)))
    }
}

/// A running sample; killed when dropped.
pub(crate) struct Sample {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Sample {
    pub(crate) fn run(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in streams {
            let said = said.clone();
            let lines = BufReader::new(stream).lines().map_while(Result::ok);
            std::thread::spawn(move || lines.for_each(|line| said.lock().unwrap().extend([&*line, "\n"])));
        }
        Self { child, said }
    }

    /// Returns the output so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until the output contains this text `count` times.
    pub(crate) async fn says(&self, words: &str, count: usize) {
        let what = format!("{words:?}, {count} times");
        eventually(&what, async || (self.said().matches(words).count() >= count).then_some(())).await;
    }

    /// Returns whether the sample still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        if std::thread::panicking() {
            eprintln!("--- the sample said\n{}", self.said());
        }
    }
}

/// Returns the directory of a sample.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name)
}

/// Returns whether a command succeeds. If not, the test is skipped with a message, or fails where all programs are
/// required.
pub(crate) fn is_usable(command: &mut Command) -> bool {
    let why = match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    assert!(!other_programs_are_required(), "the sample cannot run: {command:?}: {why}");
    eprintln!("SKIPPED a sample: {command:?}: {why}");
    false
}
