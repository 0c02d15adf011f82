//! Bulk updates that continue after their response, at this server or another one (A-02; docs/rules.md#alarms).

use std::collections::BTreeSet;

use super::bulk_update::{CLEARED, bulk, statuses};
use super::*;
use crate::harness::bulk_updates::{count_of, fill};

/// The time that a bulk update may take on a busy machine.
const LONG: Duration = Duration::from_secs(90);

#[tokio::test]
async fn longer_update_gets_202_and_continues() {
    let server =
        TestServer::start_with(|settings| settings.limits.bulk_alarm_reply = Duration::from_millis(1)).await;
    let admin = server.admin();
    let devices = [admin.create_device("pump").await, admin.create_device("motor").await];
    fill(server.database(), &devices, 3000).await;
    let session = admin.listen(&format!("/alarms/{}", devices[0])).await;

    assert_eq!(bulk(&admin, "resolved=false", CLEARED).await, 202);

    let unfinished = async || server.count("bulk_alarm_updates").await == 0;
    until_within(LONG, "the end of the bulk update", unfinished).await;
    assert_eq!(count_of(server.database(), "CLEARED").await, 3000);
    assert_eq!(server.count("audit_records").await, 3000);
    let told = session.receive(1500).await;
    let ids: Vec<i64> =
        told.iter().map(|told| told["data"]["data"]["id"].as_str().unwrap().parse().unwrap()).collect();
    assert!(ids.is_sorted() && ids.iter().collect::<BTreeSet<_>>().len() == 1500, "each once, in order");
}

#[tokio::test]
async fn alarms_raised_after_it_are_not_touched() {
    let server =
        TestServer::start_with(|settings| settings.limits.bulk_alarm_reply = Duration::from_millis(1)).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    fill(server.database(), std::slice::from_ref(&device), 20_000).await;
    let finished = async || server.count("bulk_alarm_updates").await == 0;

    assert_eq!(bulk(&admin, "resolved=false", CLEARED).await, 202);
    let mut later = Vec::new();
    while !soon("a look", finished()).await {
        let mut alarm = alarm_of(&device, &format!("later {}", later.len()));
        alarm["time"] = json!("2030-01-01T00:00:00Z");
        later.push(admin.create("/alarm/alarms", &alarm).await["self"].as_str().unwrap().to_owned());
    }

    assert!(!later.is_empty(), "it was finished too soon to be tested");
    assert_eq!(statuses(&admin, &later).await, vec!["ACTIVE"; later.len()]);
    assert_eq!(count_of(server.database(), "CLEARED").await, 20_000);
}

