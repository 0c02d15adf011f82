//! Tests of scenario files against a real server: clean and unclean runs, workers, encryption, and removal of what a
//! run created.

#[path = "runs/endings.rs"]
mod endings;

use std::path::PathBuf;
use std::process::{Output, Stdio};

use platform_test_harness::{
    ADMIN_PASSWORD, Caller, TestDatabase, TestServer, eventually, free_port, scratch,
};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Devices over all transports with agents, devices that send collections, and two dashboards, which receive more than a thousand notifications each.
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
lasts = "4s"
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
async fn fleet_of_one_generator_or_of_two_workers_is_clean_and_leaves_nothing() {
    let server = TestServer::start().await;
    let before = devices(&server.admin()).await;
    let ([first, _second], workers) = Worker::start_two().await;
    let scenario = Scenario::fleet();

    scenario.run(server.base(), &[]).await.expect(0, &["Fleet: clean", "lost silently 0"]);
    let outcome = scenario.run(server.base(), &["--workers", &workers]).await;
    outcome.expect(0, &["Fleet: clean", "of them not stored       0", "clocks of workers known"]);
    // Two workers follow the same schedule as one generator.
    outcome.expect(0, &["posts/s                  315", "collections stored in part 0"]);
    // A worker serves one run after the other.
    scenario.run(server.base(), &["--workers", &first.address]).await.expect(0, &["Fleet: clean"]);
    assert_eq!(devices(&server.admin()).await, before);
}

#[tokio::test]
async fn falsified_record_of_workers_is_not_clean() {
    let server = TestServer::start().await;
    let (_workers, addresses) = Worker::start_two().await;
    for (falsification, found) in [("drop", "lost: client"), ("double", "doubled: client")] {
        let scenario =
            Scenario::new(&[&format!("name = \"Fleet\"\nfalsify = \"{falsification}\"\n"), FLEET, PHASE]);
        let outcome = scenario.run(server.base(), &["--workers", &addresses]).await;
        outcome.expect(1, &["Fleet: NOT CLEAN", found]);
    }
}

#[tokio::test]
async fn run_ends_when_a_worker_is_gone_and_removes_its_devices() {
    let server = TestServer::start().await;
    let before = devices(&server.admin()).await;
    let ([mut first, second], addresses) = Worker::start_two().await;
    let scenario = Scenario::new(&["name = \"Fleet\"\n", FLEET, &PHASE.replace("4s", "60s")]);
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

#[tokio::test]
async fn run_whose_server_is_gone_reports_the_figures_until_then() {
    let server = TestServer::start().await;
    let scenario = Scenario::new(&["name = \"Fleet\"\n", FLEET, &PHASE.replace("4s", "60s")]);
    let files = ["json", "junit", "report"].map(|name| scenario.directory.path().join(name));
    let mut command = scenario.command(server.base());
    for (flag, file) in ["--json", "--junit", "--report"].into_iter().zip(&files) {
        command.arg(flag).arg(file);
    }
    let running = command.spawn().expect("the program starts");
    eventually("posts", async || has_alarms(&server.admin()).await.then_some(())).await;

    server.stop().await;

    let outcome = Outcome::of(running.wait_with_output().await.expect("it ends"));
    outcome.expect(2, &["Phase steady", "lost silently", "ended early: 127.0.0.1:", "accepts no connection"]);
    outcome.expect(2, &["the stored data could not be read back"]);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the result is written");
        assert!(text.contains("steady") && !text.contains("inf\""), "{}: {text}", file.display());
    }
}

#[tokio::test]
async fn fleet_in_its_own_tenants_removes_them() {
    let server = TestServer::start().await;
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    let before = management.read("/tenant/tenants?pageSize=100").await["tenants"].clone();
    let tenants = "[[tenant]]\nname = \"north\"\n\n[[tenant]]\nname = \"south\"\n";
    let groups = FLEET.replace("count =", "tenant = \"south\"\ncount =");
    let scenario = Scenario::new(&["name = \"Fleet\"\n", tenants, &groups, PHASE]);
    let (_workers, addresses) = Worker::start_two().await;
    for more in [vec![], vec!["--workers", addresses.as_str()]] {
        let arguments = [vec!["--user", "management/admin"], more].concat();
        scenario.run(server.base(), &arguments).await.expect(0, &["Fleet: clean"]);
        assert_eq!(management.read("/tenant/tenants?pageSize=100").await["tenants"], before);
    }
}

#[tokio::test]
async fn fleet_over_https_is_clean() {
    let directory = scratch();
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
    let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    std::fs::write(&certificate, signed.cert.pem()).expect("a writable directory");
    std::fs::write(&key, signed.signing_key.serialize_pem()).expect("a writable directory");
    let server = TestServer::start_on(&TestDatabase::create().await, |settings| {
        settings.tls.cert = Some(certificate.clone());
        settings.tls.key = Some(key);
    })
    .await;
    let url = server.base().replace("http://", "https://");
    let ca = certificate.to_str().expect("a name");
    Scenario::fleet().run(&url, &["--ca-file", ca]).await.expect(0, &["Fleet: clean", "lost silently 0"]);
    Scenario::fleet().run(&url, &[]).await.expect(2, &["certificate"]);
}

