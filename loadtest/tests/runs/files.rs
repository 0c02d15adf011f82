//! Runs of files with own requests, with thresholds that end them, with clients that come and go, and of recorded
//! files.

use platform_test_harness::TestServer;

use super::{FLEET, Outcome, PHASE, Scenario, Worker, devices, loadtest};

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
        &PHASE.replace("2s", "4s"),
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
    let phase = PHASE.replace("2s", "60s").replace(
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
    let last = PHASE.replace("steady", "all") + "[phase.online]\ndashboards = 2\n";
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
            "2026-11-27T10:00:{second:02}Z  INFO platform::requests: request id=\"a\" method=POST \
            path=\"/event/events\" \
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
