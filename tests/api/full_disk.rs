//! A disk that is nearly full: writes are rejected with the cause, reads and deletions continue. The status of each
//! route is
//! tested in [`matrix`](crate::matrix), the true program in [`process`](crate::process).

use crate::bulk_operations::{BULK, assert_each_has_one, bulk_of, completed, fleet, plan, under_way};
use crate::harness::prelude::*;

fn assert_refused(answer: &Response) {
    assert_eq!((answer.status, answer.header("Retry-After")), (503, Some("60")), "{}", answer.text);
    assert!(answer.message().contains("the disk of the server is full"), "{}", answer.text);
}

#[tokio::test]
async fn writes_are_refused_while_reading_and_deleting_continue_and_come_back_with_the_room() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let event = admin.create_event(&device, "started").await["self"].as_str().unwrap().to_owned();

    server.fill_disk();

    for (path, body) in [
        ("/inventory/managedObjects", json!({"name": "motor"})),
        ("/alarm/alarms", alarm_of(&device, "hot")),
        ("/event/events", event_of(&device, "stopped")),
        (MEASUREMENTS, measurement_of(&device, "2024-03-10T02:30:00Z", 1)),
        ("/user/main/users", json!({"userName": "joe", "password": "secret-1"})),
    ] {
        assert_refused(&admin.post(path, &body).await);
    }
    assert_refused(&admin.put(&format!("/inventory/managedObjects/{device}"), &json!({"name": "x"})).await);
    assert_eq!(admin.read(&event).await["type"], "started");
    assert_eq!(admin.delete(&event).await.status, 204);
    assert_eq!(admin.delete("/event/events?type=other").await.status, 204);
    assert_eq!(admin.get(&event).await.status, 404);

    server.free_disk();

    admin.raise_alarm(&device, "hot").await;
    let counts = ["alarms", "events", "measurements"].map(|table| server.count(table));
    assert_eq!(futures_util::future::join_all(counts).await, [1, 0, 0], "nothing that was refused is stored");
}

#[tokio::test]
async fn what_stores_nothing_is_taken_on_a_full_disk() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;

    server.fill_disk();

    let session = admin.listen(&format!("/measurements/{device}")).await;
    let transient = admin.request("POST", MEASUREMENTS).header("X-Platform-Processing-Mode", "TRANSIENT");
    let measurement = measurement_of(&device, "2024-03-10T02:30:00Z", 1);
    assert_eq!(transient.json(&measurement).send().await.status, 201);
    let told = session.glance_until_told().await;
    assert_eq!(notifications(&told).len(), 1, "{told:?}");
    assert_eq!(reply(&told)["successful"], true);
}

#[tokio::test]
async fn rows_of_csv_that_would_store_get_the_line_of_an_error() {
    let server = TestServer::start().await;
    let device = server.device_user("sn-1").await;
    let rows = |rows: &str| device.request("POST", "/s").header("Accept", "text/plain").body(rows);
    assert_eq!(rows("100,pump,type").send().await.status, 200);
    assert_eq!(server.count("managed_objects").await, 1);

    server.fill_disk();
    let answer = rows("200,env,t,20\n301,hot\n400,started,It runs\n101,child,second,type").send().await;

    assert_eq!((answer.status, &*answer.text), (200, "50,1,503\n50,2,503\n50,3,503\n50,4,503\n"));
}

#[tokio::test]
async fn readiness_and_metrics_show_a_full_disk() {
    let server = TestServer::start().await;
    let stranger = server.stranger();
    assert_eq!(stranger.read("/health/ready").await, json!({"status": "UP"}));

    server.fill_disk();

    let ready = stranger.read("/health/ready").await;
    assert_eq!((&ready["status"], &ready["writes"]), (&json!("UP"), &json!("REFUSED")), "{ready}");
    assert!(ready["reason"].as_str().unwrap().contains("disk"), "{ready}");
    // The servers of the test process share the metric, so its value is that of the last one that set it.
    assert!(stranger.get("/metrics").await.text.contains("\nplatform_disk_writes_refused "));
    server.free_disk();
    assert_eq!(stranger.read("/health/ready").await, json!({"status": "UP"}));
}

#[tokio::test]
async fn bulk_operation_waits_for_room_and_then_continues_to_its_end() {
    let (server, admin) = TestServer::start().await.with_admin();
    let group = fleet(&server, 300).await;
    let link = plan(&admin, &bulk_of(&group, 0.01)).await;
    under_way(&server, 20).await;

    server.fill_disk();
    assert_refused(&admin.post(BULK, &bulk_of(&group, 0.0)).await);
    // With free space, the bulk operation would be complete after this time.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let meanwhile = server.count("operations").await;
    server.free_disk();
    let bulk = completed(&admin, &link).await;

    assert!(meanwhile < 300, "{meanwhile}");
    assert_eq!(bulk["status"], "COMPLETED");
    assert_each_has_one(&server, 300).await;
}

#[tokio::test]
async fn full_disk_of_an_external_postgresql_has_the_same_error() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    fail_inserts(server.database(), "events").await;
    fail_inserts(server.database(), "users").await;

    let of_writer = admin.post("/event/events", &event_of(&device, "started")).await;
    let of_transaction =
        admin.post("/user/main/users", &json!({"userName": "joe", "password": "secret-1"})).await;

    assert_refused(&of_writer);
    assert_refused(&of_transaction);
    admin.raise_alarm(&device, "hot").await;
    assert_eq!(admin.get("/event/events").await.status, 200);
}

/// Makes PostgreSQL reject new rows of a table with the error for a full disk.
async fn fail_inserts(database: &TestDatabase, table: &str) {
    let script = format!(
        "CREATE FUNCTION fail_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$; \
         CREATE TRIGGER fail BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fail_{table}();"
    );
    database.run_script(&script).await;
}
