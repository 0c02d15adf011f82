//! `GET /application/applications/<id>/bootstrapUser` (W-10).

use super::*;

#[tokio::test]
async fn bootstrap_user_is_shown_to_its_owner_at_any_time() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &microservice("pump")).await;

    let answer = admin.get(&format!("{APPLICATIONS}/{id}/bootstrapUser")).await;
    let again = admin.get(&format!("{APPLICATIONS}/{id}/bootstrapUser")).await;

    let user = answer.json();
    assert_eq!((&user["tenant"], &user["name"]), (&json!("main"), &json!("servicebootstrap_pump")));
    assert_eq!(user.as_object().unwrap().len(), 3, "{user}");
    assert_eq!(user, again.json());
    assert_eq!(acting(&server, &user).get(CURRENT).await.status, 200);
    answer.expect_media("user");
}

#[tokio::test]
async fn other_applications_have_no_bootstrap_user() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let mut hosted = microservice("web");
    hosted["type"] = json!("HOSTED");
    hosted["contextPath"] = json!("web");
    hosted["resourcesUrl"] = json!("/");
    let mut rule = microservice("rule");
    rule["type"] = json!("APAMA_CEP_RULE");

    for body in [external("link"), hosted, rule] {
        let id = create_application(&admin, &body).await;
        admin
            .get(&format!("{APPLICATIONS}/{id}/bootstrapUser"))
            .await
            .expect_error(404, "application/Not Found");
    }
    assert_eq!(admin.get(&format!("{APPLICATIONS}/7/bootstrapUser")).await.status, 404);
}

#[tokio::test]
async fn bootstrap_user_is_the_owners_alone() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let seen = create_application(&admin, &microservice("pump")).await;
    let mut body = microservice("hidden");
    body["availability"] = json!("PRIVATE");
    let hidden = create_application(&admin, &body).await;
    let reader = server.user_with("reader", &["ROLE_APPLICATION_MANAGEMENT_READ"]).await;

    let status = async |caller: &Caller, id: &str| {
        caller.get(&format!("{APPLICATIONS}/{id}/bootstrapUser")).await.status
    };
    assert_eq!(status(&boss, &seen).await, 403);
    assert_eq!(status(&boss, &hidden).await, 404);
    assert_eq!(status(&management(&server), &seen).await, 403);
    assert_eq!(status(&reader, &seen).await, 403);
}

#[tokio::test]
async fn bootstrap_user_may_ask_about_itself_and_nothing_else() {
    let server = TestServer::start().await;
    let (id, bootstrap) = serve(&server, "pump", json!({}), &["main"]).await;

    for path in ["/tenant/currentTenant", "/user/currentUser", CURRENT, SUBSCRIPTIONS, SETTINGS] {
        assert_eq!(bootstrap.get(path).await.status, 200, "{path}");
    }
    for path in [
        "/inventory/managedObjects",
        "/user/roles",
        "/platform",
        "/tenant/tenants/main/applications",
        &format!("{APPLICATIONS}/{id}"),
        &format!("{APPLICATIONS}/{id}/bootstrapUser"),
    ] {
        assert_eq!(bootstrap.get(path).await.status, 403, "{path}");
    }
    assert_eq!(bootstrap.put("/user/currentUser", &json!({"password": "chosen-1"})).await.status, 403);
    assert_eq!(effective_roles(&bootstrap).await, Vec::<String>::new());
}

#[tokio::test]
async fn bootstrap_user_evades_a_name_that_is_taken() {
    let (server, admin) = TestServer::start().await.with_admin();
    let squatter = json!({"userName": "servicebootstrap_pump", "password": "secret-1"});
    admin.create("/user/main/users", &squatter).await;

    let id = create_application(&admin, &microservice("pump")).await;

    let user = admin.read(&format!("{APPLICATIONS}/{id}/bootstrapUser")).await;
    assert_eq!(user["name"], format!("servicebootstrap_pump_{id}"));
    assert_eq!(acting(&server, &user).get(CURRENT).await.status, 200);
    assert_eq!(server.caller("servicebootstrap_pump", "secret-1").get(CURRENT).await.status, 403);
}

#[tokio::test]
async fn bootstrap_user_goes_with_its_application() {
    let (server, admin) = TestServer::start().await.with_admin();
    let (id, bootstrap) = serve(&server, "pump", json!({}), &[]).await;
    assert_eq!(bootstrap.get(CURRENT).await.status, 200);

    assert_eq!(admin.delete(&format!("{APPLICATIONS}/{id}")).await.status, 204);

    until_answered(&bootstrap, CURRENT, 401).await;
}
