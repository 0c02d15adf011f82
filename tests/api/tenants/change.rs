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
async fn id_is_fixed_and_a_later_name_of_the_first_user_has_no_effect() {
    let (server, _) = with_tenant("t7").await;

    let renamed = management(&server).put(T7, &json!({"id": "t8"})).await;
    let other_admin = management(&server).put(T7, &json!({"adminName": "joe"})).await;

    assert_eq!(renamed.status, 422, "{}", renamed.text);
    assert_eq!((other_admin.status, &other_admin.json()["adminName"]), (200, &json!("boss")));
}

#[tokio::test]
async fn taken_domain_is_409() {
    let (server, _) = with_tenant("t7").await;

    let answer = management(&server).put(T7, &json!({"domain": "main.localhost"})).await;

    assert_eq!((answer.status, answer.error().as_str()), (409, "tenants/Duplicate"), "{}", answer.text);
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
async fn password_for_a_first_user_that_is_gone_is_422() {
    let server = TestServer::start().await;

    let answer = management(&server).put("/tenant/tenants/main", &json!({"adminPass": "new-secret"})).await;

    assert_eq!(answer.status, 422, "{}", answer.text);
    assert!(answer.message().contains("adminPass"), "{}", answer.message());
}

#[tokio::test]
async fn wrong_values_are_422_and_change_nothing() {
    let (server, _) = with_tenant("t7").await;
    let before = management(&server).read(T7).await;

    for (member, value) in [
        ("domain", json!("A")),
        ("company", json!("x".repeat(257))),
        ("contactName", json!("x".repeat(31))),
        ("contactPhone", json!(5)),
        ("adminEmail", json!("x")),
        ("adminPass", json!("x")),
        ("status", json!("DELETED")),
        ("allowCreateTenants", json!(1)),
        ("storageLimitPerDevice", json!(-1)),
        ("customProperties", json!(1)),
        ("id", json!({})),
    ] {
        let answer =
            management(&server).put(T7, &json!({"company": "Other", member: value})).await.expect(422);
        assert!(answer.message().contains(member), "{member}: {}", answer.message());
    }
    assert_eq!(management(&server).read(T7).await, before);
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
