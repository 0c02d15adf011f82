//! Changes of rights are audited in the transaction of the change (Y-05, X-24).

use super::*;

fn record(kind: &str, attribute: &str, value_type: &str, previous: Value, new: Value) -> Value {
    json!({"type": kind, "activity": format!("{kind} update"), "user": "admin", "severity": "warning", "changes": [
        {"attribute": attribute, "type": value_type, "previousValue": previous, "newValue": new,
            "changeType": "REPLACED"}
    ]})
}

#[tokio::test]
async fn roles_groups_and_device_permissions_of_a_user_are_audited() {
    let (server, admin) = TestServer::shared().await.with_admin();
    server.user_with("joe", &["ROLE_EVENT_READ"]).await;

    super::assign(&admin, "joe", "ROLE_ALARM_READ").await;
    admin.delete(&format!("{USERS}/joe/roles/ROLE_EVENT_READ")).await;
    admin.create("/user/<tenant>/groups/3/users", &json!({"user": {"id": "joe"}})).await;
    admin.delete("/user/<tenant>/groups/3/users/joe").await;
    admin.put(&format!("{USERS}/joe"), &json!({"devicePermissions": {"1": ["ALARM:*:READ"]}})).await;

    let both = json!(["ROLE_ALARM_READ", "ROLE_EVENT_READ"]);
    let expected = [
        record("User", "roles", "Array", json!(["ROLE_EVENT_READ"]), both.clone()),
        record("User", "roles", "Array", both, json!(["ROLE_ALARM_READ"])),
        record("User", "groups", "Array", json!([]), json!(["business"])),
        record("User", "groups", "Array", json!(["business"]), json!([])),
        record("User", "devicePermissions", "Object", json!({}), json!({"1": ["ALARM:*:READ"]})),
    ];
    assert_eq!(server.audit_records("joe").await, expected);
}

#[tokio::test]
async fn roles_and_device_permissions_of_a_group_are_audited() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let id = admin.create("/user/<tenant>/groups", &json!({"name": "g"})).await["id"].to_string();
    let path = format!("/user/<tenant>/groups/{id}");

    admin.create(&format!("{path}/roles"), &json!({"role": {"id": "ROLE_ALARM_READ"}})).await;
    admin.put(&path, &json!({"devicePermissions": {"1": ["ALARM:*:READ"]}})).await;
    admin.delete(&format!("{path}/roles/ROLE_ALARM_READ")).await;

    let held = json!(["ROLE_ALARM_READ"]);
    let name = json!({"attribute": "name", "type": "String", "previousValue": null, "newValue": "g",
        "changeType": "ADDED"});
    let expected = [
        of("Group", "Group created", vec![name]),
        record("Group", "roles", "Array", json!([]), held.clone()),
        record("Group", "devicePermissions", "Object", json!({}), json!({"1": ["ALARM:*:READ"]})),
        record("Group", "roles", "Array", held, json!([])),
    ];
    assert_eq!(server.audit_records(&id).await, expected);
}

/// A record of an activity with these changes.
fn of(kind: &str, activity: &str, changes: Vec<Value>) -> Value {
    json!({"type": kind, "activity": activity, "user": "admin", "severity": "warning", "changes": changes})
}

#[tokio::test]
async fn life_of_a_user_is_audited_without_its_passwords() {
    let (server, admin) = with_joe().await;
    let path = format!("{USERS}/joe");
    admin.put(&path, &json!({"password": "secret-2"})).await.expect(200);
    admin.put(&path, &json!({"enabled": false})).await.expect(200);
    admin.put(&path, &json!({"owner": "admin"})).await.expect(200);
    admin.delete(&path).await.expect(204);

    let change = |attribute: &str, previous: Value, new: Value, how: &str| {
        json!({"attribute": attribute, "type": "String", "previousValue": previous, "newValue": new,
            "changeType": how})
    };
    let own = json!(["ROLE_USER_MANAGEMENT_OWN_ADMIN", "ROLE_USER_MANAGEMENT_OWN_READ"]);
    let roles = |previous: Value, new: Value| {
        json!({"attribute": "roles", "type": "Array", "previousValue": previous, "newValue": new,
            "changeType": "REPLACED"})
    };
    let expected = [
        of("User", "User created", vec![roles(json!([]), own.clone())]),
        of("User", "User update", vec![change("password", Value::Null, Value::Null, "REPLACED")]),
        of("User", "User update", vec![change("enabled", json!("true"), json!("false"), "REPLACED")]),
        of("User", "User update", vec![change("owner", Value::Null, json!("admin"), "ADDED")]),
        of("User", "User deleted", vec![roles(own, json!([]))]),
    ];
    assert_eq!(server.audit_records("joe").await, expected);
    let page = admin.read("/audit/auditRecords?type=User&pageSize=100").await;
    assert!(!page.to_string().contains("secret"), "{page}");
}

#[tokio::test]
async fn user_with_the_name_of_a_deleted_one_is_audited_with_the_objects_it_owns() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_INVENTORY_CREATE"]).await;
    for _ in 0..3 {
        joe.create_device("pump").await;
    }
    admin.delete(&format!("{USERS}/joe")).await.expect(204);

    create(&admin, "joe").await;

    let records = server.audit_records("joe").await;
    let created = records.last().unwrap();
    let owned = json!({"attribute": "ownedObjects", "type": "String", "previousValue": null, "newValue": "3",
        "changeType": "ADDED"});
    assert_eq!((&created["activity"], &created["changes"][0]), (&json!("User created"), &owned));
}

#[tokio::test]
async fn deletion_and_new_name_of_a_group_are_audited() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let id = admin.create("/user/<tenant>/groups", &json!({"name": "g"})).await["id"].to_string();
    let path = format!("/user/<tenant>/groups/{id}");
    admin.put(&path, &json!({"name": "h"})).await.expect(200);
    admin.delete(&path).await.expect(204);

    let records = server.audit_records(&id).await;
    let activities: Vec<&Value> = records.iter().map(|record| &record["activity"]).collect();
    assert_eq!(activities, ["Group created", "Group update", "Group deleted"]);
    assert_eq!(records[1], record("Group", "name", "String", json!("g"), json!("h")));
}

#[tokio::test]
async fn other_and_idle_changes_are_not_audited() {
    let (server, admin) = with_joe().await;
    let path = format!("{USERS}/joe");

    admin.put(&path, &json!({"firstName": "Joe", "enabled": true})).await;
    admin.put(&path, &json!({"devicePermissions": {}})).await;
    super::assign(&admin, "joe", "ROLE_USER_MANAGEMENT_OWN_READ").await;
    admin.put("/user/<tenant>/groups/3", &json!({"description": "d", "devicePermissions": {}})).await;
    admin.delete(&format!("{path}/roles/ROLE_ALARM_READ")).await;
    admin.post(&format!("{path}/roles"), &json!({"role": {"id": "ROLE_KING"}})).await;

    assert_eq!(server.count("audit_records").await, 1, "only that the user was created");
}
