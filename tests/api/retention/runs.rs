//! The daily retention runs.

use std::time::Duration;

use serde_json::{Value, json};

use super::{RULES, RUNS, age, create_cleared_alarm, eager, ended, measure, rule_in_force};
use crate::harness::operations::{create_agent, path_of};
use crate::harness::tenants::create_tenant;
use crate::harness::{TestServer, eventually, ids};

#[tokio::test]
async fn run_deletes_what_is_too_old_and_reports_it() {
    let (server, admin) = eager().await.with_admin();
    let device = create_agent(&admin, "pump").await;
    let operation = json!({"deviceId": device, "plat_Command": {"text": "old"}});
    for status in ["SUCCESSFUL", "FAILED", "EXECUTING", "PENDING"] {
        let made = admin.create("/devicecontrol/operations", &operation).await;
        if status != "PENDING" {
            admin.put(&path_of(&made), &json!({"status": status, "failureReason": "none"})).await.expect(200);
        }
    }
    measure(&admin, &device).await;
    create_cleared_alarm(&admin, &device, "hot").await;
    admin.raise_alarm(&device, "open").await;
    admin.create_event(&device, "moved").await;
    age(server.database(), 40).await;
    measure(&admin, &device).await;
    create_cleared_alarm(&admin, &device, "young").await;
    admin.create_event(&device, "young").await;

    for kind in ["ALARM", "EVENT", "OPERATION", "MEASUREMENT"] {
        rule_in_force(&server, &admin, &json!({"dataType": kind, "maximumAge": 30})).await;
    }
    // A run may have begun before the last rule was in force, so the test waits for a second run.
    ended(&admin).await;
    server.database().execute("DELETE FROM retention_runs", &[]).await;
    ended(&admin).await;

    let types = async |path: &str, noun: &str| {
        let list = admin.read(&format!("{path}?pageSize=100")).await;
        let mut types: Vec<String> = list[noun]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["type"].as_str().unwrap().to_owned())
            .collect();
        types.sort();
        types
    };
    assert_eq!(types("/alarm/alarms", "alarms").await, ["open", "young"]);
    assert_eq!(types("/event/events", "events").await, ["young"]);
    let operations = admin.read("/devicecontrol/operations").await;
    let left: Vec<&Value> =
        operations["operations"].as_array().unwrap().iter().map(|operation| &operation["status"]).collect();
    assert_eq!(left, ["EXECUTING", "PENDING"]);
    let measurements = admin.read(&format!("/measurement/measurements?source={device}")).await;
    assert_eq!(ids(&measurements, "measurements").len(), 1);
}

/// Returns the types of the tenant's audit records, each once.
async fn audited_types(server: &TestServer) -> Vec<String> {
    let types = "SELECT DISTINCT type FROM audit_records WHERE tenant = 'main' ORDER BY type";
    server.database().query(types, &[]).await.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn audit_records_of_retention_rules_outlive_every_rule() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    let rule = json!({"dataType": "AUDIT", "maximumAge": 30});
    create_cleared_alarm(&admin, &device, "hot").await;
    rule_in_force(&server, &admin, &rule).await;
    // A rule from before there was a bound.
    server.database().execute("UPDATE retention_rules SET maximum_age = 1", &[]).await;
    let rerun = async || {
        server.database().execute("DELETE FROM retention_runs", &[]).await;
        ended(&admin).await;
    };
    rerun().await;
    age(server.database(), 29).await;
    rerun().await;
    let of_alarms = audited_types(&server).await.iter().filter(|kind| *kind == "Alarm").count();
    assert_eq!(of_alarms, 1, "it is younger than 30 days");

    age(server.database(), 11).await;
    rerun().await;
    let young = audited_types(&server).await;
    age(server.database(), 60).await;
    rerun().await;

    assert!(young.contains(&"RetentionRule".to_owned()) && !young.contains(&"Alarm".to_owned()), "{young:?}");
    let old = audited_types(&server).await;
    assert!(!old.contains(&"RetentionRule".to_owned()), "{old:?}");
}

#[tokio::test]
async fn report_says_how_much_was_deleted_and_other_tenants_keep_theirs() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    let other = create_tenant(&server, "plant7").await;
    let foreign = other.create_device("pump").await;
    for (caller, device) in [(&admin, &device), (&other, &foreign)] {
        create_cleared_alarm(caller, device, "hot").await;
        create_cleared_alarm(caller, device, "cold").await;
    }
    age(server.database(), 40).await;

    rule_in_force(&server, &admin, &json!({"dataType": "ALARM", "type": "hot", "maximumAge": 30})).await;

    let run = ended(&admin).await;
    assert_eq!(run["deleted"], json!({"ALARM": 1}));
    for time in ["dueTime", "startTime", "endTime"] {
        assert!(run[time].as_str().unwrap().starts_with("20"), "{run}");
    }
    assert_eq!(server.database().count("alarms").await, 3);
    assert_eq!(other.read(RUNS).await["retentionRuns"], json!([]));
}

