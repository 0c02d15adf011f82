//! A PostgreSQL whose queue of notifications is full: it refuses every commit that notifies, with SQLSTATE 54000.

use super::*;
use crate::harness::csv;

/// Makes every commit with a new row of these tables fail as if the queue were full.
const FULL: &str = "
    CREATE FUNCTION refuse_commit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000';
    END
    $$;
    CREATE CONSTRAINT TRIGGER full_queue AFTER INSERT ON alarms DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse_commit();
    CREATE CONSTRAINT TRIGGER full_queue AFTER INSERT ON operations DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse_commit();
    CREATE CONSTRAINT TRIGGER full_queue AFTER INSERT ON managed_objects DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse_commit();
    CREATE CONSTRAINT TRIGGER full_queue AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse_commit();
    CREATE CONSTRAINT TRIGGER full_queue AFTER INSERT ON groups DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse_commit();";

#[tokio::test]
async fn valid_data_is_to_be_sent_again_while_the_queue_of_notifications_is_full() {
    let server = TestServer::start_on(&TestDatabase::create().await, |_| {}).await;
    let (server, admin, device) = server.with_agent("pump").await;
    let meter = server.device_user("meter").await;
    assert_eq!(csv::send(&meter, "100").await, "");
    server.database().run_script(FULL).await;

    let operation = json!({"deviceId": device, "plat_Restart": {}});
    for (path, body) in [
        ("/alarm/alarms", alarm_of(&device, "hot")),
        ("/event/events", event_of(&device, "door")),
        ("/devicecontrol/operations", operation),
        ("/inventory/managedObjects", json!({"name": "motor"})),
        ("/user/main/groups", json!({"name": "night shift"})),
    ] {
        let answer = admin.post(path, &body).await.expect(503);
        assert!(answer.header("Retry-After").is_some(), "{path}: {}", answer.text);
    }
    assert_eq!(csv::send(&meter, "301,hot").await, "50,1,503\n");
    // Data that notifies nobody is stored.
    admin.create("/measurement/measurements", &measurement_of(&device, "2026-04-01T00:00:00Z", 7)).await;

    server.database().run_script("DROP FUNCTION refuse_commit CASCADE").await;
    until("an alarm that is stored", async || {
        admin.post("/alarm/alarms", &alarm_of(&device, "hot")).await.status == 201
    })
    .await;
}

#[tokio::test]
async fn value_that_is_too_long_for_an_index_is_invalid_and_not_to_be_sent_again() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    // PostgreSQL has the same SQLSTATE for it. The letters do not repeat, so the text cannot be compressed.
    let letter = |n: u32| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26);
    let long: String = (0..50_000).map(letter).collect();
    admin.post("/inventory/managedObjects", &json!({"type": long})).await.expect(422);
}
