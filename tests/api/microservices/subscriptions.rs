//! `/tenant/tenants/<tenant>/applications` (Z-03).

use super::*;

#[tokio::test]
async fn subscription_returns_application_and_tenant() {
    let (server, admin) = TestServer::start().await.with_admin();
    create_reseller(&server, "t7").await;
    let id = create_application(&admin, &microservice("pump")).await;

    let request = management(&server).request("POST", &of_tenant("t7"));
    let request = request.header("Accept", &format!("{MEDIA}applicationReference+json"));
    let request = request.header("Content-Type", &format!("{MEDIA}applicationReference+json"));
    let answer = request.body(reference(&id).to_string()).send().await;

    let base = server.base();
    let link = format!("{base}/tenant/tenants/t7/applications/{id}");
    let expected = json!({
        "self": link,
        "application": {
            "self": format!("{base}/application/applications/{id}"),
            "id": id,
            "name": "pump",
            "type": "MICROSERVICE",
            "availability": "MARKET",
            "owner": {"self": format!("{base}/tenant/tenants/main"), "tenant": {"id": "main"}},
            "contextPath": "pump",
        },
        "tenant": {"self": format!("{base}/tenant/tenants/t7"), "id": "t7"},
    });
    assert_eq!((answer.status, answer.json()), (201, expected));
    assert_eq!(answer.header("Location"), Some(&*link));
    answer.expect_media("applicationReference");
}

#[tokio::test]
async fn application_may_be_named_by_its_self_link() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &external("web")).await;

    let link = format!("{}/application/applications/{id}", server.base());
    let answer = admin.post(&of_tenant("main"), &json!({"application": {"self": link}})).await;

    assert_eq!((answer.status, &answer.json()["application"]["id"]), (201, &json!(id)));
}

#[tokio::test]
async fn second_subscription_is_409() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &microservice("pump")).await;
    subscribe(&admin, "main", &id).await;

    let answer = admin.post(&of_tenant("main"), &reference(&id)).await.expect_error(409, "tenants/Duplicate");

    assert!(answer.message().contains("subscription"), "{}", answer.text);
}

#[tokio::test]
async fn subscriptions_are_listed_in_pages_by_id() {
    let (server, admin) = TestServer::start().await.with_admin();
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(create_application(&admin, &external(&format!("a{n}"))).await);
        subscribe(&admin, "main", &ids[n]).await;
    }

    let answer = admin.get(&format!("{}?pageSize=2&withTotalPages=true", of_tenant("main"))).await;
    let first = answer.json();
    let mut seen = Vec::new();
    let mut link = Some(of_tenant("main") + "?pageSize=2");
    while let Some(path) = link {
        let page = admin.read(&path).await;
        let references = page["references"].as_array().unwrap();
        seen.extend(references.iter().map(|one| one["application"]["id"].as_str().unwrap().to_owned()));
        link = page["next"].as_str().map(ToOwned::to_owned);
    }

    assert_eq!(first["statistics"], json!({"totalPages": 3, "pageSize": 2, "currentPage": 1}));
    assert_eq!(first["references"][0]["self"], format!("{}{}/{}", server.base(), of_tenant("main"), ids[0]));
    assert_eq!(seen, ids);
    answer.expect_media("applicationReferenceCollection");
}

#[tokio::test]
async fn subscription_that_ended_is_404_and_can_be_made_again() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let id = create_application(&admin, &microservice("pump")).await;
    subscribe(&admin, "main", &id).await;

    unsubscribe(&admin, "main", &id).await;

    let path = format!("{}/{id}", of_tenant("main"));
    admin.delete(&path).await.expect_error(404, "tenants/Not Found");
    assert_eq!(admin.read(&of_tenant("main")).await["references"], json!([]));
    subscribe(&admin, "main", &id).await;
    for wrong in ["x", "0", "99999999999999999999", "1e3"] {
        admin.delete(&format!("{}/{wrong}", of_tenant("main"))).await.expect_error(404, "tenants/Not Found");
    }
}

#[tokio::test]
async fn tenants_of_others_are_404_and_unknown_applications_422() {
    let (server, admin) = TestServer::start().await.with_admin();
    create_reseller(&server, "t7").await;
    let id = create_application(&admin, &microservice("pump")).await;

    for tenant in ["t7", "nobody", "No%20Tenant"] {
        let path = of_tenant(tenant);
        assert_eq!(admin.get(&path).await.status, 404, "{tenant}");
        assert_eq!(admin.post(&path, &reference(&id)).await.status, 404, "{tenant}");
        assert_eq!(admin.delete(&format!("{path}/{id}")).await.status, 404, "{tenant}");
    }
    for body in [json!({}), json!({"application": 7}), reference("7"), reference("x"), reference("-1")] {
        admin.post(&of_tenant("main"), &body).await.expect_message(422, "application");
    }
    management(&server).post(&of_tenant("nobody"), &reference(&id)).await.expect(404);
}

#[tokio::test]
async fn subscription_makes_an_application_visible() {
    let (server, admin) = TestServer::start().await.with_admin();
    let boss = create_reseller(&server, "t7").await;
    let id = create_application(&admin, &external("web")).await;
    let path = format!("{APPLICATIONS}/{id}");
    assert_eq!(boss.get(&path).await.status, 404);

    subscribe(&management(&server), "t7", &id).await;
    assert_eq!(boss.read(&path).await["key"], json!(null));

    unsubscribe(&management(&server), "t7", &id).await;
    assert_eq!(boss.get(&path).await.status, 404);
}
