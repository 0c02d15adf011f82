//! Changes of smart rules are audited (Y-05, Y-06).

use super::*;
use crate::harness::application_keys::{KEY, insert_application};

async fn create_rule(admin: &Caller) -> String {
    let rule = json!({"type": "plat_SmartRule", "name": "too hot", "enabled": true, "rule": {"above": 80}});
    admin.create(OBJECTS, &rule).await["id"].as_str().unwrap().to_owned()
}

fn change(attribute: &str, kind: &str, previous: Value, new: Value, change_type: &str) -> Value {
    json!({"attribute": attribute, "type": kind, "previousValue": previous, "newValue": new, "changeType": change_type})
}

fn record(activity: &str, changes: Value) -> Value {
    json!({"type": "SmartRule", "activity": activity, "user": "admin", "severity": "warning", "changes": changes})
}

async fn records(database: &TestDatabase, id: &str) -> Vec<Value> {
    database.audit_records(id).await
}

#[tokio::test]
async fn change_of_a_smart_rule_is_recorded_with_what_it_changed() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_rule(&admin).await;
    let path = format!("{OBJECTS}/{id}");
    assert_eq!(records(server.database(), &id).await, Vec::<Value>::new(), "a creation is no change");

    for body in [
        json!({"enabled": false}),
        json!({"enabled": true, "name": "far too hot"}),
        json!({"rule": {"above": 90}, "plat_Note": {}, "name": null}),
        json!({"rule": {"above": 90}}),
        json!({}),
        json!({"plat_Note": null}),
    ] {
        assert_eq!(admin.put(&path, &body).await.status, 200, "{body}");
    }

    let expected = [
        record(
            "Smart rule disabled",
            json!([change("enabled", "Object", json!(true), json!(false), "REPLACED")]),
        ),
        record(
            "Smart rule enabled",
            json!([
                change("enabled", "Object", json!(false), json!(true), "REPLACED"),
                change("name", "String", json!("too hot"), json!("far too hot"), "REPLACED"),
            ]),
        ),
        record(
            "Smart rule updated",
            json!([
                change("name", "String", json!("far too hot"), Value::Null, "REMOVED"),
                change("plat_Note", "Object", Value::Null, json!({}), "ADDED"),
                change("rule", "Object", json!({"above": 80}), json!({"above": 90}), "REPLACED"),
            ]),
        ),
        record(
            "Smart rule updated",
            json!([change("plat_Note", "Object", json!({}), Value::Null, "REMOVED")]),
        ),
    ];
    assert_eq!(records(server.database(), &id).await, expected);
    let listed = admin.read(&format!("{RECORDS}?type=SmartRule&source={id}")).await;
    let listed = listed["auditRecords"].as_array().unwrap();
    assert_eq!(listed.len(), 4);
    assert_eq!(listed[0]["text"], "Smart rule disabled");
    assert!(listed[0]["source"]["self"].as_str().unwrap().ends_with(&path), "{}", listed[0]);
}

#[tokio::test]
async fn becoming_and_ceasing_to_be_a_smart_rule_is_recorded_and_other_objects_are_not() {
    let (server, admin, id) = TestServer::start().await.with_device("pump").await;
    let path = format!("{OBJECTS}/{id}");

    for kind in [json!("plat_Other"), json!("plat_SmartRule"), json!("plat_Other"), Value::Null] {
        assert_eq!(admin.put(&path, &json!({"type": kind, "note": kind})).await.status, 200);
    }

    let found = records(server.database(), &id).await;
    let to = |record: &Value| record["changes"][1]["newValue"].clone();
    assert_eq!(found.iter().map(to).collect::<Vec<_>>(), [json!("plat_SmartRule"), json!("plat_Other")]);
}

#[tokio::test]
async fn user_and_application_of_a_change_are_recorded_and_a_transient_one_is_not() {
    let database = TestDatabase::create().await;
    insert_application(&database, "main", "rules", "rules-key").await;
    let (_server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    let path = format!("{OBJECTS}/{}", create_rule(&admin).await);
    let change = |name: &str| json!({"name": name});

    let keyed = admin.request("PUT", &path).header(KEY, "rules-key");
    assert_eq!(keyed.json(&change("a")).send().await.status, 200);
    let transient = admin.request("PUT", &path).header("X-Platform-Processing-Mode", "TRANSIENT");
    assert_eq!(transient.json(&change("b")).send().await.status, 200);

    let listed = admin.read(&format!("{RECORDS}?type=SmartRule")).await;
    let [record] = &listed["auditRecords"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&record["user"], &record["application"]), (&json!("admin"), &json!("rules")));
    assert_eq!(record["changes"][0]["newValue"], "a");
}