#[tokio::test]
async fn own_bodies_with_rows_of_a_feeder_are_stored_and_lists_are_read() {
    let server = TestServer::start().await;
    let scenario = Scenario::new(&[
        r#"
name = "Shops"

[[feeder]]
name = "orders"
file = "orders.csv"

[[group]]
name = "shops"
count = 2
transport = "rest"
events = 20
reads = 10

[group.bodies]
events = '{"type":"order","text":"{{orders.article}}","shop":{"number":{{device}},"seq":{{seq}}}}'

[[group.query]]
path = "/event/events?source={{source}}&pageSize=5"
follow = 1

[[group]]
name = "others"
count = 1
transport = "rest"
reads = 5

[[group.query]]
path = "/event/events?type={{orders.article}}"
by = "administrator"

[[dashboard]]
watches = "events"
"#,
        PHASE,
        "[[phase]]\nname = \"quiet\"\nlasts = \"1s\"\nthresholds = ['failed reads of \"shops\" = 0', 'p99 of reads of \
         \"others\" <= 30s', 'p99 of notified of \"dashboards\" <= 30s']\n",
    ]);
    std::fs::write(scenario.directory.path().join("orders.csv"), "article\ntea\n\"oil, \"\"best\"\"\"\n")
        .expect("written");
    let before = devices(&server.admin()).await;

    let outcome = scenario.run(server.base(), &["--keep"]).await;

    outcome.expect(0, &["Shops: clean", "lost silently 0", "reads by status", "shops: posts", "others:"]);
    let events = server.admin().read("/event/events?type=order&pageSize=500").await["events"].clone();
    let events = events.as_array().expect("a list");
    assert_eq!(events.len(), 100, "{}", outcome.text);
    for article in ["tea", "oil, \"best\""] {
        let count = events.iter().filter(|event| event["text"] == article).count();
        assert!((25..=75).contains(&count), "{article}: {count}");
    }
    let numbers: std::collections::BTreeSet<String> =
        events.iter().map(|event| event["shop"].to_string()).collect();
    assert_eq!(numbers.len(), 100, "each post of a device has another number");
    assert_eq!(devices(&server.admin()).await, before + 3);
}

#[tokio::test]
async fn missed_threshold_with_abort_ends_the_run_and_its_result_is_measured() {
    let server = TestServer::start().await;
    let phase = PHASE.replace("4s", "60s").replace(
        "\"failed = 0\"",
        "{ that = \"notified per second >= 100000\", abort = true, after = \"1s\" }",
    );
    let scenario = Scenario::new(&["name = \"Fleet\"\n", FLEET, &phase]);
    let before = devices(&server.admin()).await;

    let outcome = scenario.run(server.base(), &[]).await;

    outcome.expect(1, &["ended early: notified per second >= 100000 was missed: ", "Fleet: NOT CLEAN"]);
    assert_eq!(devices(&server.admin()).await, before);
}

#[tokio::test]
async fn clients_come_and_go_and_the_run_is_clean() {
    let server = TestServer::start().await;
    let groups = FLEET.replace("name = \"dashboards\"\n", "name = \"dashboards\"\nonline = 0\n");
    let come = "[phase.online]\ndashboards = \"0..2\"\ntrackers = \"12..4\"\n";
    let last = PHASE.replace("steady", "all").replace("4s", "2s") + "[phase.online]\ndashboards = 2\n";
    let scenario = Scenario::new(&["name = \"Fleet\"\n", &groups, PHASE, come, &last]);
    let json = scenario.directory.path().join("out.json");
    let ([_first, _second], workers) = Worker::start_two().await;
    for more in [vec![], vec!["--workers", workers.as_str()]] {
        let arguments = [vec!["--json", json.to_str().expect("a name")], more].concat();

        let outcome = scenario.run(server.base(), &arguments).await;

        outcome.expect(0, &["Fleet: clean", "clients without session 0"]);
        let text = std::fs::read_to_string(&json).expect("the result is written");
        let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let total = |figure: &str| {
            let phases = result["phases"].as_array().expect("phases");
            let of_phase =
                |phase: &serde_json::Value| phase["loads"][0]["report"]["sessions"][figure].as_u64();
            phases.iter().filter_map(of_phase).sum::<u64>()
        };
        // 8 of 12 trackers leave and come back, and both dashboards come.
        assert_eq!((total("sessions"), total("left"), total("ended")), (12 + 8 + 2, 8, 0), "{text}");
        assert_eq!(result["phases"][1]["loads"][0]["report"]["sessions"]["lost"], 0);
    }
}

#[tokio::test]
async fn recorded_tenant_is_a_scenario_file_that_runs() {
    let server = TestServer::start().await;
    let scenario = Scenario::fleet();
    scenario.run(server.base(), &["--keep"]).await.expect(0, &["Fleet: clean"]);
    let (out, log) = (scenario.directory.path().join("recorded.toml"), scenario.directory.path().join("log"));
    let line = |second: usize| {
        format!(
            "2026-11-27T10:00:{second:02}Z  INFO platform::requests: request id=\"a\" method=POST path=\"/event/events\" \
             status=201 user=\"main/device_secret-name\" client=127.0.0.1\n"
        )
    };
    std::fs::write(&log, (0..60).map(line).collect::<String>()).expect("written");
    let mut command = loadtest();
    command.args(["record", "--url", server.base(), "--phases", "2", "--seconds", "1", "--log"]);
    let output = command.arg(&log).arg("--out").arg(&out).output().await;

    Outcome::of(output.expect("the program runs")).expect(0, &[]);

    let text = std::fs::read_to_string(&out).expect("the file is written");
    assert!(text.contains("events = 1.0169\n") && !text.contains("secret"), "{text}");
    let mut command = loadtest();
    let output = command.arg("run").arg(&out).args(["--url", server.base()]).output().await;
    Outcome::of(output.expect("the program runs")).expect(0, &["Recorded: clean"]);
    let other = loadtest().args(["record", "--url", server.base(), "--day", "yesterday"]).output().await;
    Outcome::of(other.expect("the program runs")).expect(2, &["--day yesterday: allowed is a date such as"]);
}
