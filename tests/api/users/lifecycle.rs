//! Creating, reading, changing and deleting (U-05 to U-08, U-16).

use super::*;

#[tokio::test]
async fn new_user_is_enabled_with_two_roles_for_its_own_record_and_no_group() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let body = json!({"userName": "Joe@example.com", "password": "secret-1", "firstName": "Joe",
        "phone": "+4915112345678",
        "email": "joe@example.com", "displayName": "Joe D.", "customProperties": {"a": [1.0]}});
    let answer = admin.post(USERS, &body).await.expect(201);

    let link = server.link(&format!("{USERS}/Joe@example.com"));
    assert_eq!(answer.header("Location"), Some(&*link));
    let role = |name: &str| {
        json!({"self": format!("<user>/roles/{name}"),
            "role": {"id": name, "name": name, "self": format!("<base>/user/roles/{name}")}})
    };
    let expected = json!({
        "id": "Joe@example.com", "userName": "Joe@example.com", "self": "<user>", "firstName": "Joe",
        "displayName": "Joe D.", "phone": "+4915112345678", "email": "joe@example.com", "enabled": true,
        "shouldResetPassword": false, "lastPasswordChange": "<time>", "devicePermissions": {},
        "twoFactorAuthenticationEnabled": false, "customProperties": {"a": [1.0]},
        "groups": {"self": "<user>/groups", "references": []},
        "roles": {"self": "<user>/roles", "references":
            [role("ROLE_USER_MANAGEMENT_OWN_ADMIN"), role("ROLE_USER_MANAGEMENT_OWN_READ")]},
    });
    assert_eq!(redacted(&answer.json(), &[(&link, "<user>"), (server.base(), "<base>")]), expected);
    assert_eq!(admin.read(&link).await, answer.json());
}

#[tokio::test]
async fn media_types_of_users_are_understood_and_others_refused() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let send = async |method: &str, path: &str, sent: &str, accepted: &str| {
        let request = admin.request(method, path).header("Content-Type", sent).header("Accept", accepted);
        request.body(r#"{"userName": "joe", "password": "secret-1"}"#).send().await
    };
    let user = format!("{MEDIA}user+json;ver=0.9");

    let created = send("POST", USERS, &user, &user).await.expect(201);
    created.expect_media("user");
    let page = admin.request("GET", USERS).send().await;
    page.expect_media("userCollection");
    assert_eq!(send("POST", USERS, &format!("{MEDIA}group+json"), &user).await.status, 415);
    assert_eq!(send("POST", USERS, &user, &format!("{MEDIA}alarm+json")).await.status, 406);
}

#[tokio::test]
async fn created_user_logs_in_with_its_password_which_is_never_returned() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let created = create(&admin, "joe").await;

    assert!(!created.to_string().contains("secret-1") && created.get("password").is_none(), "{created}");
    assert_eq!(server.caller("joe", "secret-1").get("/user/currentUser").await.status, 200);
    assert_eq!(server.caller("joe", "secret-2").get("/user/currentUser").await.status, 401);
    let stored: String =
        server.rows("SELECT password_hash FROM users WHERE tenant = $1 AND name = 'joe'", &[]).await[0]
            .get(0);
    assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
}

#[tokio::test]
async fn account_without_password_is_used_by_nobody_until_it_gets_one() {
    let (server, admin) = TestServer::shared().await.with_admin();
    admin.create(USERS, &json!({"userName": "joe", "sendPasswordResetEmail": true})).await;

    for password in ["", "null", "secret-1"] {
        assert_eq!(server.caller("joe", password).get("/user/currentUser").await.status, 401, "{password}");
    }
    admin.put(&format!("{USERS}/joe"), &json!({"password": "secret-1"})).await.expect(200);

    assert_eq!(server.caller("joe", "secret-1").get("/user/currentUser").await.status, 200);
}

#[tokio::test]
async fn user_is_found_by_id_and_by_name_in_exactly_its_case() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let created = create(&admin, "Joe").await;

    assert_eq!(admin.read("/user/<tenant>/userByName/Joe").await, created);
    for path in ["/user/<tenant>/userByName/joe", "/user/<tenant>/users/joe", "/user/<tenant>/users/nobody"] {
        admin.get(path).await.expect_error(404, "user/Not Found");
    }
}

#[tokio::test]
async fn links_of_names_with_special_characters_lead_to_the_user() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for name in [
        "jo é".replace(' ', "%"),
        "a?b#c".into(),
        "a&b=c;d".into(),
        "日本".into(),
        "a\"b\\c".into(),
        "..a".into(),
    ] {
        let created = create(&admin, &name).await;
        let read = admin.read(created["self"].as_str().unwrap()).await;
        assert_eq!((read["userName"].as_str(), &read), (Some(&*name), &created));
        let roles = read["roles"]["references"][0]["self"].as_str().unwrap();
        assert_eq!(admin.delete(roles).await.status, 204, "{roles}");
    }
}

