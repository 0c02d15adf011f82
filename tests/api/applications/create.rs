//! `POST /application/applications`.

use super::*;

#[tokio::test]
async fn created_web_application_is_shown_with_all_its_members() {
    let (server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("pump");
    for (member, value) in [
        ("availability", json!("MARKET")),
        ("contextPath", json!("/pump-app")),
        ("resourcesUrl", json!("https://example.com/pump")),
        ("resourcesUsername", json!("joe")),
        ("resourcesPassword", json!("hush-hush")),
        ("requiredRoles", json!(["ROLE_ALARM_READ", "ROLE_PUMP_ADMIN"])),
        ("roles", json!(["ROLE_PUMP_READ"])),
    ] {
        body[member] = value;
    }

    let answer = admin.post(APPLICATIONS, &body).await.expect(201);

    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "self": "<base>/application/applications/<id>",
        "id": "<id>",
        "name": "pump",
        "key": "pump-key",
        "type": "HOSTED",
        "availability": "MARKET",
        "owner": {"self": "<base>/tenant/tenants/main", "tenant": {"id": "main"}},
        "contextPath": "pump-app",
        "resourcesUrl": "https://example.com/pump",
        "resourcesUsername": "joe",
        "requiredRoles": ["ROLE_ALARM_READ", "ROLE_PUMP_ADMIN"],
        "roles": ["ROLE_PUMP_READ"],
    });
    assert_eq!(redacted(&answer.json(), &[(server.base(), "<base>"), (&id, "<id>")]), expected);
    let link = format!("{}{APPLICATIONS}/{id}", server.base());
    assert_eq!(answer.header("Location"), Some(&*link));
    assert_eq!(admin.read(&link).await, answer.json());
}

#[tokio::test]
async fn created_application_is_returned_in_its_media_type_if_accepted() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let media_type = format!("{MEDIA}application+json");

    let request = admin.request("POST", APPLICATIONS).header("Accept", &media_type);
    let shown = request.header("Content-Type", &media_type).body(hosted("a").to_string()).send().await;
    let silent = RawConnection::without_accept(&admin, "POST", APPLICATIONS, &hosted("b")).await;
    let read = admin.request("GET", shown.header("Location").unwrap()).send().await;

    assert_eq!(shown.status, 201, "{}", shown.text);
    for answer in [&shown, &read] {
        let given = answer.header("Content-Type").unwrap();
        assert!(given.starts_with(&media_type), "{given}");
    }
    assert_eq!((silent.status, &*silent.text), (201, ""));
    assert!(silent.header("Location").unwrap().contains(APPLICATIONS));
}

#[tokio::test]
async fn other_media_types_are_415_and_406() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let request = || admin.request("POST", APPLICATIONS);
    let body = hosted("a").to_string();

    let other = format!("{MEDIA}tenant+json");
    let sent = request().header("Content-Type", &other).body(body.clone()).send().await;
    let wanted = request().header("Accept", &other).body(body).send().await;

    assert_eq!((sent.status, wanted.status), (415, 406), "{}", sent.text);
    assert_eq!(admin.post(APPLICATIONS, &hosted("a")).await.status, 201);
}

#[tokio::test]
async fn application_is_private_when_nothing_else_is_said() {
    let (_server, admin) = TestServer::start().await.with_admin();

    let application = admin.create(APPLICATIONS, &hosted("a")).await;

    assert_eq!(application["availability"], "PRIVATE");
}

