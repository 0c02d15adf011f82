//! `DELETE /application/applications/<id>`.

use super::*;

#[tokio::test]
async fn deleted_application_is_gone_and_its_name_key_and_path_are_free() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let application = create(&admin, &hosted("web")).await;

    let answer = admin.delete(&application).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    assert_eq!(admin.get(&application).await.status, 404);
    assert_eq!(admin.delete(&application).await.status, 404);
    create(&admin, &hosted("web")).await;
}

#[tokio::test]
async fn bootstrap_user_goes_with_its_microservice() {
    let (server, admin) = TestServer::start().await.with_admin();
    let users = server.count("users").await;
    let service = create(&admin, &microservice("pump")).await;
    assert_eq!(server.count("users").await, users + 1);

    assert_eq!(admin.delete(&service).await.status, 204);

    assert_eq!(server.count("users").await, users);
}

#[tokio::test]
async fn private_application_goes_with_its_subscriptions_and_service_users_who_are_cut_off_at_every_server() {
    let database = two_tenants().await;
    let servers =
        [TestServer::start_on(&database, |_| {}).await, TestServer::start_on(&database, |_| {}).await];
    let admin = servers[0].admin();
    let service = create(&admin, &microservice("pump")).await;
    subscribe(&database, "plant7", &service).await;
    insert_service_user(&database, "plant7", &service, "service_pump", &["ROLE_ALARM_READ"]).await;
    let users = servers.each_ref().map(|server| server.caller("plant7/service_pump", ADMIN_PASSWORD));
    for user in &users {
        assert_eq!(user.get("/alarm/alarms").await.status, 200);
    }

    assert_eq!(admin.delete(&service).await.status, 204);

    for user in &users {
        let is_cut_off = async || user.get("/alarm/alarms").await.status == 401;
        until("the end of the service user", is_cut_off).await;
    }
    assert_eq!(database.count("subscriptions").await, 0);
}

#[tokio::test]
async fn application_of_the_market_that_somebody_subscribes_to_stays() {
    let database = two_tenants().await;
    let (server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    let application = create(&admin, &with(hosted("web"), "availability", json!("MARKET"))).await;
    subscribe(&database, "plant7", &application).await;

    let refused = admin.delete(&application).await.expect_error(409, "application/Update Conflict");
    assert!(refused.message().contains("'web'"), "{}", refused.message());
    assert_eq!(plant7(&server).get(&application).await.status, 200);

    database.execute("DELETE FROM subscriptions", &[]).await;
    assert_eq!(admin.delete(&application).await.status, 204);
}

#[tokio::test]
async fn application_that_is_withdrawn_from_the_market_can_be_deleted() {
    let database = two_tenants().await;
    let (server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    let application = create(&admin, &with(hosted("web"), "availability", json!("MARKET"))).await;
    subscribe(&database, "plant7", &application).await;

    admin.put(&application, &json!({"availability": "PRIVATE"})).await;

    assert_eq!(admin.delete(&application).await.status, 204);
    assert_eq!(plant7(&server).get(&application).await.status, 404);
}

#[tokio::test]
async fn only_the_owner_with_the_admin_role_may_delete() {
    let database = two_tenants().await;
    let (server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    let private = create(&admin, &hosted("private")).await;
    let market = create(&admin, &with(hosted("market"), "availability", json!("MARKET"))).await;
    let reader = server.user_with("reader", &["ROLE_APPLICATION_MANAGEMENT_READ"]).await;
    let deleter = server.user_with("deleter", &["ROLE_APPLICATION_MANAGEMENT_ADMIN"]).await;

    assert_eq!(reader.delete(&private).await.status, 403);
    assert_eq!(plant7(&server).delete(&market).await.status, 403);
    assert_eq!(plant7(&server).delete(&private).await.status, 404);
    assert_eq!(deleter.delete(&private).await.status, 204);
    for wrong in ["0", "x", "%00", "9223372036854775808"] {
        assert_eq!(admin.delete(&format!("{APPLICATIONS}/{wrong}")).await.status, 404, "{wrong}");
    }
}

#[tokio::test]
async fn deletion_and_subscription_at_once_leave_no_half() {
    let database = two_tenants().await;
    let (_server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();

    for round in 0..10 {
        let body = with(hosted(&format!("web{round}")), "availability", json!("MARKET"));
        let application = create(&admin, &body).await;
        let subscribing = try_to_subscribe(&database, &application);
        let (deleted, subscribed) = tokio::join!(admin.delete(&application), subscribing);
        // One request came first, and the other one was rejected.
        let expected = if subscribed { 409 } else { 204 };
        assert_eq!(deleted.status, expected, "round {round}");
    }
}

/// Returns whether a subscription was added.
async fn try_to_subscribe(database: &TestDatabase, application: &str) -> bool {
    let statement = "INSERT INTO subscriptions (tenant, application, created_at) \
        SELECT 'plant7', id, now() FROM applications WHERE id = $1 FOR KEY SHARE";
    database.execute(statement, &[&super::id_of(application)]).await == 1
}
