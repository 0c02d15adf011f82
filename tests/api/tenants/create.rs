//! `POST /tenant/tenants`.

use super::*;

#[tokio::test]
async fn created_tenant_is_shown_with_all_its_members() {
    let server = TestServer::start().await;
    let mut body = tenant_of("t7");
    for (member, value) in [
        ("contactName", json!("Joe")),
        ("contactPhone", json!("+49 123")),
        ("allowCreateTenants", json!(true)),
        ("storageLimitPerDevice", json!(1_000_000)),
        ("customProperties", json!({"a": {"b": 1}})),
    ] {
        body[member] = value;
    }

    let answer = management(&server).post(TENANTS, &body).await;

    let expected = json!({
        "self": "<base>/tenant/tenants/t7",
        "id": "t7",
        "domain": "plant-t7.example.com",
        "company": "Acme",
        "contactName": "Joe",
        "contactPhone": "+49 123",
        "adminName": "boss",
        "adminEmail": "boss@example.com",
        "status": "ACTIVE",
        "allowCreateTenants": true,
        "storageLimitPerDevice": 1_000_000,
        "customProperties": {"a": {"b": 1}},
        "parent": "management",
        "applications": {"self": "<base>/tenant/tenants/t7/applications", "references": []},
        "ownedApplications": {"self": "<base>/application/applicationsByOwner/t7", "references": []},
    });
    let shown = redacted(&answer.json(), &[(server.base(), "<base>")]);
    assert_eq!((answer.status, without(&shown, &["creationTime"])), (201, expected), "{}", answer.text);
    assert!(answer.json()["creationTime"].as_str().unwrap().ends_with('Z'), "{shown}");
    assert_eq!(answer.header("Location"), Some(&*format!("{}/tenant/tenants/t7", server.base())));
    assert_eq!(management(&server).read(&format!("{TENANTS}/t7")).await, answer.json());
}

#[tokio::test]
async fn created_tenant_is_returned_in_its_media_type_if_accepted() {
    let server = TestServer::start().await;
    let media_type = format!("{MEDIA}tenant+json");

    let request = management(&server).request("POST", TENANTS).header("Accept", &media_type);
    let shown = request.header("Content-Type", &media_type).body(tenant_of("t7").to_string()).send().await;
    let silent = RawConnection::without_accept(&management(&server), "POST", TENANTS, &tenant_of("t8")).await;

    assert_eq!(shown.status, 201, "{}", shown.text);
    assert!(
        shown.header("Content-Type").unwrap().starts_with(&media_type),
        "{:?}",
        shown.header("Content-Type")
    );
    assert_eq!((silent.status, &*silent.text), (201, ""));
    assert!(silent.header("Location").unwrap().ends_with("/tenant/tenants/t8"));
}

#[tokio::test]
async fn first_user_may_do_everything_in_the_new_tenant() {
    let server = TestServer::start().await;

    let boss = create_tenant(&server, "t7").await;

    boss.create_device("pump").await;
    assert_eq!(boss.get("/alarm/alarms").await.status, 200);
    assert_eq!(boss.get("/tenant/options").await.status, 200);
    assert_eq!(boss.read("/tenant/currentTenant").await["name"], "t7");
}

#[tokio::test]
async fn domain_of_a_new_tenant_is_known_at_once() {
    let (server, _) = with_tenant("t7").await;

    let boss = server.caller("boss", ADMIN_PASSWORD);
    let answer = crate::harness::eventually("the new domain", async || {
        let request = boss.request("GET", "/tenant/currentTenant").header("Host", "plant-t7.example.com");
        let answer = request.send().await;
        (answer.status == 200).then_some(answer)
    })
    .await;

    assert_eq!(answer.json()["domainName"], "plant-t7.example.com");
}

#[tokio::test]
async fn tenant_without_id_gets_one_of_t_and_digits() {
    let server = TestServer::start().await;

    let tenant = management(&server).create(TENANTS, &without(&tenant_of("t7"), &["id"])).await;

    let id = tenant["id"].as_str().unwrap();
    let digits = id.strip_prefix('t').unwrap();
    assert!(!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && id.len() <= 32, "{id}");
}

