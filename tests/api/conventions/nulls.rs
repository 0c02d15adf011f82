//! JSON nulls (docs/rules.md#bodies-and-media-types; C-10).

use super::*;

#[tokio::test]
async fn null_removes_a_member_and_nested_values_are_replaced_as_a_whole() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    check_rows(
        [
            (
                "null on PUT removes, and other fragments stay",
                (
                    json!({"name": "pump", "type": "t", "plat_A": {"x": 1}, "plat_B": [1, 2], "plat_C": 3}),
                    json!({"type": null, "plat_A": null, "plat_Unknown": null, "plat_D": {"y": 2}}),
                    json!({"name": "pump", "plat_B": [1, 2], "plat_C": 3, "plat_D": {"y": 2}}),
                ),
            ),
            (
                "nested values",
                (
                    json!({"plat_A": {"x": 1, "deep": {"a": 1, "b": 2}}}),
                    json!({"plat_A": {"deep": {"b": null}}}),
                    json!({"plat_A": {"deep": {"b": null}}}),
                ),
            ),
            (
                "null on POST counts as absent",
                (
                    json!({"name": null, "type": null, "plat_A": null, "plat_B": {"x": null}}),
                    json!({}),
                    json!({"plat_B": {"x": null}}),
                ),
            ),
        ],
        async |(object, change, expected)| {
            let created = admin.create(OBJECTS, &object).await;
            let link = created["self"].as_str().unwrap();
            let changed = admin.put(link, &change).await.json();
            assert_eq!(without(&changed, &SERVER_MEMBERS), expected);
            assert_eq!(admin.read(link).await, changed);
        },
    )
    .await;
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
