//! `PUT /tenant/tenants/<id>`.

use super::*;

const T7: &str = "/tenant/tenants/t7";

#[tokio::test]
async fn put_changes_only_what_was_sent() {
    let (server, _) = with_tenant("t7").await;
    let mut expected = management(&server).read(T7).await;

    for (member, value) in [
        ("company", json!("Other")),
        ("contactName", json!("Joe")),
        ("contactPhone", json!("123")),
        ("adminEmail", json!("joe@example.com")),
        ("allowCreateTenants", json!(true)),
        ("storageLimitPerDevice", json!(7)),
        ("customProperties", json!({"a": [1]})),
        ("domain", json!("moved.example.com")),
    ] {
        expected[member] = value.clone();
        let answer = management(&server).put(T7, &json!({member: value})).await;
        assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{member}");
    }
    assert_eq!(management(&server).read(T7).await, expected);
}

#[tokio::test]
async fn null_removes_what_may_be_absent() {
    let (server, _) = with_tenant("t7").await;
    let given = json!({"contactName": "Joe", "contactPhone": "1", "customProperties": {"a": 1}});
    management(&server).put(T7, &given).await;

    let nulls = json!({"contactName": null, "contactPhone": null, "customProperties": null});
    let tenant = management(&server).put(T7, &nulls).await.json();

    assert_eq!((&tenant["contactName"], &tenant["contactPhone"]), (&Value::Null, &Value::Null));
    assert_eq!(tenant["customProperties"], json!({}));
    for member in ["domain", "company", "status"] {
        management(&server).put(T7, &json!({member: null})).await.expect(422);
    }
}

#[tokio::test]
async fn what_was_read_can_be_sent_back_and_ends_no_session() {
    let (server, boss) = with_tenant("t7").await;
    let session = boss.listen("/alarms/*").await;
    let tenant = management(&server).read(T7).await;

    let answer = management(&server).put(T7, &tenant).await;

    assert_eq!((answer.status, answer.json()), (200, tenant), "{}", answer.text);
    // Announcements arrive in the order of commits, so this one would arrive later.
    let marker = create_tenant(&server, "t8").await.session().await;
    management(&server).put("/tenant/tenants/t8", &json!({"domain": "moved.example.com"})).await;
    until("the end of the other session", async || !marker.is_known().await).await;
    assert!(session.is_known().await);
}

#[tokio::test]
async fn wrong_values_are_refused_and_change_nothing() {
    let (server, _) = with_tenant("t7").await;
    let before = management(&server).read(T7).await;

    check_rows(
        [
            ("invalid domain", ("domain", json!("A"), 422)),
            ("taken domain", ("domain", json!("main.localhost"), 409)),
            ("long company", ("company", json!("x".repeat(257)), 422)),
            ("long name of the contact", ("contactName", json!("x".repeat(31)), 422)),
            ("phone that is a number", ("contactPhone", json!(5), 422)),
            ("invalid mail", ("adminEmail", json!("x"), 422)),
            ("short password", ("adminPass", json!("x"), 422)),
            ("unknown status", ("status", json!("DELETED"), 422)),
            ("right that is a number", ("allowCreateTenants", json!(1), 422)),
            ("negative limit", ("storageLimitPerDevice", json!(-1), 422)),
            ("properties that are a number", ("customProperties", json!(1), 422)),
            ("id that is an object", ("id", json!({}), 422)),
            ("another id", ("id", json!("t8"), 422)),
        ],
        async |(member, value, status)| {
            let change = json!({"company": "Other", member: value});
            let answer = management(&server).put(T7, &change).await.expect(status);
            assert!(status == 409 || answer.message().contains(member), "{}", answer.message());
            assert!(status == 422 || answer.error() == "tenants/Duplicate", "{}", answer.text);
        },
    )
    .await;
    assert_eq!(management(&server).read(T7).await, before);
    let other_admin = management(&server).put(T7, &json!({"adminName": "joe"})).await.expect(200);
    assert_eq!(other_admin.json()["adminName"], "boss", "a later name of the first user has no effect");
    let password = json!({"adminPass": "new-secret"});
    management(&server).put("/tenant/tenants/main", &password).await.expect_message(422, "adminPass");
}

#[tokio::test]
async fn new_domain_counts_and_the_old_one_no_more() {
    let (server, _) = with_tenant("t7").await;
    let boss = server.caller("boss", ADMIN_PASSWORD);
    let at = async |host: &str| {
        boss.request("GET", "/tenant/currentTenant").header("Host", host).send().await.status
    };
    until("the domain", async || at("plant-t7.example.com").await == 200).await;

    management(&server).put(T7, &json!({"domain": "moved.example.com"})).await;

    until("the new domain", async || at("moved.example.com").await == 200).await;
    assert_eq!(at("plant-t7.example.com").await, 401, "the default tenant has no such user");
}

#[tokio::test]
async fn new_password_of_the_first_user_counts_at_once() {
    let (server, boss) = with_tenant("t7").await;
    assert_eq!(boss.get("/tenant/currentTenant").await.status, 200);

    let answer = management(&server).put(T7, &json!({"adminPass": "new-secret"})).await.expect(200);

    assert!(!answer.text.contains("new-secret"), "{}", answer.text);
    until("the end of the old password", async || boss.get("/tenant/currentTenant").await.status == 401)
        .await;
    assert_eq!(server.caller("t7/boss", "new-secret").get("/tenant/currentTenant").await.status, 200);
}

#[tokio::test]
async fn only_admin_and_update_roles_may_change() {
    let (server, _) = with_tenant("t7").await;

    for (role, status) in [
        ("ROLE_TENANT_MANAGEMENT_ADMIN", 200),
        ("ROLE_TENANT_MANAGEMENT_UPDATE", 200),
        ("ROLE_TENANT_MANAGEMENT_CREATE", 403),
        ("ROLE_TENANT_MANAGEMENT_READ", 403),
    ] {
        let caller = manager_with(&server, role, &[role]).await;
        assert_eq!(caller.put(T7, &json!({"company": role})).await.status, status, "{role}");
    }
}
