//! Tests which requests count as a message of a device.

use super::*;
use crate::harness::application_keys::{KEY, insert_application};

/// Moves the last message back and returns the time that the server then shows.
async fn fall_silent(server: &TestServer, device: &str) -> String {
    silence(server.database(), device, 1).await;
    last_message(&server.admin(), device).await
}

async fn until_heard(server: &TestServer, device: &str, before: &str) {
    until("the heartbeat", async || last_message(&server.admin(), device).await.as_str() > before).await;
}

async fn pump(server: &TestServer) -> (Caller, String) {
    let user = device_user(server, "pump").await;
    let device = watched(&user, 10).await;
    (user, device)
}

#[tokio::test]
async fn alarm_of_the_device_user_is_one_and_so_is_its_repetition() {
    let server = server().await;
    let (user, device) = pump(&server).await;
    for _ in 0..2 {
        let before = fall_silent(&server, &device).await;
        user.raise_alarm(&device, "hot").await;
        until_heard(&server, &device, &before).await;
    }
}

#[tokio::test]
async fn every_put_on_the_object_is_one() {
    let server = server().await;
    let (user, device) = pump(&server).await;
    for body in [json!({}), json!({"id": device}), json!({"name": "motor"}), json!({"plat_Availability": {}})]
    {
        let before = fall_silent(&server, &device).await;
        assert_eq!(user.put(&object(&device), &body).await.status, 200);
        until_heard(&server, &device, &before).await;
    }
}

#[tokio::test]
async fn empty_put_changes_nothing_else_and_notifies_nobody() {
    let (server, admin) = server().await.with_admin();
    let (user, device) = pump(&server).await;
    let session = admin.listen("/managedobjects/*").await;
    let before = admin.read(&object(&device)).await;
    let silent = fall_silent(&server, &device).await;

    user.put(&object(&device), &json!({})).await;
    until_heard(&server, &device, &silent).await;
    user.put(&object(&device), &json!({"name": "motor"})).await;

    assert_eq!(session.receive(1).await[0]["data"]["data"]["name"], "motor");
    let after = server.database().query("SELECT 1 FROM audit_records", &[]).await;
    assert!(after.is_empty() && before["lastUpdated"].is_string());
}

#[tokio::test]
async fn alarm_in_maintenance_is_one() {
    let server = server().await;
    let user = device_user(&server, "pump").await;
    let device = watched(&user, 0).await;
    let before = fall_silent(&server, &device).await;

    user.raise_alarm(&device, "hot").await;

    until_heard(&server, &device, &before).await;
}

#[tokio::test]
async fn alarm_for_a_child_counts_for_the_child() {
    let (server, admin) = server().await.with_admin();
    let (user, gateway) = pump(&server).await;
    let body = json!({"name": "child", "plat_RequiredAvailability": {"responseInterval": 10}});
    let child = user.create(&format!("{}/childDevices", object(&gateway)), &body).await;
    let child = child["id"].as_str().unwrap();
    let before = fall_silent(&server, child).await;
    let of_gateway = fall_silent(&server, &gateway).await;

    user.raise_alarm(child, "hot").await;

    until_heard(&server, child, &before).await;
    assert_eq!(last_message(&admin, &gateway).await, of_gateway);
}

#[tokio::test]
async fn what_others_do_and_what_fails_is_none() {
    let database = TestDatabase::create().await;
    insert_application(&database, "main", "cockpit", "k-cockpit").await;
    let server = server_on(&database).await;
    let (user, device) = pump(&server).await;
    let admin = server.admin();
    let before = fall_silent(&server, &device).await;

    admin.raise_alarm(&device, "hot").await;
    admin.put(&object(&device), &json!({"name": "motor"})).await;
    user.read(&object(&device)).await;
    assert_eq!(user.put(&object(&device), &json!({"name": 7})).await.status, 422);
    assert_eq!(user.post(ALARMS, &json!({"source": {"id": device}})).await.status, 422);
    for (name, value) in [(KEY, "k-cockpit"), ("X-Platform-Processing-Mode", "TRANSIENT")] {
        let put = user.request("PUT", &object(&device)).header(name, value);
        assert_eq!(put.json(&json!({"a": 1})).send().await.status, 200);
        let post = user.request("POST", ALARMS).header(name, value);
        assert_eq!(post.json(&alarm_of(&device, "hot")).send().await.status, 201);
    }
    // If the request counted, it would have been written before this.
    let other = watched(&user, 10).await;
    let marker = fall_silent(&server, &other).await;
    user.put(&object(&other), &json!({})).await;
    until_heard(&server, &other, &marker).await;

    assert_eq!(last_message(&admin, &device).await, before);
}

#[tokio::test]
async fn key_that_no_application_has_makes_no_difference() {
    let server = server().await;
    let (user, device) = pump(&server).await;
    for _ in 0..2 {
        let before = fall_silent(&server, &device).await;
        let put = user.request("PUT", &object(&device)).header(KEY, "unknown");
        assert_eq!(put.json(&json!({})).send().await.status, 200);
        until_heard(&server, &device, &before).await;
    }
}

#[tokio::test]
async fn time_does_not_move_back() {
    let (server, admin) = server().await.with_admin();
    let (user, device) = pump(&server).await;
    silence(server.database(), &device, -5).await;
    let ahead = last_message(&admin, &device).await;

    user.put(&object(&device), &json!({})).await;
    let other = watched(&user, 10).await;
    let marker = fall_silent(&server, &other).await;
    user.put(&object(&other), &json!({})).await;
    until_heard(&server, &other, &marker).await;

    assert_eq!(last_message(&admin, &device).await, ahead);
}
