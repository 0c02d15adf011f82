//! What nobody but its owner may learn: keys, passwords (W-06, W-10; secrets at rest).

use serde_json::json;

use super::{APPLICATIONS, hosted, microservice};
use crate::harness::TestServer;

#[tokio::test]
async fn dump_of_the_database_holds_no_secret_of_an_application() {
    let server = TestServer::start().await;
    let admin = server.admin();
    let mut body = hosted("web");
    body["key"] = json!("canary-of-a-key");
    body["resourcesPassword"] = json!("canary-of-a-password");
    body["resourcesUsername"] = json!("no-secret");
    admin.create(APPLICATIONS, &body).await;
    let mut service = microservice("pump");
    service["key"] = json!("canary-of-a-service");
    admin.create(APPLICATIONS, &service).await;

    let dump = server.database().dump().await;

    assert!(dump.contains("no-secret") && dump.contains("servicebootstrap_pump"), "the dump is whole");
    for (canary, _) in dump.match_indices("canary") {
        panic!("a secret in clear: {}", &dump[canary.saturating_sub(200)..]);
    }
}

#[tokio::test]
async fn resources_password_is_in_no_answer() {
    let server = TestServer::start().await;
    let mut body = hosted("web");
    body["resourcesPassword"] = json!("hush-hush");

    let created = server.admin().post(APPLICATIONS, &body).await;
    let read = server.admin().get(created.header("Location").unwrap()).await;
    body["resourcesPassword"] = json!(["hush-hush"]);
    let refused = server.admin().post(APPLICATIONS, &body).await;

    assert_eq!((created.status, read.status, refused.status), (201, 200, 422));
    for answer in [created, read, refused] {
        assert!(!answer.text.contains("hush"), "{}", answer.text);
    }
}

#[tokio::test]
async fn key_is_not_repeated_when_it_is_refused() {
    let server = TestServer::start().await;
    let mut body = hosted("web");
    body["key"] = json!("hush-hush ");

    let answer = server.admin().post(APPLICATIONS, &body).await;

    assert_eq!(answer.status, 422);
    assert!(answer.message().contains("'key'") && !answer.text.contains("hush"), "{}", answer.text);
}
