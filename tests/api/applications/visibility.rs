//! Tests which tenants see an application, and which of its members (W-05 to W-07).

use super::*;

#[tokio::test]
async fn tenant_sees_its_own_those_of_the_market_and_those_it_subscribes_to() {
    let (server, database) = with_two_tenants().await;
    let (main, plant7) = (server.admin(), plant7(&server));
    let private = create(&main, &hosted("private")).await;
    let market = create(&main, &with(hosted("market"), "availability", json!("MARKET"))).await;
    let subscribed = create(&main, &hosted("subscribed")).await;
    subscribe(&database, "plant7", &subscribed).await;
    create(&plant7, &hosted("own")).await;

    assert_eq!(names_in(&plant7, APPLICATIONS).await, ["market", "subscribed", "own"]);
    assert_eq!(names_in(&main, APPLICATIONS).await, ["private", "market", "subscribed"]);
    assert_eq!(names_in(&management(&server), APPLICATIONS).await, ["market"]);
    for (application, status) in [(&private, 404), (&market, 200), (&subscribed, 200)] {
        plant7.get(application).await.expect(status);
    }
}

#[tokio::test]
async fn what_is_not_seen_and_what_is_not_there_look_alike() {
    let (server, _database) = with_two_tenants().await;
    let private = create(&server.admin(), &hosted("private")).await;
    let id = private.rsplit('/').next().unwrap();

    let unseen = plant7(&server).get(&private).await;
    let absent = plant7(&server).get(&format!("{APPLICATIONS}/4711")).await;

    assert_eq!((unseen.status, unseen.error().as_str()), (404, "application/Not Found"));
    let message = "Finding application from database failed : No application for gid '4711'!";
    assert_eq!(absent.message(), message);
    assert_eq!(unseen.text.replace(id, "4711"), absent.text);
}

#[tokio::test]
async fn key_and_user_of_the_resources_are_for_the_owner_only() {
    let (server, database) = with_two_tenants().await;
    let (main, plant7) = (server.admin(), plant7(&server));
    let mut body = with(hosted("web"), "availability", json!("MARKET"));
    body["resourcesUsername"] = json!("joe");
    let web = create(&main, &body).await;
    let owned = main.read(&web).await;
    assert_eq!((&owned["key"], &owned["resourcesUsername"]), (&json!("web-key"), &json!("joe")));

    let expected = without(&owned, &["key", "resourcesUsername"]);

    assert_eq!(plant7.read(&web).await, expected);
    assert_eq!(management(&server).read(&web).await, expected);
    subscribe(&database, "plant7", &web).await;
    for list in [
        "/application/applications",
        "/application/applicationsByName/web",
        "/application/applicationsByOwner/main",
        "/application/applicationsByTenant/plant7",
    ] {
        let page = plant7.read(&format!("{list}?pageSize=100")).await;
        let web = page["applications"].as_array().unwrap().iter().find(|shown| shown["name"] == "web");
        assert_eq!(web, Some(&expected), "{list}");
    }
}

#[tokio::test]
async fn every_reader_of_the_owners_tenant_sees_the_key() {
    let (server, admin) = TestServer::start().await.with_admin();
    let web = create(&admin, &hosted("web")).await;
    let reader = server.user_with("reader", &["ROLE_APPLICATION_MANAGEMENT_READ"]).await;

    assert_eq!(reader.read(&web).await["key"], "web-key");
}

#[tokio::test]
async fn what_is_taken_from_the_market_is_gone_for_others_at_once() {
    let (server, _database) = with_two_tenants().await;
    let web = create(&server.admin(), &with(hosted("web"), "availability", json!("MARKET"))).await;
    assert_eq!(plant7(&server).get(&web).await.status, 200);

    server.admin().put(&web, &json!({"availability": "PRIVATE"})).await;

    assert_eq!(plant7(&server).get(&web).await.status, 404);
    assert_eq!(names_in(&plant7(&server), APPLICATIONS).await, [""; 0]);
}

#[tokio::test]
async fn owner_is_a_tenant_with_its_link() {
    let (server, admin) = TestServer::start().await.with_admin();
    let web = create(&admin, &hosted("web")).await;

    let owner: Value = admin.read(&web).await["owner"].clone();

    let link = format!("{}/tenant/tenants/main", server.base());
    assert_eq!(owner, json!({"self": link, "tenant": {"id": "main"}}));
}
