//! Secrets that only the owner of an application may read: keys and passwords (W-06, W-10), and how they are stored.

use super::*;

#[tokio::test]
async fn dump_of_the_database_holds_no_secret_of_an_application() {
    let (server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("web");
    body["key"] = json!("canary-of-a-key");
    body["resourcesPassword"] = json!("canary-of-a-password");
    body["resourcesUsername"] = json!("no-secret");
    let web = create(&admin, &body).await;
    assert_eq!(admin.post(&format!("{web}/clone"), &json!({})).await.status, 201);
    let service = create(&admin, &with(microservice("pump"), "key", json!("canary-of-a-service"))).await;
    let changed = json!({"key": "canary-of-a-change", "resourcesPassword": "canary-of-another-password"});
    assert_eq!(admin.put(&web, &changed).await.status, 200);
    let bootstrap = admin.read(&format!("{service}/bootstrapUser")).await["password"].clone();
    let standard = management(&server).read("/application/applicationsByOwner/management?pageSize=100").await;
    let keys = member_texts(&standard, "applications", "key");

    let dump = server.database().dump().await;

    assert!(dump.contains("no-secret") && dump.contains("servicebootstrap_pump"), "the dump is whole");
    let secrets = ["canary", bootstrap.as_str().unwrap()].into_iter().chain(keys.iter().map(String::as_str));
    for secret in secrets {
        let row = dump.lines().find(|row| row.contains(secret));
        assert_eq!(row, None, "{secret} in clear");
    }
}

#[tokio::test]
async fn resources_password_is_in_no_response() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("web");
    body["resourcesPassword"] = json!("hush-hush");

    let created = admin.post(APPLICATIONS, &body).await;
    let read = admin.get(created.header("Location").unwrap()).await;
    body["resourcesPassword"] = json!(["hush-hush"]);
    let refused = admin.post(APPLICATIONS, &body).await;

    assert_eq!((created.status, read.status, refused.status), (201, 200, 422));
    for answer in [created, read, refused] {
        assert!(!answer.text.contains("hush"), "{}", answer.text);
    }
}

#[tokio::test]
async fn key_is_not_repeated_when_it_is_refused() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let mut body = hosted("web");
    body["key"] = json!("hush-hush ");

    let answer = admin.post(APPLICATIONS, &body).await.expect_message(422, "'key'");
    assert!(!answer.text.contains("hush"), "{}", answer.text);
}
