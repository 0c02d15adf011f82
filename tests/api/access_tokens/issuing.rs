//! The response to a valid token request (T-01, T-02, T-04, T-08).

use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

fn milliseconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

#[tokio::test]
async fn response_has_exactly_five_texts() {
    let server = TestServer::shared().await;
    let client = client(&server).await;
    let before = milliseconds();

    let answer = client.ask(&server).await;

    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some("application/json")));
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    let body = answer.json();
    let names: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(names, ["accessToken", "tokenType", "expiresIn", "scope", "issuedAt"]);
    assert!(body.as_object().unwrap().values().all(Value::is_string), "{body}");
    assert_eq!((&body["tokenType"], &body["expiresIn"]), (&json!("BearerToken"), &json!("3599")));
    assert_eq!(body["scope"], "READ WRITE");
    let issued: i64 = body["issuedAt"].as_str().unwrap().parse().unwrap();
    // The database stores microseconds; the response has milliseconds only.
    assert!((before - 1..=milliseconds()).contains(&issued), "{issued}");
}

#[tokio::test]
async fn validity_is_configurable_and_returned_less_one() {
    let server =
        TestServer::start_with(|settings| settings.limits.access_token = Duration::from_secs(600)).await;

    let answer = client(&server).await.ask(&server).await;

    assert_eq!(answer.json()["expiresIn"], "599");
    let left = "SELECT extract(epoch FROM expires_at - issued_at)::bigint FROM access_tokens";
    assert_eq!(server.database().query(left, &[]).await[0].get::<_, i64>(0), 600);
}

#[tokio::test]
async fn scope_is_that_of_the_client() {
    let server = TestServer::shared().await;
    for scope in ["READ", "WRITE", "READ WRITE"] {
        let answer = client_with(&server, scope).await.ask(&server).await;

        assert_eq!(answer.json()["scope"], scope);
    }
}

#[tokio::test]
async fn token_is_opaque_safe_in_addresses_and_never_the_same() {
    let server = TestServer::shared().await;
    let client = client(&server).await;

    let mut tokens = Vec::new();
    for _ in 0..5 {
        tokens.push(client.token(&server).await);
    }

    for token in &tokens {
        // 160 bits are 27 characters of 62 kinds.
        assert!(token.len() >= 27 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{token}");
    }
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 5);
}

#[tokio::test]
async fn every_call_issues_a_token_and_older_ones_stay_good() {
    let server = TestServer::shared().await;
    let client = client(&server).await;
    let first = client.bearer(&server).await;
    assert_eq!(first.get(OBJECTS).await.status, 200);

    let second = client.bearer(&server).await;

    assert_eq!((first.get(OBJECTS).await.status, second.get(OBJECTS).await.status), (200, 200));
}

#[tokio::test]
async fn unknown_members_and_parameters_of_the_type_are_ignored() {
    let server = TestServer::shared().await;
    let client = client(&server).await;
    let mut body = client.request();
    body["scope"] = json!(["ADMIN"]);
    body["deep"] = json!({"grantType": 7});

    for content_type in ["application/json", "Application/JSON ; charset=UTF-8", "application/json;"] {
        let request = server.stranger().request("POST", TOKENS).header("Content-Type", content_type);
        request.header("Accept", "text/html").body(body.to_string()).send().await.expect(200);
    }
}

#[tokio::test]
async fn credentials_of_a_request_for_a_token_are_not_looked_at() {
    let server = TestServer::shared().await;
    let client = client(&server).await;

    let wrong = server.caller("admin", "wrong-secret");
    wrong.request("POST", TOKENS).json(&client.request()).send().await.expect(200);
}

#[tokio::test]
async fn client_of_another_tenant_is_served_at_any_address() {
    let server = TestServer::start_with_tenant("t7", "plant7.example.com").await;
    let admin = server.caller("t7/admin", crate::harness::ADMIN_PASSWORD);
    admin.create(OBJECTS, &json!({"name": "in t7"})).await;
    let client = Client::create(&admin, json!({})).await;

    let bearer = client.bearer(&server).await;

    for host in ["main.localhost", "plant7.example.com", "t7.example.com"] {
        let answer = bearer.request("GET", OBJECTS).header("Host", host).send().await;
        assert_eq!(answer.json()["managedObjects"][0]["name"], "in t7", "{host}");
    }
}
