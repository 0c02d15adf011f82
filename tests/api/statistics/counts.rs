//! The figures in statistics.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::{DAYS, SUMMARY, counted, eager};
use crate::harness::csv::send;
use crate::harness::operations::{create_agent, path_of};
use crate::harness::tenants::create_tenant;
use crate::harness::{
    Program, Socket, TestDatabase, TestServer, eventually, measurement_of, scratch_with_data,
};

#[tokio::test]
async fn stored_writes_are_counted_by_noun_and_rest_is_not() {
    let (server, admin) = TestServer::start_with(eager).await.with_admin();
    let device = create_agent(&admin, "pump").await;
    let child = format!("/inventory/managedObjects/{device}/childDevices");
    admin.create(&child, &json!({"name": "new child"})).await;
    admin.put(&format!("/inventory/managedObjects/{device}"), &json!({"name": "old pump"})).await.expect(200);
    // The first raises a new alarm, the second repeats it, the third changes it.
    let alarm = admin.raise_alarm(&device, "hot").await;
    admin.raise_alarm(&device, "hot").await;
    admin.put(alarm["self"].as_str().unwrap(), &json!({"status": "CLEARED"})).await.expect(200);
    let event = admin.create_event(&device, "moved").await;
    admin.put(event["self"].as_str().unwrap(), &json!({"text": "moved on"})).await.expect(200);
    let one = measurement_of(&device, "2024-03-10T02:30:00Z", 1);
    admin.create("/measurement/measurements", &one).await;
    admin.post("/measurement/measurements", &json!({"measurements": [one, one, one]})).await.expect(201);
    let operation = json!({"deviceId": device, "plat_Command": {"text": "x"}});
    let operation = admin.create("/devicecontrol/operations", &operation).await;
    admin.put(&path_of(&operation), &json!({"status": "EXECUTING"})).await.expect(200);
    // Failed requests and data that is not stored are not counted as writes.
    admin.post("/alarm/alarms", &json!({"type": "t"})).await.expect(422);
    let transient = admin.request("POST", "/measurement/measurements").json(&one);
    transient.header("X-Platform-Processing-Mode", "TRANSIENT").send().await.expect(201);

    let summary = counted(
        &admin,
        &[
            ("alarmsCreatedCount", 1),
            ("alarmsUpdatedCount", 2),
            ("eventsCreatedCount", 1),
            ("eventsUpdatedCount", 1),
            ("inventoriesCreatedCount", 2),
            ("inventoriesUpdatedCount", 1),
            ("measurementsCreatedCount", 4),
            ("operationsCreatedCount", 1),
            ("operationsUpdatedCount", 1),
        ],
    )
    .await;
    assert_eq!(summary["totalResourceCreateAndUpdateCount"], 12);
    assert_eq!(summary["measurementsUpdatedCount"], 0);
    drop(server);
}

#[tokio::test]
async fn requests_are_counted_for_devices_apart_and_rows_one_by_one() {
    let server = TestServer::start_with(eager).await;
    let tenant = create_tenant(&server, "plant7").await;
    for (path, status) in
        [("/inventory/managedObjects", 200), ("/alarm/alarms/1", 404), ("/user/currentUser", 200)]
    {
        tenant.get(path).await.expect(status);
    }
    let request = tenant.request("GET", "/alarm/alarms");
    request.header("X-Platform-Application-Key", "unknown-key").send().await.expect(200);
    server.caller("plant7/boss", "wrong").get("/alarm/alarms").await.expect(401);
    server.stranger().get("/health/live").await.expect(200);
    // The request has three rows, one of them unknown, and an empty line.
    send(&tenant, "211,25\n211,26\n\n999,1").await;

    // The last requests are those for the summary itself.
    let expected = [("deviceRequestCount", 5)];
    let summary = counted(&tenant, &expected).await;
    assert!(summary["requestCount"].as_i64().unwrap() >= 7, "{summary}");
    let before = summary["requestCount"].as_i64().unwrap();
    eventually("the count of the request for the summary", async || {
        (tenant.read(SUMMARY).await["requestCount"].as_i64().unwrap() > before).then_some(())
    })
    .await;
    assert_eq!(tenant.read(SUMMARY).await["deviceRequestCount"], 5);
}

