//! Tests how often heartbeats are stored.

use super::*;

/// Counts the writes to the table of availability from now on.
async fn count_writes(server: &TestServer) {
    let database = server.database();
    for statement in [
        "CREATE TABLE writes (at timestamptz DEFAULT clock_timestamp())",
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \
            'BEGIN INSERT INTO writes DEFAULT VALUES; RETURN NULL; END'",
        "CREATE TRIGGER noted AFTER UPDATE ON availability FOR EACH ROW EXECUTE FUNCTION note()",
    ] {
        database.execute(statement, &[]).await;
    }
}

#[tokio::test]
async fn many_messages_make_one_write_per_pause_and_the_last_is_not_lost() {
    let pause = Duration::from_millis(400);
    let server = TestServer::start_with(|settings| settings.limits.heartbeat_pause = pause).await;
    let user = device_user(&server, "pump").await;
    let device = watched(&user, 10).await;
    count_writes(&server).await;

    let begun = Instant::now();
    for _ in 0..50 {
        user.put(&object(&device), &json!({})).await;
    }
    let last = server.database().query("SELECT now()::text", &[]).await[0].get::<_, String>(0);
    let almost = "SELECT last_message > $1::text::timestamptz - interval '0.3 s' FROM availability";
    until("the last heartbeat", async || {
        server.database().query(almost, &[&last]).await[0].get::<_, bool>(0)
    })
    .await;

    let most = begun.elapsed().as_millis() / pause.as_millis() + 2;
    let writes = server.database().count("writes").await;
    assert!((1..=most as i64).contains(&writes), "{writes} writes, at most {most}");
}

#[tokio::test]
async fn messages_count_as_soon_as_an_object_is_watched() {
    let server = super::server().await;
    let user = device_user(&server, "pump").await;
    let admin = server.admin();
    let device = user.create_device("pump").await;
    let path = object(&device);
    // Before the object is watched, this counts as no message: the last one seems a minute old.
    user.put(&path, &json!({})).await;

    admin.put(&path, &json!({"plat_RequiredAvailability": {"responseInterval": 10}})).await;
    silence(server.database(), &device, 5).await;
    let before = last_message(&admin, &device).await;

    until("the heartbeat", async || {
        user.put(&path, &json!({})).await;
        last_message(&admin, &device).await > before
    })
    .await;
}

#[tokio::test]
async fn shorter_interval_counts_from_the_change_on() {
    let server = super::server().await;
    super::listened_for_long(server.database()).await;
    let admin = server.admin();
    let device = watched(&admin, 60).await;
    silence(server.database(), &device, 30).await;

    admin.put(&object(&device), &json!({"plat_RequiredAvailability": {"responseInterval": 1}})).await;

    assert_eq!(super::status(&admin, &device).await, "AVAILABLE");
    super::sweeps_went_by(&server).await;
    assert_eq!(super::unavailability_alarms(&admin, &device).await.len(), 0);
}
