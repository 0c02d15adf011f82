//! Runs with named consumers: clean ones, ones with kills, and falsified ones.

use platform_test_harness::{Caller, Cluster, TestDatabase, TestServer, eventually};
use serde_json::Value;

use super::{Outcome, Scenario, has_alarms, loadtest};

/// Devices without sessions, and consumers of both ways: of everything, of alarms, and one that is away now and then.
const CONSUMERS: &str = r#"
name = "Consumers"

[[group]]
name = "devices"
count = 6
transport = "rest"
alarms = 60
events = 120

[[group]]
name = "meters"
count = 2
transport = "rest"
per-post = 10
measurements = 20

[[consumer]]
name = "offices"
count = 2
way = ["long-poll", "events"]

[[consumer]]
name = "alarm desk"
watches = "alarms"
way = "events"

[[consumer]]
name = "absent"
batch = 1000
away = { every = "300ms..500ms", lasts = "500ms" }
"#;

/// Readers are killed again and again.
const KILLS: &str = r#"
[[phase]]
name = "readers are killed"
lasts = "5s"
thresholds = ["lost = 0", "holes = 0", "gaps = 0", "not stored = 0", 'lost of "alarm desk" = 0']

[[phase.fault]]
what = "reconnect-storm"
of = "offices"
every = "600ms"

[[phase.fault]]
what = "cut-connections"
of = "alarm desk"
every = "700ms"
"#;

async fn consumers(admin: &Caller) -> Vec<Value> {
    let list = admin.read("/notification/consumers?pageSize=100").await;
    list["consumers"].as_array().expect("a list").clone()
}

/// Returns a figure of the consumers in the last phase.
fn consumed(scenario: &Scenario, figure: &str) -> u64 {
    let text = std::fs::read_to_string(scenario.json()).expect("the result is written");
    let result: Value = serde_json::from_str(&text).expect("JSON");
    let phases = result["phases"].as_array().expect("phases");
    phases.last().expect("a phase")["loads"][0]["report"]["consumed"][figure].as_u64().expect("a count")
}

impl Scenario {
    fn json(&self) -> std::path::PathBuf {
        self.file().with_extension("json")
    }

    async fn run_with_json(&self, url: &str) -> Outcome {
        let json = self.json();
        self.run(url, &["--json", json.to_str().expect("a name")]).await
    }
}

#[tokio::test]
async fn consumers_whose_readers_are_killed_receive_everything_and_are_deleted() {
    let server = TestServer::start().await;
    let scenario = Scenario::new(&[CONSUMERS, KILLS]);

    let outcome = scenario.run_with_json(server.base()).await;

    outcome.expect(0, &["Consumers: clean", "lost silently 0", "holes 0 unread 0 not recovered 0 times"]);
    // 5 s of 60 alarms, 120 events and 200 measurements for three consumers, and the alarms for one.
    assert_eq!(consumed(&scenario, "received"), 3 * 5 * 380 + 5 * 60);
    assert!(consumed(&scenario, "repeated") > 0, "{}", outcome.text);
    assert_eq!(consumers(&server.admin()).await, [Value::Null; 0]);
}

#[tokio::test]
async fn falsified_record_of_consumers_is_not_clean() {
    let server = TestServer::start().await;
    // A dropped notification leaves a hole, unless its consumer receives alarms alone or nothing after it.
    let dropped: &[_] = &["holes before: consumer loadtest-", "lost: lane "];
    for (falsification, found) in [
        ("drop", dropped),
        ("double", &["doubled: consumer loadtest-"]),
        ("swap", &["reordered: consumer loadtest-"]),
    ] {
        let phase = KILLS.replace("5s", "2s");
        let scenario = Scenario::new(&[&format!("falsify = \"{falsification}\"\n"), CONSUMERS, &phase]);
        let outcome = scenario.run(server.base(), &[]).await;
        outcome.expect(1, &["Consumers: NOT CLEAN"]);
        assert!(found.iter().any(|words| outcome.text.contains(words)), "{found:?}: {}", outcome.text);
    }
}

/// Starts a run against a server on this database, and returns its outcome when `fault` has been done after the first
/// posts.
async fn run_with(database: &std::sync::Arc<TestDatabase>, fault: impl AsyncFnOnce()) -> Outcome {
    let server = TestServer::start_on(database, |_| {}).await;
    let scenario = Scenario::new(&[CONSUMERS, KILLS]);
    let running = scenario.command(server.base()).spawn().expect("the program starts");
    eventually("posts", async || has_alarms(&server.admin()).await.then_some(())).await;
    fault().await;
    Outcome::of(running.wait_with_output().await.expect("it ends"))
}

#[tokio::test]
async fn promotion_of_a_standby_costs_consumers_nothing() {
    let rules = "host all all 127.0.0.1/32 trust\n";
    let primary = Cluster::start("", rules);
    let standby = primary.standby();
    let database = TestDatabase::at(&primary.url(), primary.directory());
    primary.write("postgresql.auto.conf", "synchronous_standby_names = 'standby'\n");
    primary.reload();
    eventually("a synchronous standby", async || {
        let statement = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";
        (database.query(statement, &[]).await.len() == 1).then_some(())
    })
    .await;
    let url = format!(
        "postgres://platform@127.0.0.1:{},127.0.0.1:{}/platform?target_session_attrs=read-write",
        primary.port(),
        standby.port()
    );

    let outcome = run_with(&TestDatabase::at(&url, primary.directory()), async || {
        primary.crash();
        standby.promote();
    })
    .await;

    outcome.expect(0, &["Consumers: clean", "lost silently 0", "not recovered 0 times"]);
}

#[tokio::test]
async fn immediate_stops_of_postgres_cost_consumers_nothing() {
    let cluster = Cluster::start("", "");

    let outcome = run_with(&TestDatabase::at(&cluster.url(), cluster.directory()), async || {
        for _ in 0..2 {
            cluster.crash();
            cluster.start_again();
        }
    })
    .await;

    outcome.expect(0, &["Consumers: clean", "lost silently 0", "not recovered 0 times"]);
}

#[tokio::test]
async fn consumers_of_a_killed_run_are_cleaned_up() {
    let server = TestServer::start().await;
    let scenario = Scenario::new(&[CONSUMERS, &KILLS.replace("5s", "60s")]);
    let mut running = scenario.command(server.base()).spawn().expect("the program starts");
    eventually("posts", async || has_alarms(&server.admin()).await.then_some(())).await;
    running.kill().await.expect("it runs");

    let mut command = loadtest();
    command.args(["clean", "--url", server.base(), "--older-than", "0", "--yes"]);
    let outcome = Outcome::of(command.output().await.expect("the program runs"));

    outcome.expect(0, &["and 4 consumers of load tests", "0 could not be removed"]);
    assert_eq!(consumers(&server.admin()).await, [Value::Null; 0]);
}
