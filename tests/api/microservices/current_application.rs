//! `/application/currentApplication` and its subscriptions (W-11, W-13, X-14).

use super::*;

#[tokio::test]
async fn current_application_is_that_of_the_bootstrap_user_with_its_key() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) = serve(&server, "pump", json!({}), &["main"]).await;

    let answer = bootstrap.get(CURRENT).await;

    let application = answer.json();
    assert_eq!(application, admin.read(&format!("{APPLICATIONS}/{id}")).await);
    assert_eq!((&application["name"], &application["key"]), (&json!("pump"), &json!("pump-key")));
    answer.expect_media("application");
}

#[tokio::test]
async fn nobody_else_has_a_current_application() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (_, bootstrap) = serve(&server, "pump", json!({}), &["main"]).await;
    let service = service_in(&server, &bootstrap, "main").await;
    let device = server.caller("management/devicebootstrap", crate::harness::BOOTSTRAP_PASSWORD);

    for caller in [&admin, &service, &device, &management(&server)] {
        for path in [CURRENT, SUBSCRIPTIONS, "/application/currentApplication/subscription"] {
            caller.get(path).await.expect_error(403, "security/Forbidden");
        }
        assert_eq!(caller.put(CURRENT, &json!({"name": "mine"})).await.status, 403);
    }
    for caller in [&admin, &device, &management(&server)] {
        assert_eq!(caller.get(SETTINGS).await.status, 403);
    }
    assert_eq!(server.stranger().get(CURRENT).await.status, 401);
}

#[tokio::test]
async fn put_changes_these_five_members_and_no_other() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) = serve(&server, "pump", json!({}), &[]).await;

    let change = json!({
        "name": "pump2",
        "availability": "PRIVATE",
        "requiredRoles": ["ROLE_ALARM_READ"],
        "roles": ["ROLE_PUMP_READ"],
        "externalUrl": "https://example.com/pump",
        "key": "another-key",
        "contextPath": "elsewhere",
        "resourcesUrl": "/x",
        "id": "7",
        "owner": {"tenant": {"id": "t7"}},
    });
    let answer = bootstrap.put(CURRENT, &change).await.expect(200);

    let application = admin.read(&format!("{APPLICATIONS}/{id}")).await;
    assert_eq!(answer.json(), application);
    for name in ["name", "availability", "requiredRoles", "roles", "externalUrl"] {
        assert_eq!(application[name], change[name], "{name}");
    }
    assert_eq!((&application["id"], &application["key"]), (&json!(id), &json!("pump-key")));
    assert_eq!(application["owner"]["tenant"]["id"], "main");
    assert_ne!(application["contextPath"], "elsewhere");
    assert_eq!(application["resourcesUrl"], json!(null));
}

#[tokio::test]
async fn put_leaves_what_was_not_sent() {
    let server = TestServer::start().await;
    let more = json!({"requiredRoles": ["ROLE_ALARM_READ"], "roles": ["ROLE_PUMP_READ"]});
    let (_, bootstrap) = serve(&server, "pump", more, &[]).await;
    let before = bootstrap.read(CURRENT).await;

    assert_eq!(bootstrap.put(CURRENT, &json!({})).await.json(), before);
}

#[tokio::test]
async fn put_that_is_wrong_is_refused() {
    let (server, admin) = TestServer::start().await.with_admin();
    create_application(&admin, &microservice("taken")).await;
    let (_, bootstrap) = serve(&server, "pump", json!({}), &[]).await;

    let answer = bootstrap.put(CURRENT, &json!({"name": "taken"})).await;
    assert_eq!((answer.status, &*answer.error()), (409, "application/Duplicate"));
    for (body, member) in [
        (json!({"name": ""}), "name"),
        (json!({"name": null}), "name"),
        (json!({"availability": "EVERYBODY"}), "availability"),
        (json!({"requiredRoles": ["ROLE_SYSTEM"]}), "requiredRoles"),
        (json!({"roles": "ROLE_PUMP_READ"}), "roles"),
        (json!({"externalUrl": "javascript:alert(1)"}), "externalUrl"),
    ] {
        bootstrap.put(CURRENT, &body).await.expect_message(422, member);
    }
}

#[tokio::test]
async fn both_spellings_of_subscriptions_return_the_same() {
    let server = TestServer::start().await;
    create_reseller(&server, "t7").await;
    let (_, bootstrap) = serve(&server, "pump", json!({}), &["t7", "main"]).await;

    let answer = bootstrap.get(SUBSCRIPTIONS).await;
    let singular = bootstrap.read("/application/currentApplication/subscription").await;

    let users = answer.json()["users"].clone();
    assert_eq!(users, singular["users"]);
    let names: Vec<_> =
        users.as_array().unwrap().iter().map(|user| (&user["tenant"], &user["name"])).collect();
    let name = json!("service_pump");
    assert_eq!(names, [(&json!("main"), &name), (&json!("t7"), &name)]);
    assert!(users[0]["password"] != users[1]["password"] && users[0]["password"].is_string());
    answer.expect_media("applicationUserCollection");
}

#[tokio::test]
async fn subscriptions_are_one_large_page_unless_a_size_is_asked_for() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) = serve(&server, "pump", json!({}), &[]).await;
    for tenant in ["a-b", "a0", "a_b", "b", "b1", "c"] {
        create_reseller(&server, tenant).await;
        subscribe(&management(&server), tenant, &id).await;
    }
    subscribe(&admin, "main", &id).await;

    let whole = bootstrap.read(SUBSCRIPTIONS).await;
    let mut seen = Vec::new();
    let mut link = Some(format!("{SUBSCRIPTIONS}?pageSize=2&withTotalPages=true"));
    while let Some(path) = link {
        let page = bootstrap.read(&path).await;
        assert_eq!(page["statistics"]["totalPages"], 4);
        seen.extend(page["users"].as_array().unwrap().clone());
        link = page["next"].as_str().map(ToOwned::to_owned);
    }

    assert_eq!(whole["users"].as_array().unwrap(), &seen);
    assert_eq!(seen.len(), 7);
    assert_eq!((&whole["statistics"]["pageSize"], whole.get("next")), (&json!(2000), None));
    let third = bootstrap.read(&format!("{SUBSCRIPTIONS}?pageSize=2&currentPage=3")).await;
    assert_eq!(third["users"].as_array().unwrap(), &seen[4..6]);
    assert_eq!(bootstrap.get(&format!("{SUBSCRIPTIONS}?pageSize=0")).await.status, 422);
}
