//! Who may read and write audit records (document 2, Audit; U-12).

use serde_json::json;

use super::{RECORDS, record_of};
use crate::harness::{TestServer, ids};

#[tokio::test]
async fn each_role_opens_its_own_methods_only() {
    let server = TestServer::start().await;
    let link =
        server.admin().create(RECORDS, &record_of("Door", "1")).await["self"].as_str().unwrap().to_owned();

    for (user, role, read, create, delete) in [
        ("nobody", "ROLE_ALARM_READ", 403, 403, 403),
        ("reader", "ROLE_AUDIT_READ", 200, 403, 403),
        ("writer", "ROLE_AUDIT_ADMIN", 403, 201, 204),
    ] {
        let caller = server.user_with(user, &[role]).await;
        assert_eq!(caller.get(&link).await.status, read, "{role}");
        assert_eq!(caller.get(RECORDS).await.status, read, "{role}");
        assert_eq!(caller.post(RECORDS, &record_of("Door", "1")).await.status, create, "{role}");
        assert_eq!(caller.delete(RECORDS).await.status, delete, "{role}");
    }
}

#[tokio::test]
async fn records_of_another_tenant_are_absent() {
    let database = crate::harness::TestDatabase::create().await;
    database.insert_tenant("plant7", "plant7.example.com").await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let link =
        server.admin().create(RECORDS, &record_of("Door", "1")).await["self"].as_str().unwrap().to_owned();
    let stranger = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);

    assert_eq!(stranger.get(&link).await.status, 404);
    assert_eq!(stranger.read(RECORDS).await["auditRecords"], json!([]));
}

#[tokio::test]
async fn device_permission_opens_the_records_of_that_object_only() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let (device, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    let of_device = admin.create(RECORDS, &record_of("SmartRule", &device)).await;
    let of_other = admin.create(RECORDS, &record_of("SmartRule", &other)).await;
    // A user may be named like a device.
    let of_user = admin.create(RECORDS, &record_of("User", &device)).await;
    let caller = server.user_with("joe", &[]).await;
    let permissions = json!({&device: ["AUDIT:*:READ"]});
    let statement = "UPDATE users SET device_permissions = $1 WHERE tenant = 'main' AND name = 'joe'";
    server.database().execute(statement, &[&permissions]).await;

    let list = caller.read(&format!("{RECORDS}?source={device}")).await;

    assert_eq!(ids(&list, "auditRecords"), [of_device["id"].as_str().unwrap()]);
    for query in ["".to_owned(), format!("?source={other}"), "?source=4711".into(), "?source=joe".into()] {
        assert_eq!(caller.get(&format!("{RECORDS}{query}")).await.status, 403, "{query}");
    }
    for (record, status) in [(of_device, 200), (of_other, 403), (of_user, 403)] {
        assert_eq!(caller.get(record["self"].as_str().unwrap()).await.status, status, "{record}");
    }
    assert_eq!(caller.post(RECORDS, &record_of("SmartRule", &device)).await.status, 403);
    assert_eq!(caller.delete(&format!("{RECORDS}?source={device}")).await.status, 403);
}

#[tokio::test]
async fn owner_of_the_object_may_not_read_its_records() {
    let server = TestServer::start().await;
    let owner = server.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await;
    let device = owner.create_device("pump").await;
    let record = server.admin().create(RECORDS, &record_of("SmartRule", &device)).await;

    assert_eq!(owner.get(record["self"].as_str().unwrap()).await.status, 403);
    assert_eq!(owner.get(&format!("{RECORDS}?source={device}")).await.status, 403);
}

#[tokio::test]
async fn role_comes_before_the_body_and_the_parameters() {
    let server = TestServer::start().await;
    let caller = server.user_with("joe", &["ROLE_AUDIT_READ"]).await;

    assert_eq!(caller.request("POST", RECORDS).body("{").send().await.status, 403);
    assert_eq!(caller.delete(&format!("{RECORDS}?dateFrom=x")).await.status, 403);
}
