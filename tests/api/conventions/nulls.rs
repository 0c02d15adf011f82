//! JSON nulls (docs/rules.md#bodies-and-media-types; C-10).

use super::*;

#[tokio::test]
async fn null_on_put_removes_and_other_fragments_stay() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let object = json!({"name": "pump", "type": "t", "plat_A": {"x": 1}, "plat_B": [1, 2], "plat_C": 3});
    let created = admin.create("/inventory/managedObjects", &object).await;

    let change = json!({"type": null, "plat_A": null, "plat_Unknown": null, "plat_D": {"y": 2}});
    let changed = admin.put(created["self"].as_str().unwrap(), &change).await.json();

    let expected = json!({"name": "pump", "plat_B": [1, 2], "plat_C": 3, "plat_D": {"y": 2}});
    assert_eq!(without(&changed, &SERVER_MEMBERS), expected);
    assert_eq!(admin.read(created["self"].as_str().unwrap()).await, changed);
}

#[tokio::test]
async fn nested_values_are_replaced_as_a_whole() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let object = json!({"plat_A": {"x": 1, "deep": {"a": 1, "b": 2}}});
    let created = admin.create("/inventory/managedObjects", &object).await;

    let change = json!({"plat_A": {"deep": {"b": null}}});
    let changed = admin.put(created["self"].as_str().unwrap(), &change).await.json();

    assert_eq!(changed["plat_A"], json!({"deep": {"b": null}}));
}

#[tokio::test]
async fn null_on_post_counts_as_absent() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let object = json!({"name": null, "type": null, "plat_A": null, "plat_B": {"x": null}});
    let created = admin.create("/inventory/managedObjects", &object).await;

    assert_eq!(without(&created, &SERVER_MEMBERS), json!({"plat_B": {"x": null}}));
}

#[tokio::test]
async fn null_for_a_mandatory_member_of_an_alarm_counts_as_missing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let body = json!({"type": "t", "time": "2024-03-10T02:30:00Z", "text": null, "severity": "MAJOR", "source": null});

    let answer = admin.post("/alarm/alarms", &body).await.expect(422);

    assert_eq!(answer.message(), "Following mandatory fields should be included: text,source");
}

#[tokio::test]
async fn null_on_put_of_an_alarm_removes_fragments_and_leaves_fixed_members() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut body = crate::harness::alarm_of(&admin.create_device("pump").await, "hot");
    body["plat_A"] = json!({"x": 1});
    let alarm = admin.create("/alarm/alarms", &body).await;

    let change = json!({"plat_A": null, "text": null, "severity": null, "status": null});
    let changed = admin.put(alarm["self"].as_str().unwrap(), &change).await.json();

    assert_eq!(changed, without(&alarm, &["plat_A"]));
}