#[tokio::test]
async fn alarms_that_devices_send_meanwhile_are_changed_once_and_counted() {
    let server =
        TestServer::start_with(|settings| settings.limits.bulk_alarm_reply = Duration::from_millis(1)).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    fill(server.database(), std::slice::from_ref(&device), 5000).await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    assert_eq!(bulk(&admin, "resolved=false", r#"{"status":"CLEARED"}"#).await, 202);
    // Alarms near the end of the update: some are repeated, some have been cleared and are raised anew.
    let sent: Vec<_> = (4900..5000)
        .map(|n| {
            let (caller, mut body) = (admin.clone(), alarm_of(&device, &format!("type{n}")));
            body["time"] = json!("2025-01-01T00:00:00Z");
            tokio::spawn(async move { caller.create("/alarm/alarms", &body).await })
        })
        .collect();
    let mut raised = 0;
    for sent in sent {
        raised += usize::from(soon("an answer", sent).await.unwrap()["count"] == 1);
    }
    until_within(LONG, "the end of the bulk update", async || server.count("bulk_alarm_updates").await == 0)
        .await;

    assert_eq!(count_of(server.database(), "CLEARED").await, 5000);
    assert_eq!(server.count("audit_records").await, 5000);
    // Notifications arrive in the order of commits, so the last one about an alarm shows its final state.
    let mut last = std::collections::BTreeMap::new();
    for message in session.receive(5000 + 100).await {
        let alarm = &message["data"]["data"];
        last.insert(alarm["id"].as_str().unwrap().to_owned(), alarm.clone());
    }
    assert_eq!(last.len(), 5000 + raised);
    for (id, alarm) in last.iter().rev().take(150) {
        assert_eq!(&admin.read(&format!("/alarm/alarms/{id}")).await, alarm);
    }
}

#[tokio::test]
async fn exactly_one_of_two_servers_continues_the_rest() {
    let database = TestDatabase::create().await;
    let a = TestServer::start_on(&database, |settings| {
        settings.limits.bulk_lease = Duration::from_secs(1);
    })
    .await;
    let device = a.admin().create_device("pump").await;
    fill(&database, std::slice::from_ref(&device), 12_000).await;
    // The row that a process leaves behind when it is killed in the middle of an update.
    let insert = "INSERT INTO bulk_alarm_updates (tenant, id, status, statuses, severities, types, below, last_alarm, \
            user_name, base, place_time, place_id, fence, leased_until) \
        SELECT 'main', 7, 'CLEARED', '{ACTIVE}', '{}', '{}', '{}', 11990, 'operator', 'http://h', time, id, 3, now() \
        FROM alarms WHERE id = 1000";
    database.execute(insert, &[]).await;
    let b = TestServer::start_on(&database, |settings| {
        settings.limits.bulk_lease = Duration::from_secs(1);
    })
    .await;
    let sessions = [a.admin().listen("/alarms/*").await, b.admin().listen("/alarms/*").await];

    until_within(LONG, "the end of the bulk update", async || {
        database.count("bulk_alarm_updates").await == 0
    })
    .await;

    // The ACTIVE alarms after the stored position, up to the last alarm of the update.
    let expected = (1001..=11_990).filter(|n| n % 10 != 0).count() as i64;
    assert_eq!(count_of(&database, "CLEARED").await, expected);
    let statement = "SELECT count(DISTINCT source), count(*), min(user_name) FROM audit_records";
    let records = database.query(statement, &[]).await;
    assert_eq!((records[0].get::<_, i64>(0), records[0].get::<_, i64>(1)), (expected, expected));
    assert_eq!(records[0].get::<_, &str>(2), "operator");
    drop(sessions);
}

#[tokio::test]
async fn run_that_is_at_work_is_left_to_its_server() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |settings| {
        settings.limits.bulk_lease = Duration::from_secs(1);
    })
    .await;
    let device = server.admin().create_device("pump").await;
    fill(&database, &[device], 100).await;
    // The lease belongs to another process, which is considered alive.
    let insert = "INSERT INTO bulk_alarm_updates (tenant, id, status, statuses, severities, types, below, \
        last_alarm, user_name, base, fence, leased_until) VALUES ('main', 7, 'CLEARED', '{}', '{}', '{}', '{}', 100, \
        'operator', 'http://h', 1, now() + interval '1 hour')";
    database.execute(insert, &[]).await;

    // In the meantime the server executes an update of its own.
    assert_eq!(bulk(&server.admin(), "severity=MAJOR", CLEARED).await, 200);

    let statement = "SELECT fence FROM bulk_alarm_updates";
    assert_eq!(database.query(statement, &[]).await[0].get::<_, i64>(0), 1);
    assert_eq!(count_of(&database, "CLEARED").await, 33);
}

#[tokio::test]
async fn tenant_with_too_many_unfinished_ones_has_to_wait() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let insert = "INSERT INTO bulk_alarm_updates (tenant, id, status, statuses, severities, types, below, last_alarm, \
            user_name, base, fence, leased_until) \
        SELECT 'main', n, 'CLEARED', '{}', '{}', '{}', '{}', 0, 'operator', 'http://h', 1, now() + interval '1 hour' \
        FROM generate_series(1, 100) n";
    database.execute(insert, &[]).await;

    assert_eq!(bulk(&server.admin(), "status=ACTIVE", CLEARED).await, 503);
}
