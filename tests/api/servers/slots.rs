//! The slots of servers, and the ids that contain them.

use super::{slot_of_new_object, slots};
use crate::harness::{TestDatabase, TestServer, eventually};

#[tokio::test]
async fn living_servers_hold_different_slots_which_are_in_their_ids() {
    let [first, second] = TestServer::start_two().await;
    let database = first.database();

    assert_eq!(slots(database).await, [0, 1]);
    assert_eq!(slot_of_new_object(&first.admin()).await, 0);
    assert_eq!(slot_of_new_object(&second.admin()).await, 1);
    let statement = "SELECT name, version, address, state, connections FROM servers ORDER BY slot";
    let row = &database.query(statement, &[]).await[0];
    let (name, version, address, state): (String, String, String, String) =
        (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!((&*address, &*state, &*version), (first.base(), "UP", env!("CARGO_PKG_VERSION")));
    assert!(!name.is_empty() && row.get::<_, i32>(4) > 10, "{name}");
}

#[tokio::test]
async fn many_servers_that_start_at_once_hold_different_slots() {
    let database = TestDatabase::create().await;
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let database = database.clone();
            tokio::task::spawn_blocking(move || TestServer::try_start_on(&database, |_| {}))
        })
        .collect();
    let mut servers = Vec::new();
    for start in starts {
        servers.push(start.await.unwrap().unwrap());
    }

    assert_eq!(slots(&database).await, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn slot_is_given_back_at_a_stop_and_kept_for_a_while_after_a_crash() {
    let database = TestDatabase::create().await;
    let first = TestServer::start_on(&database, |_| {}).await;
    first.stop().await;
    assert_eq!(slots(&database).await, [0; 0], "given back");

    let second = TestServer::start_on(&database, |_| {}).await;
    assert_eq!(slots(&database).await, [0], "and free at once");
    second.stop().await;
    // One server crashed a moment ago; another one has been gone for longer than its lease plus the margin.
    let crashed = "UPDATE servers SET leased_until = now() - interval '2 s', state = 'UP' WHERE slot = 0";
    assert_eq!(database.execute(crashed, &[]).await, 1);
    let third = TestServer::start_on(&database, |_| {}).await;
    assert_eq!(slot_of_new_object(&third.admin()).await, 1);
    let gone = "UPDATE servers SET leased_until = now() - interval '21 s' WHERE slot = 0";
    assert_eq!(database.execute(gone, &[]).await, 1);
    let fourth = TestServer::start_on(&database, |_| {}).await;
    assert_eq!(slot_of_new_object(&fourth.admin()).await, 0);
}

#[tokio::test]
async fn next_holder_of_a_slot_generates_no_id_that_the_previous_one_may_generate() {
    let database = TestDatabase::create().await;
    let first = TestServer::start_on(&database, |_| {}).await;
    first.stop().await;
    // The clock of the previous holder was one hour ahead.
    let ahead = "UPDATE servers SET ids_until = ids_until + 3600000 WHERE slot = 0 RETURNING ids_until";
    let reserved: i64 = database.query(ahead, &[]).await[0].get(0);

    let second = TestServer::start_on(&database, |_| {}).await;

    let id: i64 = second.admin().create_device("pump").await.parse().unwrap();
    assert_eq!(id >> 12 & 0xff, 0, "the same slot");
    assert!(id >> 20 >= reserved, "{} is before {reserved}", id >> 20);
}

#[tokio::test]
async fn server_whose_slot_was_taken_takes_another_one_and_continues() {
    let server = TestServer::start().await;
    let (database, admin) = (server.database(), server.admin());
    let before: i64 = admin.create_device("pump").await.parse().unwrap();

    let taken = "UPDATE servers SET incarnation = -1, leased_until = now() + interval '1 h' WHERE slot = 0";
    assert_eq!(database.execute(taken, &[]).await, 1);

    eventually("another slot", async || (slots(database).await == [0, 1]).then_some(())).await;
    eventually("ids with it", async || (slot_of_new_object(&admin).await == 1).then_some(())).await;
    let after: i64 = admin.create_device("pump").await.parse().unwrap();
    assert!(after > before);
}

#[tokio::test]
async fn server_that_holds_no_slot_rejects_what_needs_an_id_and_serves_the_rest() {
    let server = TestServer::start().await;
    let (database, admin) = (server.database(), server.admin());
    let device = admin.create_device("pump").await;
    // All other slots belong to servers with a lease of one hour.
    let others = "INSERT INTO servers SELECT n, -1, 'other', '-', '-', 'UP', now(), now() + interval '1 h', 0, 1 \
        FROM generate_series(1, 255) AS n";
    database.execute(others, &[]).await;

    let full = TestServer::try_start_on(&server.shared_database(), |_| {}).err().unwrap();
    assert!(full.contains("all 256 slots"), "{full}");
    // The server has used up its reserved ids, as after a long pause.
    server.exhaust_ids();
    let taken = "UPDATE servers SET incarnation = -1, leased_until = now() + interval '1 h' WHERE slot = 0";
    assert_eq!(database.execute(taken, &[]).await, 1);
    let refused = eventually("a rejection", async || {
        let answer = admin.post("/inventory/managedObjects", &serde_json::json!({"name": "x"})).await;
        (answer.status != 201).then_some(answer)
    })
    .await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.header("Retry-After").is_some());
    let path = format!("/inventory/managedObjects/{device}");
    admin.get(&path).await.expect(200);
    assert_eq!(server.stranger().get("/health/live").await.status, 200);

    let freed = "UPDATE servers SET leased_until = '-infinity' WHERE slot = 77";
    assert_eq!(database.execute(freed, &[]).await, 1);

    eventually("a new slot", async || {
        let answer = admin.post("/inventory/managedObjects", &serde_json::json!({"name": "x"})).await;
        (answer.status == 201).then_some(())
    })
    .await;
    assert_eq!(slot_of_new_object(&admin).await, 77);
}

#[tokio::test]
async fn three_servers_with_the_defaults_and_four_cores_fit_the_default_of_postgresql() {
    let defaults = platform_front::config::Settings::default();
    let server = TestServer::start_with(|settings| {
        settings.actor_threads = 4;
        settings.read_connections = defaults.read_connections;
        settings.job_connections = defaults.job_connections;
    })
    .await;

    // The number is complete after the first renewal of the lease.
    eventually("the number of connections", async || {
        let statement = "SELECT connections FROM servers WHERE leased_until > now()";
        let connections: i32 = server.database().query(statement, &[]).await[0].get(0);
        // The figures of the guide: 28, and one for each actor thread. PostgreSQL reserves 3 of its 100 connections.
        (connections == 28 + 4 && 3 * connections <= 100 - 3).then_some(())
    })
    .await;
}