#[tokio::test]
async fn password_of_the_first_user_is_never_returned() {
    let server = TestServer::start().await;
    let mut body = without(&tenant_of("t7"), &["adminPass"]);
    body["adminPassword"] = json!("by-the-other-name");

    let answer = management(&server).post(TENANTS, &body).await.expect(201);

    let read = management(&server).get(&format!("{TENANTS}/t7")).await;
    for text in [&answer.text, &read.text] {
        assert!(!text.contains("by-the-other-name") && !text.contains("assword"), "{text}");
    }
    let boss = server.caller("t7/boss", "by-the-other-name");
    assert_eq!(boss.get("/tenant/currentTenant").await.status, 200);
}

#[tokio::test]
async fn first_user_without_a_password_cannot_log_in() {
    let server = TestServer::start().await;
    let mut body = without(&tenant_of("t7"), &["adminPass"]);
    body["sendPasswordResetEmail"] = json!(true);

    management(&server).post(TENANTS, &body).await.expect(201);

    for password in ["", ADMIN_PASSWORD] {
        let boss = server.caller("t7/boss", password);
        assert_eq!(boss.get("/tenant/currentTenant").await.status, 401, "{password}");
    }
}

#[tokio::test]
async fn taken_id_or_domain_is_409_and_leaves_nothing() {
    let (server, _) = with_tenant("t7").await;
    let users = server.database().count("users").await;
    let (mut same_id, mut same_domain) = (tenant_of("t7"), tenant_of("t8"));
    same_id["domain"] = json!("other.example.com");
    same_domain["domain"] = json!("plant-t7.example.com");

    for body in [same_id, same_domain] {
        let answer = management(&server).post(TENANTS, &body).await.expect_error(409, "tenants/Duplicate");
        assert!(answer.message().contains("tenant"), "{}", answer.message());
    }
    assert_eq!(server.database().count("users").await, users);
    assert_eq!(management(&server).get(&format!("{TENANTS}/t8")).await.status, 404);
}

#[tokio::test]
async fn missing_members_are_listed() {
    let server = TestServer::start().await;

    let answer = management(&server).post(TENANTS, &json!({})).await;

    let message =
        "Following mandatory fields should be included: domain,company,adminName,adminPass,adminEmail";
    assert_eq!((answer.status, answer.message().as_str()), (422, message));
}

#[tokio::test]
async fn wrong_values_are_422_and_named() {
    let server = TestServer::start().await;
    let long = |count| json!("x".repeat(count));

    for (member, value) in [
        ("id", long(33)),
        ("id", json!("T7")),
        ("id", json!("a/b")),
        ("id", json!("")),
        ("id", json!(7)),
        ("domain", json!("a.example.com")),
        ("domain", json!("7a.example.com")),
        ("domain", json!("Plant.example.com")),
        ("domain", json!("plant-.example.com")),
        ("domain", json!(format!("plant.{}", "x".repeat(251)))),
        ("domain", json!({})),
        ("company", long(257)),
        ("company", json!("")),
        ("company", Value::Null),
        ("contactName", long(31)),
        ("contactName", json!(["Joe"])),
        ("contactPhone", long(21)),
        ("adminName", long(51)),
        ("adminName", json!("a b")),
        ("adminName", json!("a/b")),
        ("adminName", json!("a:b")),
        ("adminPass", json!("short")),
        ("adminPass", long(33)),
        ("adminPass", json!("sıx-or-more")),
        ("adminPass", json!(1_234_567)),
        ("adminEmail", json!("nobody")),
        ("adminEmail", json!("a@b@c")),
        ("status", json!("GONE")),
        ("status", json!("active")),
        ("allowCreateTenants", json!("true")),
        ("storageLimitPerDevice", json!(-1)),
        ("storageLimitPerDevice", json!(1.5)),
        ("storageLimitPerDevice", json!("7")),
        ("storageLimitPerDevice", json!(1e300)),
        ("customProperties", json!([])),
        ("customProperties", json!("x")),
        ("customProperties", json!({"x": "x".repeat(70_000)})),
    ] {
        let mut body = tenant_of("t7");
        body[member] = value.clone();
        let answer =
            management(&server).post(TENANTS, &body).await.expect_error(422, "undefined/validationError");
        assert!(answer.message().contains(member), "{member}: {}", answer.message());
    }
    assert_eq!(server.database().count("tenants").await, 2);
}

