//! `PUT /application/applications/<id>`.

use super::*;

#[tokio::test]
async fn only_what_was_sent_changes() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let application = create(&admin, &with(hosted("web"), "roles", json!(["ROLE_WEB_READ"]))).await;
    let before = admin.read(&application).await;

    let answer = admin.put(&application, &json!({"availability": "MARKET"})).await;

    let expected = with(before, "availability", json!("MARKET"));
    assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{}", answer.text);
    assert_eq!(admin.read(&application).await, expected);
}

#[tokio::test]
async fn every_member_can_change_but_the_type() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let application = create(&admin, &hosted("web")).await;
    let changes = json!({
        "name": "other",
        "key": "other-key",
        "availability": "MARKET",
        "contextPath": "other-path",
        "resourcesUrl": "https://example.com/other",
        "resourcesUsername": "joe",
        "externalUrl": "https://example.com/",
        "requiredRoles": ["ROLE_ALARM_READ"],
        "roles": ["ROLE_OTHER_READ"],
    });

    admin.put(&application, &with(changes.clone(), "type", json!("HOSTED"))).await;
    let other_type = admin.put(&application, &json!({"type": "EXTERNAL", "externalUrl": "/"})).await;

    let changed = admin.read(&application).await;
    for (member, value) in changes.as_object().unwrap() {
        assert_eq!(&changed[member], value, "{member}");
    }
    assert_eq!((other_type.status, &changed["type"]), (422, &json!("HOSTED")));
    assert!(other_type.message().contains("'type'"), "{}", other_type.message());
}

#[tokio::test]
async fn null_removes_what_may_be_absent_and_is_refused_elsewhere() {
    let (server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("web");
    for (member, value) in [
        ("availability", json!("MARKET")),
        ("resourcesUsername", json!("joe")),
        ("resourcesPassword", json!("hush-hush")),
        ("externalUrl", json!("/x")),
        ("requiredRoles", json!(["ROLE_ALARM_READ"])),
        ("roles", json!(["ROLE_WEB_READ"])),
    ] {
        body[member] = value;
    }
    let web = create(&admin, &body).await;
    let link = create(&admin, &external("link")).await;

    let removed = json!({"availability": null, "resourcesUsername": null, "resourcesPassword": null,
        "externalUrl": null, "requiredRoles": null, "roles": null});
    let answer = admin.put(&web, &removed).await.expect(200);

    let shown = answer.json();
    assert_eq!((&shown["availability"], &shown["requiredRoles"]), (&json!("PRIVATE"), &json!([])));
    assert_eq!((&shown["roles"], &shown["resourcesUsername"]), (&json!([]), &Value::Null));
    assert!(shown["externalUrl"].is_null());
    let password = "SELECT count(*) FROM applications WHERE sealed_resources_password IS NOT NULL";
    assert_eq!(server.database().query(password, &[]).await[0].get::<_, i64>(0), 0);
    for member in ["name", "key", "type", "contextPath", "resourcesUrl"] {
        admin.put(&web, &json!({member: null})).await.expect_message(422, &format!("'{member}'"));
    }
    assert_eq!(admin.put(&link, &json!({"externalUrl": null})).await.status, 422);
}

#[tokio::test]
async fn body_as_it_was_read_can_be_sent_back() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let application = create(&admin, &microservice("pump")).await;
    let before = admin.read(&application).await;

    let answer = admin.put(&application, &before).await;

    assert_eq!((answer.status, answer.json()), (200, before), "{}", answer.text);
}

#[tokio::test]
async fn changed_application_is_returned_in_its_media_type_if_accepted() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let application = create(&admin, &hosted("web")).await;
    let media_type = format!("{MEDIA}application+json");

    let request = admin.request("PUT", &application).header("Accept", &media_type);
    let shown = request.header("Content-Type", &media_type).body(r#"{"name":"a"}"#).send().await;
    let silent = RawConnection::without_accept(&admin, "PUT", &application, &json!({"name": "b"})).await;

    assert_eq!(shown.status, 200, "{}", shown.text);
    assert!(shown.header("Content-Type").unwrap().starts_with(&media_type));
    assert_eq!((silent.status, &*silent.text), (200, ""));
    assert_eq!(admin.read(&application).await["name"], "b");
}

