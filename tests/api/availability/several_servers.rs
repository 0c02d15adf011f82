//! Several servers on one database: each silence has one alarm, cleared once.

use super::*;

async fn two_servers() -> (TestServer, TestServer) {
    let database = TestDatabase::create().await;
    let a = server_on(&database).await;
    let b = TestServer::start_on(&database, quick).await;
    listening(&database, 2).await;
    listened_for_long(&database).await;
    (a, b)
}

#[tokio::test]
async fn every_silent_device_gets_one_alarm_and_no_other_does() {
    let (a, b) = two_servers().await;
    let user = device_user(&a, "pump").await;
    let mut devices = Vec::new();
    for _ in 0..20 {
        devices.push(watched(&user, 10).await);
    }
    for device in &devices[..10] {
        silence(a.database(), device, 11).await;
    }

    for device in &devices[..10] {
        until_alarm_is(&b.admin(), device, "ACTIVE").await;
    }
    // All devices send to both servers at the same time.
    let users = [user, b.caller("device_pump", ADMIN_PASSWORD)];
    let puts: Vec<_> = devices
        .iter()
        .flat_map(|device| users.iter().map(move |user| (user.clone(), object(device))))
        .map(|(user, path)| tokio::spawn(async move { user.put(&path, &json!({})).await.status }))
        .collect();
    for put in puts {
        assert_eq!(put.await.unwrap(), 200);
    }

    for device in &devices[..10] {
        let alarms = until_alarm_is(&a.admin(), device, "CLEARED").await;
        assert_eq!((alarms.len(), &alarms[0]["count"]), (1, &json!(1)));
        let records = a.database().audit_records(alarms[0]["id"].as_str().unwrap()).await;
        assert_eq!(records.len(), 1, "cleared once");
    }
    for device in &devices[10..] {
        assert_eq!(unavailability_alarms(&a.admin(), device).await.len(), 0);
    }
}

#[tokio::test]
async fn other_server_sweeps_when_the_one_that_did_has_gone() {
    let (a, b) = two_servers().await;
    let device = watched(&b.admin(), 10).await;
    let database = b.shared_database();
    a.stop().await;

    silence(&database, &device, 11).await;

    until_alarm_is(&b.admin(), &device, "ACTIVE").await;
}

#[tokio::test]
async fn message_at_one_server_clears_what_the_other_raised() {
    let (a, b) = two_servers().await;
    let on_a = device_user(&a, "pump").await;
    let on_b = b.caller("device_pump", ADMIN_PASSWORD);
    let device = watched(&on_a, 10).await;
    for user in [&on_a, &on_b] {
        silence(a.database(), &device, 11).await;
        until_alarm_is(&on_a, &device, "ACTIVE").await;
        user.put(&object(&device), &json!({})).await;
        until_alarm_is(&on_a, &device, "CLEARED").await;
        crate::harness::until("the end of the silence", async || {
            let open = "SELECT FROM availability WHERE silent_since IS NOT NULL";
            a.database().query(open, &[]).await.is_empty()
        })
        .await;
    }
    assert_eq!(unavailability_alarms(&on_a, &device).await.len(), 2);
}

#[tokio::test]
async fn sweeper_that_loses_its_connection_is_replaced_within_seconds() {
    let (a, b) = two_servers().await;
    let device = watched(&b.admin(), 10).await;
    // The server that sweeps holds the only lock that is not shared.
    let sweepers = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let before = a.database().query(sweepers, &[]).await;
    assert_eq!(before.len(), 1, "one sweeps");
    let killed: i32 = before[0].get(0);

    a.database().execute("SELECT pg_terminate_backend($1)", &[&killed]).await;
    silence(a.database(), &device, 11).await;

    let alarms = until_alarm_is(&a.admin(), &device, "ACTIVE").await;
    assert_eq!((alarms.len(), &alarms[0]["count"]), (1, &json!(1)));
    let after = a.database().query(sweepers, &[]).await;
    assert!(after.iter().all(|row| row.get::<_, i32>(0) != killed));
    // The other server was watching all the time, so no device gets additional time.
    let since = "SELECT value = '0' FROM deployment WHERE name = 'availability watched since'";
    assert!(a.database().query(since, &[]).await[0].get::<_, bool>(0));
}