#[tokio::test]
async fn second_user_of_a_name_is_409() {
    let (server, admin) = with_joe().await;

    let answer = admin.post(USERS, &json!({"userName": "joe", "password": "secret-2"})).await;

    assert_eq!((answer.status, answer.error()), (409, "user/Duplicate".into()), "{}", answer.text);
    assert_eq!(server.caller("joe", "secret-1").get("/user/currentUser").await.status, 200);
}

#[tokio::test]
async fn put_changes_what_was_sent_and_null_removes() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let body = json!({"userName": "joe", "password": "secret-1", "firstName": "Joe", "lastName": "Doe",
        "email": "a@b", "customProperties": {"a": 1}});
    let before = admin.create(USERS, &body).await;

    let change =
        json!({"lastName": null, "email": "c@d", "customProperties": {"b": 2}, "id": "other", "roles": 7});
    let answer = admin.put(before["self"].as_str().unwrap(), &change).await.expect(200);

    let mut expected = without(&before, &["lastName"]);
    expected["email"] = json!("c@d");
    expected["customProperties"] = json!({"b": 2});
    assert_eq!(answer.json(), expected);
}

#[tokio::test]
async fn user_sent_back_as_it_was_read_is_accepted_and_unchanged() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let before = create(&admin, "joe").await;

    let answer = admin.put(before["self"].as_str().unwrap(), &before).await;

    assert_eq!((answer.status, answer.json()), (200, before));
}

#[tokio::test]
async fn name_of_a_user_is_not_changed() {
    let (_server, admin) = with_joe().await;

    admin.put(&format!("{USERS}/joe"), &json!({"userName": "jack"})).await.expect_message(422, "userName");
}

#[tokio::test]
async fn new_password_counts_at_once_ends_sessions_and_dates_the_change() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let before = create(&admin, "joe").await;
    super::assign(&admin, "joe", "ROLE_ALARM_READ").await;
    let joe = server.caller("joe", "secret-1");
    until("the role", async || joe.get("/alarm/alarms").await.status == 200).await;
    let session = joe.listen("/alarms/*").await;

    let changed = admin.put(&format!("{USERS}/joe"), &json!({"password": "secret-2"})).await.json();

    assert_ne!(changed["lastPasswordChange"], before["lastPasswordChange"]);
    until("the end of the old password", async || joe.get("/alarm/alarms").await.status == 401).await;
    let joe = server.caller("joe", "secret-2");
    assert_eq!(joe.get("/alarm/alarms").await.status, 200);
    until("the end of the session", async || !joe.resume(&session.client).is_known().await).await;
}

#[tokio::test]
async fn other_changes_keep_the_sessions() {
    let (server, admin) = TestServer::shared().await.with_admin();
    server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let joe = server.caller("joe", ADMIN_PASSWORD);
    let session = joe.listen("/alarms/*").await;

    assert_eq!(admin.put(&format!("{USERS}/joe"), &json!({"lastName": "Doe"})).await.status, 200);

    assert!(joe.resume(&session.client).is_known().await);
}

#[tokio::test]
async fn disabled_user_is_cut_off_and_enabled_again_comes_back() {
    let (server, admin) = with_joe().await;
    let joe = server.caller("joe", "secret-1");
    assert_eq!(joe.get("/user/currentUser").await.status, 200);
    let path = format!("{USERS}/joe");

    for (enabled, status) in [(false, 401), (true, 200)] {
        let answer = admin.put(&path, &json!({"enabled": enabled})).await;
        assert_eq!((answer.status, answer.json()["enabled"].clone()), (200, json!(enabled)));
        until("the effect", async || joe.get("/user/currentUser").await.status == status).await;
    }
}

#[tokio::test]
async fn deleted_user_is_cut_off_and_gone() {
    let (server, admin) = TestServer::shared().await.with_admin();
    server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let joe = server.caller("joe", ADMIN_PASSWORD);
    let session = joe.listen("/alarms/*").await;

    let answer = admin.delete(&format!("{USERS}/joe")).await;

    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    assert_eq!(admin.get(&format!("{USERS}/joe")).await.status, 404);
    assert_eq!(admin.delete(&format!("{USERS}/joe")).await.status, 404);
    until("the end of the credentials", async || joe.get("/alarm/alarms").await.status == 401).await;
    create(&admin, "joe").await;
    let namesake = server.caller("joe", "secret-1");
    until("the end of the session", async || !namesake.resume(&session.client).is_known().await).await;
}

#[tokio::test]
async fn nobody_deletes_their_own_user() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_USER_MANAGEMENT_ADMIN"]).await;

    assert_eq!(joe.delete(&format!("{USERS}/joe")).await.status, 403);
    assert_eq!(admin.get(&format!("{USERS}/joe")).await.status, 200);
}