#[tokio::test]
async fn taken_names_keys_and_context_paths_are_409_and_change_nothing() {
    let (_server, admin) = TestServer::start().await.with_admin();
    create(&admin, &hosted("first")).await;
    let second = create(&admin, &hosted("second")).await;
    let before = admin.read(&second).await;

    for (member, value) in [("name", "first"), ("key", "first-key"), ("contextPath", "first")] {
        let answer = admin.put(&second, &json!({"roles": ["ROLE_X_READ"], member: value})).await;
        assert_eq!((answer.status, answer.error().as_str()), (409, "application/Duplicate"), "{member}");
        assert!(!answer.text.contains("first-key"), "{}", answer.text);
    }
    assert_eq!(admin.read(&second).await, before);
}

#[tokio::test]
async fn wrong_values_are_422_and_change_nothing() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let service = create(&admin, &microservice("pump")).await;
    let before = admin.read(&service).await;

    for (member, value) in [
        ("name", json!("a b")),
        ("name", json!("..")),
        ("key", json!("")),
        ("availability", json!("SOME")),
        ("contextPath", json!("a/b")),
        ("externalUrl", json!("javascript:x")),
        ("requiredRoles", json!(["ROLE_SYSTEM"])),
        ("requiredRoles", json!(["ROLE_DEVICE_BOOTSTRAP"])),
        ("roles", json!(["ROLE_X_DELETE"])),
        ("roles", json!("ROLE_X_READ")),
    ] {
        admin.put(&service, &json!({member: value})).await.expect_message(422, &format!("'{member}'"));
    }
    assert_eq!(admin.read(&service).await, before);
}

#[tokio::test]
async fn new_required_roles_reach_service_users_in_every_tenant_at_once() {
    let database = two_tenants().await;
    let (server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    let service = create(&admin, &microservice("pump")).await;
    subscribe(&database, "plant7", &service).await;
    insert_service_user(&database, "plant7", &service, "service_pump", &[]).await;
    let user = server.caller("plant7/service_pump", ADMIN_PASSWORD);
    assert_eq!(user.get("/alarm/alarms").await.status, 403);

    admin.put(&service, &json!({"requiredRoles": ["ROLE_ALARM_READ"]})).await.expect(200);

    let reads = async || user.get("/alarm/alarms").await.status == 200;
    until("the new role", reads).await;
}

#[tokio::test]
async fn name_that_is_free_again_can_be_used() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let service = create(&admin, &microservice("pump")).await;

    admin.put(&service, &json!({"name": "other", "key": "other-key"})).await;

    assert_eq!(admin.post(APPLICATIONS, &microservice("pump")).await.status, 201);
}

#[tokio::test]
async fn only_the_admin_role_may_change() {
    let (server, admin) = TestServer::start().await.with_admin();
    let application = create(&admin, &hosted("web")).await;

    for (role, status) in
        [("ROLE_APPLICATION_MANAGEMENT_ADMIN", 200), ("ROLE_APPLICATION_MANAGEMENT_READ", 403)]
    {
        let caller = server.user_with(role, &[role]).await;
        assert_eq!(caller.put(&application, &json!({"roles": []})).await.status, status, "{role}");
    }
}

#[tokio::test]
async fn other_tenants_may_not_change_what_they_see_and_do_not_find_the_rest() {
    let (server, _database) = with_two_tenants().await;
    let (admin, plant7) = (server.admin(), super::plant7(&server));
    let private = create(&admin, &hosted("private")).await;
    let market = create(&admin, &with(hosted("market"), "availability", json!("MARKET"))).await;

    for caller in [&plant7, &management(&server)] {
        let stolen = json!({"name": "stolen"});
        let statuses =
            [caller.put(&private, &stolen).await.status, caller.put(&market, &stolen).await.status];
        assert_eq!(statuses, [404, 403]);
    }
    assert_eq!(admin.read(&market).await["name"], "market");
    assert_eq!(plant7.put(&format!("{APPLICATIONS}/4711"), &json!({})).await.status, 404);
}

#[tokio::test]
async fn one_of_many_changes_to_one_name_wins_whatever_the_server() {
    let servers = TestServer::start_two().await;
    let admin = servers[0].admin();
    let mut applications = Vec::new();
    for n in 0..10 {
        applications.push(create(&admin, &hosted(&format!("web{n}"))).await);
    }

    let attempts = applications.iter().enumerate().map(|(n, application)| {
        let admin = servers[n % 2].admin();
        async move { admin.put(application, &json!({"name": "wanted"})).await.status }
    });
    let mut statuses = join_all(attempts).await;

    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200], vec![409; 9]].concat());
}
