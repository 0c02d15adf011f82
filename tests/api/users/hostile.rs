//! Hostile inputs: always 4xx, never 5xx (U-08).

use super::*;

#[tokio::test]
async fn bodies_of_wrong_form_are_400_or_422_and_create_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for (body, status) in [
        ("", 422),
        ("{", 400),
        ("[]", 400),
        ("7", 400),
        ("{}", 422),
        (r#"{"userName":"joe"}"#, 422),
        (r#"{"password":"secret-1"}"#, 422),
        (r#"{"userName":7,"password":"secret-1"}"#, 422),
        (r#"{"userName":"jo e","password":"secret-1"}"#, 422),
        (r#"{"userName":"jo/e","password":"secret-1"}"#, 422),
        (r#"{"userName":"jo\u0000e","password":"secret-1"}"#, 422),
        (r#"{"userName":"jo\ud800e","password":"secret-1"}"#, 422),
        (r#"{"userName":"joe","password":"12345"}"#, 422),
        (r#"{"userName":"joe","password":{}}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","enabled":"yes"}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","phone":"123"}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","email":"x"}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","firstName":{}}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","customProperties":7}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","customProperties":{"a":1e999}}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","devicePermissions":{"1":["ALARM:READ"]}}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","devicePermissions":{"x":[]}}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","owner":"nobody"}"#, 422),
        (r#"{"userName":"joe","password":"secret-1","owner":"joe"}"#, 422),
    ] {
        admin.request("POST", USERS).body(body).send().await.expect(status);
    }
    assert_eq!(server.rows("SELECT 1 FROM users WHERE tenant = $1 AND name = 'joe'", &[]).await.len(), 0);
}

#[tokio::test]
async fn refused_password_is_not_repeated() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for password in [json!("pq"), json!(424_242_424_242_i64), json!(["pqpqpqpq"]), json!("pq".repeat(20))] {
        let answer = admin.post(USERS, &json!({"userName": "joe", "password": password})).await.expect(422);
        assert!(!answer.text.contains("4242") && !answer.text.contains("pq"), "{}", answer.text);
    }
}

#[tokio::test]
async fn names_in_paths_that_nobody_can_have_are_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let long = "x".repeat(5000);

    for name in ["%00", "a%00b", "a%2Fb", "%FF", "a%20b", "%EF%BC%A1", "a:b", &long] {
        for path in [
            format!("{USERS}/{name}"),
            format!("/user/<tenant>/userByName/{name}"),
            format!("{USERS}/{name}/roles"),
            format!("{USERS}/{name}/groups"),
        ] {
            admin.get(&path).await.expect(404);
        }
        for path in [format!("{USERS}/{name}"), format!("/user/<tenant>/groups/1/users/{name}")] {
            assert_eq!(admin.delete(&path).await.status, 404, "{path}");
        }
        admin.put(&format!("{USERS}/{name}"), &json!({})).await.expect(404);
    }
}

#[tokio::test]
async fn name_of_1000_characters_works_everywhere_and_1001_are_422() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let longest = "x".repeat(1000);

    let user = super::create(&admin, &longest).await;
    let link = user["self"].as_str().unwrap();
    super::assign(&admin, &longest, "ROLE_ALARM_READ").await;
    admin.create("/user/<tenant>/groups/3/users", &json!({"user": {"self": link}})).await;
    let sub = json!({"userName": "y".repeat(1000), "password": "secret-1", "owner": longest});
    admin.create(USERS, &sub).await;
    assert_eq!(admin.put(link, &json!({"password": "secret-2"})).await.status, 200);
    assert_eq!(server.caller(&longest, "secret-2").get("/alarm/alarms").await.status, 200);
    assert_eq!(admin.delete(link).await.status, 204);

    admin.post(USERS, &json!({"userName": "x".repeat(1001), "password": "secret-1"})).await.expect(422);
}

#[tokio::test]
async fn many_device_permissions_are_bounded() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let entries: Vec<_> = (0..10_001).map(|n| format!("ALARM:f{n}:READ")).collect();

    let body = json!({"userName": "joe", "password": "secret-1", "devicePermissions": {"1": entries}});
    admin.post(USERS, &body).await.expect(422);
}

#[tokio::test]
async fn members_of_wrong_form_are_422() {
    let server = TestServer::start().await;
    server.user_with("joe", &[]).await;

    for body in [
        "{}",
        r#"{"user":"joe"}"#,
        r#"{"user":{}}"#,
        r#"{"user":{"id":7}}"#,
        r#"{"user":{"id":"nobody"}}"#,
        r#"{"user":{"self":"http://x/user/management/users/admin"}}"#,
        r#"{"user":{"self":"http://x/user/main/users/%00"}}"#,
        r#"{"user":{"self":""}}"#,
    ] {
        server.admin().request("POST", "/user/main/groups/3/users").body(body).send().await.expect(422);
    }
    for body in ["{}", r#"{"role":7}"#, r#"{"role":{"id":"ROLE_KING"}}"#, r#"{"role":{"self":"x"}}"#] {
        for path in [format!("{USERS}/joe/roles"), "/user/main/groups/3/roles".into()] {
            server.admin().request("POST", &path).body(body).send().await.expect(422);
        }
    }
}
