//! The caller's own user (U-13, U-14).

use super::*;

const CURRENT: &str = "/user/currentUser";

#[tokio::test]
async fn current_user_has_effective_roles_and_no_groups() {
    let (server, admin) = with_joe().await;
    let group = admin.create("/user/<tenant>/groups", &json!({"name": "listeners"})).await;
    let path = format!("/user/<tenant>/groups/{}", group["id"]);
    for role in ["ROLE_USER_MANAGEMENT_OWN_READ", "ROLE_ALARM_READ"] {
        admin.create(&format!("{path}/roles"), &json!({"role": {"id": role}})).await;
    }
    admin.create(&format!("{path}/users"), &json!({"user": {"id": "joe"}})).await;

    let answer = server.caller("joe", "secret-1").request("GET", CURRENT).send().await;

    answer.expect_media("currentUser");
    let role = |name: &str| json!({"id": name, "name": name, "self": format!("<base>/user/roles/{name}")});
    let expected = json!({
        "id": "joe", "userName": "joe", "self": "<base>/user/currentUser", "enabled": true,
        "shouldResetPassword": false,
        "lastPasswordChange": "<time>", "devicePermissions": {},
        "effectiveRoles":
            [role("ROLE_ALARM_READ"), role("ROLE_USER_MANAGEMENT_OWN_ADMIN"), role("ROLE_USER_MANAGEMENT_OWN_READ")],
    });
    assert_eq!(redacted(&answer.json(), &[(server.base(), "<base>")]), expected);
}

#[tokio::test]
async fn media_type_of_the_response_decides_its_shape() {
    let server = TestServer::shared().await;
    let joe =
        server.user_with("joe", &["ROLE_USER_MANAGEMENT_OWN_READ", "ROLE_USER_MANAGEMENT_OWN_ADMIN"]).await;
    let shape = |user: &Value| (user.get("roles").is_some(), user.get("effectiveRoles").is_some());

    for (accept, expected) in [
        (format!("{MEDIA}user+json"), (true, false)),
        (format!("{MEDIA}currentUser+json;ver=0.9"), (false, true)),
        ("application/json".into(), (false, true)),
        ("*/*".into(), (false, true)),
    ] {
        let get = joe.request("GET", CURRENT).header("Accept", &accept).send().await;
        let put =
            joe.request("PUT", CURRENT).header("Accept", &accept).body(r#"{"lastName":"D"}"#).send().await;
        assert_eq!((get.status, put.status), (200, 200), "{accept}");
        assert_eq!((shape(&get.json()), shape(&put.json())), (expected, expected), "{accept}");
        assert_eq!(get.header("Content-Type"), put.header("Content-Type"));
    }
    joe.request("GET", CURRENT).header("Accept", &format!("{MEDIA}alarm+json")).send().await.expect(406);
}

#[tokio::test]
async fn own_name_phone_and_mail_are_changed_and_nothing_that_gives_rights() {
    let (server, admin) = with_joe().await;

    let change = json!({"firstName": "Joe", "lastName": "Doe", "phone": "+4915112345678", "email": "a@b",
        "enabled": false, "owner": "admin", "devicePermissions": {"1": ["*:*:*"]}, "customProperties": {"a": 1},
        "effectiveRoles": [], "roles": {}, "groups": {}});
    server.caller("joe", "secret-1").put(CURRENT, &change).await.expect(200);

    let user = admin.read(&format!("{USERS}/joe")).await;
    let read = |name: &str| user[name].clone();
    assert_eq!(
        [read("firstName"), read("lastName"), read("phone"), read("email")],
        ["Joe", "Doe", "+4915112345678", "a@b"]
    );
    assert_eq!(
        (read("enabled"), read("devicePermissions"), read("customProperties")),
        (json!(true), json!({}), json!({}))
    );
    assert!(user.get("owner").is_none());
}

#[tokio::test]
async fn own_password_is_changed() {
    let (server, _admin) = with_joe().await;
    let joe = server.caller("joe", "secret-1");

    assert_eq!(joe.put(CURRENT, &json!({"password": "secret-2"})).await.status, 200);

    until("the end of the old password", async || joe.get(CURRENT).await.status == 401).await;
    assert_eq!(server.caller("joe", "secret-2").get(CURRENT).await.status, 200);
}

#[tokio::test]
async fn own_record_needs_the_own_roles() {
    let server = TestServer::shared().await;
    let reader = server.user_with("reader", &["ROLE_USER_MANAGEMENT_OWN_READ"]).await;
    let writer = server.user_with("writer", &["ROLE_USER_MANAGEMENT_OWN_ADMIN"]).await;
    let other = server.user_with("other", &["ROLE_USER_MANAGEMENT_READ", "ROLE_USER_MANAGEMENT_ADMIN"]).await;

    for (caller, get, put) in [(reader, 200, 403), (writer, 403, 200), (other, 403, 403)] {
        let got = caller.get(CURRENT).await.status;
        let changed = caller.put(CURRENT, &json!({"firstName": "X"})).await.status;
        assert_eq!((got, changed), (get, put));
    }
}

#[tokio::test]
async fn own_record_is_read_by_its_path_too() {
    let server = TestServer::shared().await;
    let joe = server.user_with("joe", &["ROLE_USER_MANAGEMENT_OWN_READ"]).await;

    for path in ["users/joe", "userByName/joe", "users/joe/roles", "users/joe/groups"] {
        assert_eq!(joe.get(&format!("/user/<tenant>/{path}")).await.status, 200, "{path}");
    }
    for path in ["users/admin", "users/admin/roles", "users/admin/groups", "users", "groups"] {
        assert_eq!(joe.get(&format!("/user/<tenant>/{path}")).await.status, 403, "{path}");
    }
    assert_eq!(joe.put(&format!("{USERS}/joe"), &json!({"firstName": "X"})).await.status, 403);
}

#[tokio::test]
async fn another_user_name_and_wrong_values_are_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for body in [
        json!({"userName": "root"}),
        json!({"password": "short"}),
        json!({"phone": "1"}),
        json!({"email": 7}),
    ] {
        admin.put(CURRENT, &body).await.expect(422);
    }
    assert_eq!(admin.put(CURRENT, &json!({"userName": "admin"})).await.status, 200);
}
