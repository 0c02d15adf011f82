//! Clients of the token service over REST: who may create them, for which user, and with which scope.

use super::*;

const ROLE: &str = "ROLE_APPLICATION_MANAGEMENT_ADMIN";

#[tokio::test]
async fn created_client_is_returned_with_its_secret_and_read_without() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let body =
        json!({"name": "dashboard", "scope": "WRITE READ", "clientId": "mine", "clientSecret": "mine"});

    let answer = admin.request("POST", CLIENTS).json(&body).send().await;

    // The body is returned without `Accept` too, because the secret would be lost otherwise.
    assert_eq!(answer.status, 201, "{}", answer.text);
    let media_type = format!("{MEDIA}tokenClient+json;ver=0.9;charset=UTF-8");
    assert_eq!(answer.header("Content-Type"), Some(&*media_type));
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    let created = answer.json();
    let names: Vec<&String> = created.as_object().unwrap().keys().collect();
    assert_eq!(names, ["self", "clientId", "name", "user", "scope", "creationTime", "clientSecret"]);
    assert_eq!(
        (&created["name"], &created["user"], &created["scope"]),
        (&json!("dashboard"), &json!("admin"), &json!("READ WRITE"))
    );
    let (id, secret) = (created["clientId"].as_str().unwrap(), created["clientSecret"].as_str().unwrap());
    assert!(id.len() == 20 && secret.len() == 20 && id != secret && id != "mine", "{created}");
    let link = format!("{}{CLIENTS}/{id}", server.base());
    assert_eq!((created["self"].as_str(), answer.header("Location")), (Some(&*link), Some(&*link)));
    assert_eq!(admin.read(&link).await, without(&created, &["clientSecret"]));
}

#[tokio::test]
async fn everything_has_a_default() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let created = admin.create(CLIENTS, &json!({})).await;

    assert_eq!((&created["name"], &created["user"]), (&json!("admin"), &json!("admin")));
    assert_eq!(created["scope"], "READ WRITE");
}