#[tokio::test]
async fn new_rule_waits_for_the_next_day() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    create_cleared_alarm(&admin, &device, "hot").await;
    age(server.database(), 40).await;

    let rule = admin.create(RULES, &json!({"maximumAge": 30})).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(admin.read(RUNS).await["retentionRuns"], json!([]));
    server.database().execute("UPDATE retention_rules SET changed_at = now() - interval '2 days'", &[]).await;
    admin.put(rule["self"].as_str().unwrap(), &json!({"maximumAge": 365})).await.expect(200);
    tokio::time::sleep(Duration::from_millis(300)).await;

    assert_eq!(server.database().count("alarms").await, 1, "a changed rule waits, too");
}

#[tokio::test]
async fn abandoned_run_is_continued() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    create_cleared_alarm(&admin, &device, "hot").await;
    age(server.database(), 40).await;
    let abandoned = "INSERT INTO retention_runs (tenant, due_at, leased_until, deleted) \
        VALUES ('main', now() - interval '3 days', now() + interval '1 day', '{\"ALARM\": 7}')";
    server.database().execute(abandoned, &[]).await;
    let rule = json!({"dataType": "ALARM", "maximumAge": 30});
    rule_in_force(&server, &admin, &rule).await;
    server.database().execute("UPDATE retention_rules SET changed_at = now() - interval '4 days'", &[]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(hot(&server).await, 1, "another server holds the run, and it comes first");

    server.database().execute("UPDATE retention_runs SET leased_until = now() - interval '1 s'", &[]).await;

    let first = eventually("the end of both runs", async || {
        let runs = admin.read(RUNS).await["retentionRuns"].as_array().unwrap().clone();
        let over = runs.len() == 2 && runs.iter().all(|run| run["status"] == "COMPLETED");
        over.then(|| runs[1].clone())
    })
    .await;
    assert_eq!(first["deleted"], json!({"ALARM": 8}), "the count goes on");
    assert_eq!(hot(&server).await, 0);
}

/// Returns the number of alarms of the type that these tests use.
async fn hot(server: &TestServer) -> i64 {
    server.database().query("SELECT count(*) FROM alarms WHERE type = 'hot'", &[]).await[0].get(0)
}

#[tokio::test]
async fn run_that_does_not_end_within_a_day_raises_one_alarm_of_its_tenant() {
    let (server, admin) = eager().await.with_admin();
    let other = create_tenant(&server, "plant7").await;
    let late = "INSERT INTO retention_runs (tenant, due_at, leased_until) VALUES \
        ('main', now() - interval '25 hours', now() + interval '1 day'), \
        ('plant7', now() - interval '23 hours', now() + interval '1 day')";
    server.database().execute(late, &[]).await;

    let alarms = async || admin.read("/alarm/alarms?type=plat_RetentionLate").await["alarms"].clone();
    let alarm = eventually("the alarm", async || alarms().await.as_array().unwrap().first().cloned()).await;

    assert_eq!((&alarm["status"], &alarm["severity"]), (&json!("ACTIVE"), &json!("MAJOR")));
    assert!(alarm["text"].as_str().unwrap().contains("has not ended within a day"), "{alarm}");
    let source = format!("/inventory/managedObjects/{}", alarm["source"]["id"].as_str().unwrap());
    assert_eq!(admin.read(&source).await["name"], "Retention");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(alarms().await[0]["count"], 1, "it is raised once");
    assert_eq!(other.read("/alarm/alarms").await["alarms"], json!([]), "its run has time left");
}

#[tokio::test]
async fn run_that_fails_does_not_keep_other_tenants_waiting() {
    let (server, admin, device) = eager().await.with_device("pump").await;
    let other = create_tenant(&server, "plant7").await;
    create_cleared_alarm(&admin, &device, "hot").await;
    age(server.database(), 40).await;
    // Every deletion of data of the other tenant fails.
    let foreign = other.create_device("pump").await;
    create_cleared_alarm(&other, &foreign, "cold").await;
    age(server.database(), 40).await;
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ \
        BEGIN IF OLD.tenant = 'plant7' THEN RAISE EXCEPTION 'no'; END IF; RETURN OLD; END $$";
    server.database().execute(refuse, &[]).await;
    let trigger = "CREATE TRIGGER refuse BEFORE DELETE ON alarms FOR EACH ROW EXECUTE FUNCTION refuse()";
    server.database().execute(trigger, &[]).await;
    other.create(RULES, &json!({"dataType": "ALARM", "maximumAge": 30})).await;

    rule_in_force(&server, &admin, &json!({"dataType": "ALARM", "maximumAge": 30})).await;

    assert_eq!(ended(&admin).await["deleted"], json!({"ALARM": 1}));
    assert_eq!(other.read(RUNS).await["retentionRuns"][0]["status"], "RUNNING");
}

#[tokio::test]
async fn two_servers_make_one_run() {
    let database = crate::harness::TestDatabase::create().await;
    let eager = |settings: &mut platform_front::config::Settings| {
        settings.limits.retention_check = Duration::from_millis(20);
    };
    let servers =
        [TestServer::start_on(&database, eager).await, TestServer::start_on(&database, eager).await];
    let admin = servers[0].admin();
    let device = admin.create_device("pump").await;
    for n in 0..20 {
        create_cleared_alarm(&admin, &device, &format!("type {n}")).await;
    }
    age(&database, 40).await;

    rule_in_force(&servers[0], &admin, &json!({"dataType": "ALARM", "maximumAge": 30})).await;

    assert_eq!(ended(&admin).await["deleted"], json!({"ALARM": 20}));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(database.count("retention_runs").await, 1);
}
