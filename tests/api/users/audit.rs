//! Changes of rights are audited in the transaction of the change (Y-05, X-24).

use serde_json::{Value, json};

use super::{USERS, create};
use crate::harness::TestServer;

fn record(kind: &str, attribute: &str, value_type: &str, previous: Value, new: Value) -> Value {
    json!({"type": kind, "activity": format!("{kind} update"), "user": "admin", "severity": "warning", "changes": [
        {"attribute": attribute, "type": value_type, "previousValue": previous, "newValue": new,
            "changeType": "REPLACED"}
    ]})
}

#[tokio::test]
async fn roles_groups_and_device_permissions_of_a_user_are_audited() {
    let (server, admin) = TestServer::start().await.with_admin();
    server.user_with("joe", &["ROLE_EVENT_READ"]).await;

    super::assign(&admin, "joe", "ROLE_ALARM_READ").await;
    admin.delete(&format!("{USERS}/joe/roles/ROLE_EVENT_READ")).await;
    admin.create("/user/main/groups/3/users", &json!({"user": {"id": "joe"}})).await;
    admin.delete("/user/main/groups/3/users/joe").await;
    admin.put(&format!("{USERS}/joe"), &json!({"devicePermissions": {"1": ["ALARM:*:READ"]}})).await;

    let both = json!(["ROLE_ALARM_READ", "ROLE_EVENT_READ"]);
    let expected = [
        record("User", "roles", "Array", json!(["ROLE_EVENT_READ"]), both.clone()),
        record("User", "roles", "Array", both, json!(["ROLE_ALARM_READ"])),
        record("User", "groups", "Array", json!([]), json!(["business"])),
        record("User", "groups", "Array", json!(["business"]), json!([])),
        record("User", "devicePermissions", "Object", json!({}), json!({"1": ["ALARM:*:READ"]})),
    ];
    assert_eq!(server.database().audit_records("joe").await, expected);
}

#[tokio::test]
async fn roles_and_device_permissions_of_a_group_are_audited() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = admin.create("/user/main/groups", &json!({"name": "g"})).await["id"].to_string();
    let path = format!("/user/main/groups/{id}");

    admin.create(&format!("{path}/roles"), &json!({"role": {"id": "ROLE_ALARM_READ"}})).await;
    admin.put(&path, &json!({"devicePermissions": {"1": ["ALARM:*:READ"]}})).await;
    admin.delete(&format!("{path}/roles/ROLE_ALARM_READ")).await;

    let held = json!(["ROLE_ALARM_READ"]);
    let expected = [
        record("Group", "roles", "Array", json!([]), held.clone()),
        record("Group", "devicePermissions", "Object", json!({}), json!({"1": ["ALARM:*:READ"]})),
        record("Group", "roles", "Array", held, json!([])),
    ];
    assert_eq!(server.database().audit_records(&id).await, expected);
}

#[tokio::test]
async fn other_and_idle_changes_are_not_audited() {
    let (server, admin) = TestServer::start().await.with_admin();
    create(&admin, "joe").await;
    let path = format!("{USERS}/joe");

    admin.put(&path, &json!({"firstName": "Joe", "password": "secret-2", "enabled": false})).await;
    admin.put(&path, &json!({"devicePermissions": {}})).await;
    super::assign(&admin, "joe", "ROLE_USER_MANAGEMENT_OWN_READ").await;
    admin.put("/user/main/groups/3", &json!({"description": "d", "devicePermissions": {}})).await;
    admin.delete(&format!("{path}/roles/ROLE_ALARM_READ")).await;
    admin.post(&format!("{path}/roles"), &json!({"role": {"id": "ROLE_KING"}})).await;

    assert_eq!(server.database().count("audit_records").await, 0);
}