#[tokio::test]
async fn microservice_needs_neither_context_path_nor_address_and_is_served_at_its_name() {
    let (_server, admin) = TestServer::start().await.with_admin();

    let service = admin.create(APPLICATIONS, &microservice("pump-1.0_a")).await;

    assert_eq!((&service["contextPath"], &service["resourcesUrl"]), (&json!("pump-1.0_a"), &Value::Null));
    assert_eq!((&service["requiredRoles"], &service["roles"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn microservice_gets_a_bootstrap_user_in_its_owners_tenant_and_nothing_else_does() {
    let (server, admin) = TestServer::start().await.with_admin();
    for body in [hosted("web"), external("link"), microservice("pump")] {
        admin.create(APPLICATIONS, &body).await;
    }

    let users = "SELECT u.tenant, u.name, a.name FROM users u JOIN applications a ON a.id = u.application \
        WHERE u.tenant = 'main' AND u.duty = 'BOOTSTRAP'";
    let users: Vec<[String; 3]> = server
        .database()
        .query(users, &[])
        .await
        .iter()
        .map(|row| [row.get(0), row.get(1), row.get(2)])
        .collect();

    assert_eq!(users, [["main".to_owned(), "servicebootstrap_pump".into(), "pump".into()]]);
}

#[tokio::test]
async fn name_of_a_bootstrap_user_may_belong_to_a_person() {
    let (server, admin) = TestServer::start().await.with_admin();
    server.user_with("servicebootstrap_pump", &[]).await;

    let service = admin.create(APPLICATIONS, &microservice("pump")).await;

    let user = "SELECT name FROM users WHERE tenant = 'main' AND application = $1";
    let id: i64 = service["id"].as_str().unwrap().parse().unwrap();
    let user: String = server.database().query(user, &[&id]).await[0].get(0);
    assert_eq!(user, format!("servicebootstrap_pump_{id}"));
    let person = server.caller("servicebootstrap_pump", ADMIN_PASSWORD);
    assert_eq!(person.get("/tenant/currentTenant").await.status, 200);
}

#[tokio::test]
async fn taken_names_keys_and_context_paths_are_409_and_leave_nothing() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.create(APPLICATIONS, &hosted("first")).await;
    let before = (server.count("applications").await, server.count("users").await);
    let with = |member: &str, value: &str| {
        let mut body = microservice("second");
        body["contextPath"] = json!("second-path");
        body[member] = json!(value);
        body
    };

    for (body, taken) in [
        (with("name", "first"), "name 'first'"),
        (with("key", "first-key"), "this key"),
        (with("contextPath", "first"), "contextPath 'first'"),
    ] {
        let answer = admin.post(APPLICATIONS, &body).await.expect_error(409, "application/Duplicate");
        assert!(answer.message().contains(taken), "{}", answer.message());
        assert!(!answer.message().contains("first-key"), "{}", answer.message());
    }
    let after = (server.count("applications").await, server.count("users").await);
    assert_eq!(before, after);
}

#[tokio::test]
async fn names_are_unique_in_their_tenant_and_keys_and_context_paths_in_the_deployment() {
    let (server, admin) = TestServer::start().await.with_admin();
    admin.create(APPLICATIONS, &hosted("pump")).await;
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    let with = |key: &str, path: &str| {
        let mut body = hosted("pump");
        body["key"] = json!(key);
        body["contextPath"] = json!(path);
        body
    };

    assert_eq!(management.post(APPLICATIONS, &with("pump-key", "other")).await.status, 409);
    assert_eq!(management.post(APPLICATIONS, &with("other", "pump")).await.status, 409);
    assert_eq!(management.post(APPLICATIONS, &with("other", "other")).await.status, 201);
}

#[tokio::test]
async fn one_of_many_that_want_one_key_at_once_gets_it_whatever_the_server() {
    let servers = TestServer::start_two().await;

    let attempts = (0..20).map(|n| {
        let mut body = microservice(&format!("pump{n}"));
        body["key"] = json!("the-one");
        let admin = servers[n % 2].admin();
        async move { admin.post(APPLICATIONS, &body).await.status }
    });
    let mut statuses = join_all(attempts).await;

    statuses.sort_unstable();
    assert_eq!(statuses, [vec![201], vec![409; 19]].concat());
    let bootstrap = "SELECT count(*) FROM users WHERE tenant = 'main' AND duty = 'BOOTSTRAP'";
    assert_eq!(servers[0].database().query(bootstrap, &[]).await[0].get::<_, i64>(0), 1);
}

#[tokio::test]
async fn only_the_admin_role_may_create_and_only_the_read_role_may_read() {
    let (server, admin) = TestServer::start().await.with_admin();
    let application = admin.create(APPLICATIONS, &hosted("a")).await;

    for (role, create, read) in [
        ("ROLE_APPLICATION_MANAGEMENT_ADMIN", 201, 403),
        ("ROLE_APPLICATION_MANAGEMENT_READ", 403, 200),
        ("ROLE_APPLICATION_READ", 403, 403),
        ("ROLE_TENANT_MANAGEMENT_ADMIN", 403, 403),
    ] {
        let caller = server.user_with(role, &[role]).await;
        assert_eq!(caller.post(APPLICATIONS, &hosted("b")).await.status, create, "{role}");
        let path = format!("{APPLICATIONS}/{}", application["id"].as_str().unwrap());
        assert_eq!(caller.get(&path).await.status, read, "{role}");
    }
}