#[tokio::test]
async fn notifications_polls_of_both_transports_and_peaks_of_sessions_are_counted() {
    let (server, admin, device) = TestServer::start_with(eager).await.with_device("pump").await;
    let sessions = [admin.listen("/alarms/*").await, admin.listen("/alarms/*").await];
    let (mut socket, _) = Socket::listen(&admin, "/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;
    for session in &sessions {
        session.receive(1).await;
    }
    socket.messages(1).await;
    counted(&admin, &[("notificationsDeliveredCount", 3), ("sessionsPeakCount", 3)]).await;
    sessions[0].ask("/meta/disconnect", json!({})).await;

    let before = admin.read(SUMMARY).await["requestCount"].as_i64().unwrap();
    for _ in 0..20 {
        sessions[1].glance().await;
    }
    let summary = eventually("the count of the polls", async || {
        let summary = admin.read(SUMMARY).await;
        (summary["requestCount"].as_i64().unwrap() >= before + 20).then_some(summary)
    })
    .await;
    assert_eq!(summary["sessionsPeakCount"], 3, "a peak stays");
    drop(server);
}

#[tokio::test]
async fn two_servers_add_what_they_count() {
    let database = TestDatabase::create().await;
    let servers =
        [TestServer::start_on(&database, eager).await, TestServer::start_on(&database, eager).await];
    let admins = servers.each_ref().map(TestServer::admin);
    let device = admins[0].create_device("pump").await;
    let mut sessions = Vec::new();
    for n in 0..10 {
        let admin = &admins[n % 2];
        admin.create_event(&device, "moved").await;
        sessions.push(admin.session().await);
    }

    counted(&admins[0], &[("eventsCreatedCount", 10), ("inventoriesCreatedCount", 1)]).await;
    let peak = eventually("the peak of both servers", async || {
        sessions.push(admins[0].session().await);
        let summary = admins[1].read(SUMMARY).await;
        summary["sessionsPeakCount"].as_i64().filter(|peak| *peak >= 11)
    })
    .await;
    assert!(peak <= sessions.len() as i64, "{peak} of {}", sessions.len());
}

#[tokio::test]
async fn batch_that_was_added_is_not_added_again() {
    let (server, admin, device) = TestServer::start_with(eager).await.with_device("pump").await;
    admin.create_event(&device, "moved").await;
    counted(&admin, &[("eventsCreatedCount", 1)]).await;
    // The state after a commit whose response was lost: the next batches are already stored.
    server.database().execute("UPDATE statistics_batches SET batch = batch + 1000000", &[]).await;
    admin.create_event(&device, "moved").await;
    tokio::time::sleep(Duration::from_millis(500)).await;

    assert_eq!(admin.read(SUMMARY).await["eventsCreatedCount"], 1);
}

#[tokio::test]
async fn counts_wait_while_the_database_is_away_and_an_orderly_stop_loses_none() {
    let database = TestDatabase::create().await;
    let rarely = |settings: &mut platform_front::config::Settings| {
        settings.limits.statistics_pause = Duration::from_secs(60);
    };
    let server = TestServer::start_on(&database, rarely).await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    for _ in 0..7 {
        admin.create_event(&device, "moved").await;
    }
    assert_eq!(admin.read(SUMMARY).await["eventsCreatedCount"], 0, "nothing is written yet");

    server.stop().await;

    let row =
        "SELECT events_created, inventories_created, requests FROM tenant_statistics WHERE tenant = 'main'";
    let row = &database.query(row, &[]).await[0];
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (7, 1, 9));
}

#[tokio::test]
async fn kill_loses_at_most_the_last_seconds() {
    let directory = scratch_with_data();
    let serve = || {
        let mut command = Program::command(directory.path(), &["--statistics-pause-ms", "200"]);
        command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
        Program::serve_with(command)
    };
    let mut program = serve();
    let admin = crate::harness::Caller::new(program.base(), Some(("admin", "admin-secret")));
    let device = admin.create_device("pump").await;
    for _ in 0..5 {
        admin.create_event(&device, "moved").await;
    }
    counted(&admin, &[("eventsCreatedCount", 5)]).await;

    program.signal(Signal::KILL);
    program.ended_within(Duration::from_secs(10)).await;
    let program = serve();
    let admin = crate::harness::Caller::new(program.base(), Some(("admin", "admin-secret")));
    admin.create_event(&device, "moved").await;

    counted(&admin, &[("eventsCreatedCount", 6)]).await;
}

#[tokio::test]
async fn day_begins_at_midnight_in_utc() {
    let (server, admin, device) = TestServer::start_with(eager).await.with_device("pump").await;
    admin.create_event(&device, "moved").await;
    counted(&admin, &[("eventsCreatedCount", 1)]).await;
    // Figures of yesterday stay with their day.
    let yesterday = "UPDATE tenant_statistics SET day = day - 1 WHERE tenant = 'main'";
    assert_eq!(server.database().execute(yesterday, &[]).await, 1);

    admin.create_event(&device, "moved").await;

    let days = eventually("two days", async || {
        let days = admin.read(DAYS).await["usageStatistics"].as_array().unwrap().clone();
        (days.len() == 2 && days[0]["eventsCreatedCount"] == 1).then_some(days)
    })
    .await;
    assert_eq!(days[1]["eventsCreatedCount"], 1);
    let utc = "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
    let today: String = server.database().query(utc, &[]).await[0].get(0);
    assert_eq!(days[0]["day"], format!("{today}T00:00:00.000Z"));
}
