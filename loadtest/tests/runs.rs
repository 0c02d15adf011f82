//! Tests of scenario files against a real server: clean and unclean runs, workers, encryption, and removal of what a
//! run created.

#[path = "runs/clean.rs"]
mod clean;
#[path = "runs/consumers.rs"]
mod consumers;
#[path = "runs/endings.rs"]
mod endings;
#[path = "runs/files.rs"]
mod files;

use std::path::PathBuf;
use std::process::{Output, Stdio};

use platform_test_harness::{ADMIN_PASSWORD, Caller, TestServer, eventually, free_port, scratch};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Devices over all transports with agents, devices that send collections, and two dashboards, which receive 315
/// notifications a second each.
const FLEET: &str = r#"
[[group]]
name = "trackers"
count = 12
transport = ["json-poll", "web-socket", "csv-poll"]
takes = "10ms"
alarms = 200
events = 100
operations = 5

[[group]]
name = "meters"
count = 2
transport = "rest"
per-post = 5
measurements = 10

[[dashboard]]
name = "dashboards"
count = 2
transport = ["json-poll", "web-socket"]
watches = ["alarms", "events", "measurements"]
"#;
const PHASE: &str = r#"
[[phase]]
name = "steady"
lasts = "2s"
thresholds = ["lost = 0", "failed = 0", "not stored = 0"]
"#;

/// A scenario file in a directory of its own.
struct Scenario {
    directory: TempDir,
}

impl Scenario {
    fn new(parts: &[&str]) -> Self {
        let directory = scratch();
        std::fs::write(directory.path().join("fleet.toml"), parts.concat()).expect("a writable directory");
        Self { directory }
    }

    fn fleet() -> Self {
        Self::new(&["name = \"Fleet\"\n", FLEET, PHASE])
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("fleet.toml")
    }

    /// Returns the command that runs the file against a server.
    fn command(&self, url: &str) -> Command {
        let mut command = loadtest();
        command.arg("run").arg(self.file()).args(["--url", url]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, url: &str, more: &[&str]) -> Outcome {
        Outcome::of(self.command(url).args(more).output().await.expect("the program runs"))
    }
}

fn loadtest() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    command.envs([("LOADTEST_USER", "main/admin"), ("LOADTEST_PASSWORD", ADMIN_PASSWORD)]);
    command.kill_on_drop(true);
    command
}

/// The output of a run.
#[derive(Debug)]
struct Outcome {
    code: Option<i32>,
    text: String,
}

impl Outcome {
    fn of(output: Output) -> Self {
        let text = [output.stdout, output.stderr].concat();
        Self { code: output.status.code(), text: String::from_utf8_lossy(&text).into_owned() }
    }

    #[track_caller]
    fn expect(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.text);
        // The columns of a table are as wide as its labels.
        let squeezed = |text: &str| {
            text.split([' ', '\n']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let text = squeezed(&self.text);
        words.iter().for_each(|word| assert!(text.contains(&squeezed(word)), "{word}: {}", self.text));
    }
}

/// A worker that waits for runs.
struct Worker {
    process: Child,
    address: String,
}

impl Worker {
    async fn start() -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = loadtest();
        command.args(["worker", "--listen", &address]).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the program starts");
        let mut lines = BufReader::new(process.stderr.take().expect("it is a pipe")).lines();
        let waits = lines.next_line().await.expect("readable").unwrap_or_default();
        assert!(waits.contains("waits for runs"), "{waits}");
        // The rest of the output is read, so that the worker is not blocked when it writes.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { process, address }
    }

    async fn start_two() -> ([Self; 2], String) {
        let workers = [Self::start().await, Self::start().await];
        let addresses = workers.each_ref().map(|worker| worker.address.as_str()).join(",");
        (workers, addresses)
    }
}

/// Returns the number of managed objects.
async fn devices(admin: &Caller) -> usize {
    let list = admin.read("/inventory/managedObjects?fragmentType=plat_IsDevice&pageSize=100").await;
    list["managedObjects"].as_array().expect("a list").len()
}

/// Returns whether any alarm exists; alarms of a fleet are deleted with its devices.
async fn has_alarms(admin: &Caller) -> bool {
    admin.read("/alarm/alarms?pageSize=1").await["alarms"] != serde_json::json!([])
}

#[tokio::test]
async fn falsified_record_of_workers_is_not_clean() {
    let server = TestServer::start().await;
    let (_workers, addresses) = Worker::start_two().await;
    // One of a thousand notifications is falsified, so each worker has to receive more.
    let phase = PHASE.replace("2s", "4s");
    for (falsification, found) in [("drop", "lost: client"), ("double", "doubled: client")] {
        let scenario =
            Scenario::new(&[&format!("name = \"Fleet\"\nfalsify = \"{falsification}\"\n"), FLEET, &phase]);
        let outcome = scenario.run(server.base(), &["--workers", &addresses]).await;
        outcome.expect(1, &["Fleet: NOT CLEAN", found]);
    }
}

#[tokio::test]
async fn run_ends_when_a_worker_is_gone_and_removes_its_devices() {
    let server = TestServer::start().await;
    let before = devices(&server.admin()).await;
    let ([mut first, second], addresses) = Worker::start_two().await;
    let scenario = Scenario::new(&["name = \"Fleet\"\n", FLEET, &PHASE.replace("2s", "60s")]);
    let command = scenario.command(server.base()).args(["--workers", &addresses]).spawn();
    let running = command.expect("the program starts");
    eventually("posts", async || has_alarms(&server.admin()).await.then_some(())).await;

    first.process.kill().await.expect("it runs");

    let outcome = Outcome::of(running.wait_with_output().await.expect("it ends"));
    outcome.expect(2, &[&format!("worker {}: it is gone", first.address)]);
    assert_eq!(devices(&server.admin()).await, before);
    let fleet = Scenario::fleet();
    fleet.run(server.base(), &["--workers", &second.address]).await.expect(0, &["Fleet: clean"]);
}

#[tokio::test]
async fn worker_rejects_strangers_with_a_reason() {
    let server = TestServer::start().await;
    let scenario = Scenario::fleet();
    let nobody = format!("127.0.0.1:{}", free_port());
    scenario.run(server.base(), &["--workers", &nobody]).await.expect(2, &[&format!("worker {nobody}: ")]);

    let worker = Worker::start().await;
    let mut command = scenario.command(server.base());
    command.args(["--workers", &worker.address]).env("LOADTEST_WORKER_SECRET", "another one");
    let outcome = Outcome::of(command.output().await.expect("the program runs"));
    outcome.expect(2, &["the secret is another one; set LOADTEST_WORKER_SECRET"]);

    let mut stranger = TcpStream::connect(&worker.address).await.expect("it listens");
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: worker\r\n\r\n").await.expect("it is connected");
    scenario.run(server.base(), &["--workers", &worker.address]).await.expect(0, &["Fleet: clean"]);

    let open = loadtest().args(["worker", "--listen", "0.0.0.0:0"]).output().await;
    Outcome::of(open.expect("the program runs")).expect(2, &["0.0.0.0:0", "set LOADTEST_WORKER_SECRET"]);
}