#[tokio::test]
async fn wrong_body_is_refused_by_the_name_of_the_member() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for (body, status, named) in [
        (r#"{"scope":"ALL"}"#, 422, "scope"),
        (r#"{"scope":""}"#, 422, "scope"),
        (r#"{"scope":["READ"]}"#, 422, "scope"),
        (r#"{"scope":"read"}"#, 422, "scope"),
        (r#"{"user":7}"#, 422, "user"),
        (r#"{"user":"nobody"}"#, 422, "nobody"),
        (r#"{"user":""}"#, 422, "user"),
        (r#"{"name":" "}"#, 422, "name"),
        (r#"{"name":{}}"#, 422, "name"),
        ("", 422, "Representation"),
        ("{", 400, "JSON"),
        ("[]", 400, "JSON"),
    ] {
        let request = admin.request("POST", CLIENTS).header("Content-Type", "application/json");
        let answer = request.body(body).send().await.expect(status);
        assert!(answer.message().contains(named), "{body}: {}", answer.text);
    }
}

#[tokio::test]
async fn clients_are_listed_page_by_page_and_of_the_own_tenant_only() {
    let (server, admin) = TestServer::start_with_tenant("t7", "plant7.example.com").await.with_admin();
    let foreign = Client::create(&server.caller("t7/admin", ADMIN_PASSWORD), json!({})).await;
    let mut made = Vec::new();
    for _ in 0..7 {
        made.push(client(&server).await.id);
    }
    made.sort();

    let pages = admin.pages(&format!("{CLIENTS}?pageSize=3&withTotalPages=true")).await;

    assert_eq!(pages[0]["statistics"]["totalPages"], 3);
    assert!(!json!(pages).to_string().contains("clientSecret"), "{pages:?}");
    let found: Vec<_> =
        pages.iter().flat_map(|page| member_texts(page, "tokenClients", "clientId")).collect();
    assert_eq!(found, made);
    let path = format!("{CLIENTS}/{}", foreign.id);
    assert_eq!((admin.get(&path).await.status, admin.delete(&path).await.status), (404, 404));
    assert_eq!(foreign.ask(&server).await.status, 200);
}

#[tokio::test]
async fn unknown_client_is_404() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let client = client(&server).await;
    let path = format!("{CLIENTS}/{}", client.id);
    assert_eq!(admin.delete(&path).await.status, 204);

    for path in [&*path, &format!("{CLIENTS}/x"), &format!("{CLIENTS}/%00"), &format!("{CLIENTS}/a%2Fb")] {
        admin.get(path).await.expect_error(404, "application/Not Found");
        assert_eq!(admin.delete(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn clients_need_the_role_of_applications() {
    let server = TestServer::shared().await;
    let joe =
        server.user_with("joe", &["ROLE_APPLICATION_MANAGEMENT_READ", "ROLE_USER_MANAGEMENT_ADMIN"]).await;
    let path = format!("{CLIENTS}/{}", client(&server).await.id);

    assert_eq!(joe.get(CLIENTS).await.status, 403);
    assert_eq!(joe.post(CLIENTS, &json!({})).await.status, 403);
    assert_eq!(joe.get(&path).await.status, 403);
    assert_eq!(joe.delete(&path).await.status, 403);
}

#[tokio::test]
async fn client_for_another_user_needs_the_right_to_administer_users() {
    let server = TestServer::shared().await;
    let joe = server.user_with("joe", &[ROLE]).await;
    let boss = server.user_with("boss", &[ROLE, "ROLE_USER_MANAGEMENT_ADMIN"]).await;

    let refused = joe.post(CLIENTS, &json!({"user": "admin"})).await;
    let unknown = joe.post(CLIENTS, &json!({"user": "nobody"})).await;
    let own = joe.post(CLIENTS, &json!({"user": "joe"})).await;
    let by_boss = boss.post(CLIENTS, &json!({"user": "admin"})).await;

    // A caller without the right does not learn which clients exist.
    assert_eq!((refused.status, unknown.status), (403, 403));
    assert_eq!((own.status, by_boss.status), (201, 201));
}

#[tokio::test]
async fn user_of_a_microservice_is_named_by_nobody() {
    let (server, admin) = TestServer::start().await.with_admin();
    let database = server.database();
    let application = "INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, \
        required_roles, roles, created_at) \
        VALUES ('main', 7, 'ms', 'MICROSERVICE', 'PRIVATE', 'h', 's', '{}', '{}', now())";
    database.execute(application, &[]).await;
    let user = "INSERT INTO users (tenant, name, enabled, roles, created_at, application, duty, sealed_password) \
        VALUES ('main', 'service_ms', true, '{}', now(), 7, 'SERVICE', 'x')";
    database.execute(user, &[]).await;

    admin.post(CLIENTS, &json!({"user": "service_ms"})).await.expect_message(422, "service_ms");
}

#[tokio::test]
async fn token_makes_no_client_of_a_wider_scope() {
    let server = TestServer::shared().await;
    let writer = client_with(&server, "WRITE").await.bearer(&server).await;
    let all = client(&server).await.bearer(&server).await;

    for scope in [json!("READ WRITE"), json!("READ"), json!(null)] {
        writer.post(CLIENTS, &json!({"scope": scope})).await.expect_error(403, "security/Forbidden");
    }
    assert_eq!(writer.post(CLIENTS, &json!({"scope": "WRITE"})).await.status, 201);
    assert_eq!(all.post(CLIENTS, &json!({})).await.status, 201);
}

#[tokio::test]
async fn media_types_are_those_of_the_interface() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let post = |content_type: &str, accept: &str| {
        let request = admin.request("POST", CLIENTS).header("Content-Type", content_type);
        request.header("Accept", accept).body("{}").send()
    };
    let own = format!("{MEDIA}tokenClient+json;ver=0.9");

    assert_eq!(post(&own, &own).await.status, 201);
    assert_eq!(post("text/plain", &own).await.status, 415);
    assert_eq!(post(&own, "text/html").await.status, 406);
    let list = admin
        .request("GET", CLIENTS)
        .header("Accept", &format!("{MEDIA}tokenClientCollection+json"))
        .send()
        .await;
    assert_eq!(
        list.header("Content-Type"),
        Some(&*format!("{MEDIA}tokenClientCollection+json;ver=0.9;charset=UTF-8"))
    );
    assert_eq!(admin.get(OBJECTS).await.status, 200);
}