#[tokio::test]
async fn longest_allowed_values_are_kept() {
    let server = TestServer::start().await;
    let mut body = tenant_of(&"t".repeat(32));
    for (member, value) in [
        ("domain", format!("plant_7-b.{}", "x".repeat(246))),
        ("company", "ä".repeat(256)),
        ("contactName", "ä".repeat(30)),
        ("contactPhone", "7".repeat(20)),
        ("adminName", "x".repeat(50)),
    ] {
        body[member] = json!(value);
    }

    let tenant = management(&server).create(TENANTS, &body).await;

    for member in ["domain", "company", "contactName", "contactPhone", "adminName"] {
        assert_eq!(tenant[member], body[member], "{member}");
    }
}

#[tokio::test]
async fn nul_and_broken_bodies_are_4xx() {
    let server = TestServer::start().await;
    let management = management(&server);

    for (body, status) in [
        (r#"{"company":"a\u0000b"}"#.to_owned(), 422),
        ("{".into(), 400),
        ("[]".into(), 400),
        ("null".into(), 400),
        (String::new(), 422),
        (format!("{{\"company\":{}1{}}}", "[".repeat(200), "]".repeat(200)), 422),
    ] {
        management.request("POST", TENANTS).accepting_json().body(body.clone()).send().await.expect(status);
    }
}

#[tokio::test]
async fn only_admin_and_create_roles_may_create() {
    let server = TestServer::start().await;

    for (role, status) in [
        ("ROLE_TENANT_MANAGEMENT_ADMIN", 201),
        ("ROLE_TENANT_MANAGEMENT_CREATE", 201),
        ("ROLE_TENANT_MANAGEMENT_READ", 403),
        ("ROLE_TENANT_MANAGEMENT_UPDATE", 403),
        ("ROLE_TENANT_ADMIN", 403),
    ] {
        let caller = manager_with(&server, role, &[role]).await;
        let id = role.to_lowercase().replace("role_tenant_management", "x");
        let answer = caller.post(TENANTS, &tenant_of(&id)).await;
        assert_eq!(answer.status, status, "{role}: {}", answer.text);
    }
}

#[tokio::test]
async fn other_tenants_need_to_be_allowed_to_create_tenants() {
    let (server, admin) = TestServer::start().await.with_admin();

    let refused = admin.post(TENANTS, &tenant_of("t7")).await;
    let reseller = create_reseller(&server, "reseller").await;
    let created = reseller.create(TENANTS, &tenant_of("t7")).await;

    assert_eq!((refused.status, refused.error().as_str()), (403, "security/Forbidden"), "{}", refused.text);
    assert_eq!(created["parent"], "reseller");
}

#[tokio::test]
async fn parent_is_not_read_from_a_body() {
    let server = TestServer::start().await;
    let mut body = tenant_of("t7");
    body["parent"] = json!("main");

    let tenant = management(&server).create(TENANTS, &body).await;

    assert_eq!(tenant["parent"], "management");
}

#[tokio::test]
async fn what_a_deleted_tenant_of_this_id_left_behind_is_not_inherited() {
    let server = TestServer::start().await;
    let left = "INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments) \
        VALUES ('t7', 4711, 'x', now(), now(), '{}')";
    server.database().execute(left, &[]).await;

    let boss = create_tenant(&server, "t7").await;

    assert_eq!(boss.read("/inventory/managedObjects").await["managedObjects"], json!([]));
}
