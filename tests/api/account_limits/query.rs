//! Responses of the limits query, and the order of its checks.

use super::*;

fn assert_refused(answer: &Response, status: u16, title: &str) {
    assert_eq!(
        (answer.status, answer.header("Content-Type")),
        (status, Some("application/json")),
        "{}",
        answer.text
    );
    let body = answer.json();
    assert_eq!((&body["error"]["code"], &body["error"]["title"]), (&json!(status), &json!(title)));
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    let names: Vec<&String> = body["error"].as_object().unwrap().keys().collect();
    assert_eq!(
        (names, body.as_object().unwrap().len()),
        (
            ["code", "title", "message"].iter().map(|n| (*n).to_owned()).collect::<Vec<_>>().iter().collect(),
            1
        )
    );
}

fn defaults() -> Value {
    json!({"limits": {
        "absolute": {
            "maxPersonality": 10,
            "maxPersonalitySize": 10240,
            "maxServerMeta": 128,
            "maxTotalInstances": 128,
            "maxTotalKeypairs": 100,
            "totalInstanceUsed": 0,
        },
        "rate": [],
    }})
}

#[tokio::test]
async fn response_is_the_table_of_the_document() {
    let server = TestServer::start().await;
    let token = enter(&server, ACCOUNT, 60.0).await;

    let answer = ask(&server, ACCOUNT, &token).await;

    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some("application/json")));
    assert_eq!(answer.text, defaults().to_string());
}

#[tokio::test]
async fn neither_accept_nor_content_type_is_looked_at() {
    let server = TestServer::start().await;
    let token = enter(&server, ACCOUNT, 60.0).await;
    let request =
        server.stranger().request("GET", &format!("/v2/{ACCOUNT}/limits")).header("X-Auth-Token", &token);

    let answer = request.header("Accept", "text/html").header("Content-Type", "text/plain").send().await;

    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some("application/json")));
}

#[tokio::test]
async fn account_is_read_in_both_notations_and_any_case() {
    let server = TestServer::start().await;
    let token = enter(&server, ACCOUNT, 60.0).await;
    for account in [
        ACCOUNT,
        "0123456789ABCDEF0123456789ABCDEF",
        "01234567-89ab-cdef-0123-456789abcdef",
        "01234567-89AB-cdef-0123-456789ABCDEF",
        "01234567%2D89ab-cdef-0123-456789abcdef",
    ] {
        assert_eq!(ask(&server, account, &token).await.status, 200, "{account}");
    }
}

#[tokio::test]
async fn missing_unknown_and_expired_tokens_are_401_before_everything() {
    let server = TestServer::start_with(|settings| settings.limits.free_guesses_per_source = 1000).await;
    let good = enter(&server, ACCOUNT, 60.0).await;
    let expired = enter(&server, ACCOUNT, -1.0).await;

    for account in [ACCOUNT, OTHER, "malformed", "%00"] {
        let path = format!("/v2/{account}/limits");
        assert_refused(&server.stranger().get(&path).await, 401, "Unauthorized");
        // Other credentials count as no credentials here.
        assert_refused(&server.admin().get(&path).await, 401, "Unauthorized");
        for token in [
            &*expired,
            &"x".repeat(43),
            "x",
            "",
            &good.to_lowercase(),
            &format!("{good}x"),
            &"x".repeat(5000),
        ] {
            assert_refused(&ask(&server, account, token).await, 401, "Unauthorized");
        }
    }
    assert_eq!(ask(&server, ACCOUNT, &good).await.status, 200);
}

#[tokio::test]
async fn malformed_and_unknown_accounts_are_404() {
    let server = TestServer::start().await;
    let token = enter(&server, ACCOUNT, 60.0).await;
    for account in [
        OTHER,
        "malformed",
        "main",
        "%00",
        "%FF",
        "0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdef0",
        "0123456789abcdef0123456789abcdeg",
        "0123456789abcdef-0123456789abcdef",
        "-01234567-89ab-cdef-0123-456789abcde",
    ] {
        assert_refused(&ask(&server, account, &token).await, 404, "Not Found");
    }
}

#[tokio::test]
async fn account_that_the_token_is_not_for_is_403() {
    let server = TestServer::start().await;
    let token = enter(&server, ACCOUNT, 60.0).await;
    enter(&server, OTHER, 60.0).await;

    assert_refused(&ask(&server, OTHER, &token).await, 403, "Forbidden");
    assert_refused(&ask(&server, &OTHER.to_uppercase(), &token).await, 403, "Forbidden");
}

#[tokio::test]
async fn method_other_than_get_is_405_for_everyone() {
    let (server, admin) = TestServer::start().await.with_admin();
    let token = enter(&server, ACCOUNT, 60.0).await;
    let path = format!("/v2/{ACCOUNT}/limits");
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        for request in [
            server.stranger().request(method, &path),
            admin.request(method, &path),
            server.stranger().request(method, &path).header("X-Auth-Token", &token),
        ] {
            let answer = request.send().await;
            assert_refused(&answer, 405, "Method Not Allowed");
            assert_eq!(answer.header("Allow"), Some("GET"));
        }
    }
}

#[tokio::test]
async fn token_is_good_until_it_expires_at_every_server() {
    let one = TestServer::start().await;
    let other = TestServer::start_on(&one.shared_database(), |_| {}).await;
    let token = enter(&one, ACCOUNT, 1.5).await;
    assert_eq!(
        (ask(&one, ACCOUNT, &token).await.status, ask(&other, ACCOUNT, &token).await.status),
        (200, 200)
    );

    for server in [&one, &other] {
        until("401", async || ask(server, ACCOUNT, &token).await.status == 401).await;
    }
}

#[tokio::test]
async fn tokens_of_the_two_services_are_not_mixed_up() {
    let (server, admin) = TestServer::start().await.with_admin();
    let of_limits = enter(&server, ACCOUNT, 60.0).await;
    let bearer = server.stranger().with_token(&of_limits);

    assert_eq!(bearer.get("/inventory/managedObjects").await.status, 401);
    let created = admin.create("/application/tokenClients", &json!({})).await;
    let body = json!({"grantType": "client_credentials", "clientId": created["clientId"],
        "clientSecret": created["clientSecret"]});
    let issued = server.stranger().post("/v1/oauth/accesstokens", &body).await.json();
    let answer = ask(&server, ACCOUNT, issued["accessToken"].as_str().unwrap()).await;
    assert_refused(&answer, 401, "Unauthorized");
}

#[tokio::test]
async fn guesses_of_tokens_are_slowed_down() {
    let delay = std::time::Duration::from_millis(300);
    let server = TestServer::start_with(|settings| {
        settings.limits.free_guesses_per_source = 0;
        settings.limits.guess_delay = delay;
    })
    .await;
    assert_eq!(ask(&server, ACCOUNT, &"a".repeat(43)).await.status, 401);

    let begun = std::time::Instant::now();
    assert_eq!(ask(&server, ACCOUNT, &"b".repeat(43)).await.status, 401);

    assert!(begun.elapsed() >= delay, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn expired_tokens_are_swept() {
    let server = TestServer::start().await;
    enter(&server, ACCOUNT, -1.0).await;
    let good = enter(&server, ACCOUNT, 60.0).await;

    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;

    until("the sweep", async || server.database().count("limit_tokens").await == 1).await;
    assert_eq!(ask(&other, ACCOUNT, &good).await.status, 200);
}
