//! Audit records of requests with a known key name its application (C-05, Y-03).

use super::*;
use crate::harness::operations::{OPERATIONS, queue};

/// A server that knows the application `cockpit` by the key `k-cockpit`.
async fn server() -> TestServer {
    let database = TestDatabase::create().await;
    insert_application(&database, "main", "cockpit", "k-cockpit").await;
    TestServer::start_on(&database, |_| {}).await
}

#[tokio::test]
async fn sent_record_names_the_application_of_the_key_unless_it_names_one() {
    let (_server, admin) = server().await.with_admin();
    let mut other = record();
    other["application"] = json!("other");

    let answer = keyed(&admin, "POST", RECORDS, "k-cockpit").json(&other).send().await;

    assert_eq!(answer.json()["application"], "other");
    assert_eq!(named(&admin, "k-cockpit").await, "cockpit");
    let without = admin.create(RECORDS, &record()).await;
    assert!(without.get("application").is_none(), "{without}");
}

#[tokio::test]
async fn changes_of_alarms_and_operations_name_the_application() {
    let (server, admin, device) = server().await.with_agent("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let operation = queue(&admin, &device).await;
    let (alarm, operation) = (alarm["id"].as_str().unwrap(), operation["id"].as_str().unwrap());

    for (path, change) in [
        (format!("/alarm/alarms/{alarm}"), json!({"severity": "MINOR"})),
        (format!("{OPERATIONS}/{operation}"), json!({"status": "EXECUTING"})),
    ] {
        assert_eq!(keyed(&admin, "PUT", &path, "k-cockpit").json(&change).send().await.status, 200);
    }
    admin.put(&format!("/alarm/alarms/{alarm}"), &json!({"severity": "MAJOR"})).await;

    let expected = [format!("Alarm: {alarm}"), format!("Operation: {operation}")];
    assert_eq!(recorded(&admin, "cockpit").await, expected);
    assert_eq!(server.audit_records(alarm).await.len(), 2, "the change without a key is recorded too");
}

#[tokio::test]
async fn repeated_alarm_that_changes_nothing_but_its_count_names_nobody() {
    let (_server, admin, device) = server().await.with_device("pump").await;

    for _ in 0..2 {
        let raised = keyed(&admin, "POST", "/alarm/alarms", "k-cockpit").json(&alarm_of(&device, "hot"));
        assert_eq!(raised.send().await.status, 201);
    }

    assert_eq!(recorded(&admin, "cockpit").await, [""; 0]);
}

#[tokio::test]
async fn changes_of_users_and_groups_name_the_application() {
    let (server, admin) = server().await.with_admin();
    server.user_with("joe", &[]).await;
    let group = admin.create("/user/main/groups", &json!({"name": "g"})).await["id"].to_string();
    let role = json!({"role": {"id": "ROLE_ALARM_READ"}});

    for (method, path, body, status) in [
        ("POST", "/user/main/users/joe/roles".to_owned(), role.clone(), 201),
        ("PUT", "/user/main/users/joe".into(), json!({"devicePermissions": {"1": ["ALARM:*:READ"]}}), 200),
        ("POST", format!("/user/main/groups/{group}/roles"), role, 201),
        ("POST", format!("/user/main/groups/{group}/users"), json!({"user": {"id": "joe"}}), 201),
    ] {
        keyed(&admin, method, &path, "k-cockpit").json(&body).send().await.expect(status);
    }

    let (user, group) = ("User: joe".to_owned(), format!("Group: {group}"));
    assert_eq!(recorded(&admin, "cockpit").await, [user.clone(), user.clone(), group, user]);
}

#[tokio::test]
async fn every_record_of_a_bulk_change_names_the_application() {
    let (_server, admin, device) = server().await.with_device("pump").await;
    for kind in ["hot", "cold", "wet"] {
        admin.raise_alarm(&device, kind).await;
    }

    let bulk = keyed(&admin, "PUT", &format!("/alarm/alarms?source={device}"), "k-cockpit");
    let status = bulk.json(&json!({"status": "CLEARED"})).send().await.status;

    assert!([200, 202].contains(&status), "{status}");
    until("the records", async || recorded(&admin, "cockpit").await.len() == 3).await;
}

#[tokio::test]
async fn rows_have_the_key_of_their_request() {
    let (_server, admin) = server().await.with_admin();
    let send = async |rows: &str| {
        let request = admin.request("POST", "/s").header("Accept", "text/plain");
        let request = request.header("X-Device-Id", "sn-1").header(KEY, "k-cockpit");
        let answer = request.body(rows).send().await;
        assert_eq!((answer.status, &*answer.text), (200, ""));
    };

    send("100\n301,hot").await;
    send("306,hot").await;

    assert_eq!(recorded(&admin, "cockpit").await.len(), 1, "one alarm was cleared");
}

#[tokio::test]
async fn filter_finds_and_deletes_records_of_the_application_alone() {
    let (server, admin) = server().await.with_admin();
    insert_application(server.database(), "main", "other", "k-other").await;
    super::until_named(&server, "k-other", json!("other")).await;
    named(&admin, "k-cockpit").await;
    admin.create(RECORDS, &record()).await;
    assert_eq!(recorded(&admin, "cockpit").await.len(), 1);

    assert_eq!(admin.delete(&format!("{RECORDS}?application=cockpit")).await.status, 204);

    assert_eq!(recorded(&admin, "cockpit").await.len(), 0);
    assert!(!recorded(&admin, "other").await.is_empty());
}

#[tokio::test]
async fn key_is_known_whoever_owns_the_application() {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    insert_application(&database, "main", "cockpit", "k-cockpit").await;
    let server = TestServer::start_on(&database, |_| {}).await;

    assert_eq!(named(&server.caller("t7/admin", ADMIN_PASSWORD), "k-cockpit").await, "cockpit");
}
