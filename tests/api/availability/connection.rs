//! The real-time connection of a device.

use super::*;

async fn connection(caller: &Caller, device: &str) -> Value {
    caller.read(&object(device)).await["plat_Connection"]["status"].clone()
}

async fn until_connection_is(caller: &Caller, device: &str, expected: Value) {
    until("the status of the connection", async || connection(caller, device).await == expected).await;
}

#[tokio::test]
async fn device_is_connected_while_its_user_holds_a_poll_and_absent_after() {
    let (server, admin) = server().await.with_admin();
    let user = device_user(&server, "pump").await;
    let device = watched(&user, 10).await;
    let session = user.listen(&format!("/alarms/{device}")).await;
    assert_eq!(connection(&user, &device).await, Value::Null, "a session alone is no connection");

    let held = session.hold().await;
    until_connection_is(&admin, &device, json!("CONNECTED")).await;
    session.ask("/meta/disconnect", json!({})).await;

    until_connection_is(&admin, &device, Value::Null).await;
    drop(held);
    silence(server.database(), &device, 11).await;
    assert_eq!(connection(&user, &device).await, "DISCONNECTED");
}

#[tokio::test]
async fn silent_device_may_be_connected_and_unavailable() {
    let (server, admin) = server().await.with_admin();
    let user = device_user(&server, "pump").await;
    let device = watched(&user, 10).await;
    let session = user.listen(&format!("/alarms/{device}")).await;
    let _held = session.hold().await;
    silence(server.database(), &device, 11).await;

    until_connection_is(&admin, &device, json!("CONNECTED")).await;

    assert_eq!(super::status(&user, &device).await, "UNAVAILABLE");
}

#[tokio::test]
async fn device_stays_connected_for_the_session_interval_after_a_poll() {
    let server = TestServer::start_with(|settings| {
        super::quick(settings);
        settings.limits.session_interval = std::time::Duration::from_millis(700);
    })
    .await;
    let user = device_user(&server, "pump").await;
    let device = watched(&user, 10).await;
    let session = user.listen(&format!("/alarms/{device}")).await;

    session.hold().await.abort();

    until_connection_is(&server.admin(), &device, json!("CONNECTED")).await;
    until_connection_is(&server.admin(), &device, Value::Null).await;
}

#[tokio::test]
async fn socket_counts_like_a_poll() {
    let (server, admin) = server().await.with_admin();
    let user = device_user(&server, "pump").await;
    let device = watched(&user, 10).await;
    let _socket = Socket::session(&user).await;

    until_connection_is(&admin, &device, json!("CONNECTED")).await;
}

#[tokio::test]
async fn connections_of_people_and_of_other_devices_do_not_count() {
    let server = server().await;
    let (user, admin) = (device_user(&server, "pump").await, server.admin());
    let (mine, device) = (watched(&user, 10).await, watched(&admin, 10).await);
    let _held = admin.listen("/alarms/*").await.hold().await;
    let _poll = user.listen(&format!("/alarms/{mine}")).await.hold().await;

    until_connection_is(&admin, &mine, json!("CONNECTED")).await;

    assert_eq!(connection(&admin, &device).await, Value::Null);
}

#[tokio::test]
async fn every_server_sees_a_connection_and_assumes_it_for_a_while_only() {
    let a = server().await;
    let database = a.shared_database();
    let b = server_on(&database).await;
    let user = device_user(&a, "pump").await;
    let device = watched(&user, 10).await;
    let _held = user.listen(&format!("/alarms/{device}")).await.hold().await;
    until_connection_is(&b.admin(), &device, json!("CONNECTED")).await;

    // The row is as after the death of its process some time ago.
    database.execute("UPDATE presence SET connected_until = now()", &[]).await;

    assert_eq!(connection(&b.admin(), &device).await, Value::Null);
}

#[tokio::test]
async fn connection_to_one_server_outlives_that_to_another() {
    let a = server().await;
    let b = server_on(&a.shared_database()).await;
    let on_a = device_user(&a, "pump").await;
    let on_b = b.caller("device_pump", crate::harness::ADMIN_PASSWORD);
    let device = watched(&on_a, 10).await;
    let channel = format!("/alarms/{device}");
    let (first, second) = (on_a.listen(&channel).await, on_b.listen(&channel).await);
    let (_one, _other) = (first.hold().await, second.hold().await);
    let rows = async |count: i64| {
        until("the promises", async || {
            a.database().count("presence WHERE connected_until > now()").await == count
        })
        .await;
    };
    rows(2).await;

    first.ask("/meta/disconnect", json!({})).await;
    rows(1).await;

    assert_eq!(connection(&on_a, &device).await, "CONNECTED");
}
