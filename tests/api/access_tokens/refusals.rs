//! The errors of the token endpoint (T-03) and its rate limit (T-07).

use super::*;

/// Asserts that the response has this status and the error body of T-03.
fn assert_refused(answer: &Response, status: u16, code: &str, text: &str) {
    assert_eq!(
        (answer.status, answer.header("Content-Type")),
        (status, Some("application/json")),
        "{}",
        answer.text
    );
    assert_eq!(answer.text, json!({"ErrorCode": code, "Error": text}).to_string());
    assert_eq!(answer.header("WWW-Authenticate"), None);
}

async fn post(server: &TestServer, body: &str) -> Response {
    let request = server.stranger().request("POST", TOKENS).header("Content-Type", "application/json");
    request.body(body).send().await
}

#[tokio::test]
async fn body_that_is_not_json_and_a_missing_member_are_400() {
    let server = TestServer::shared().await;
    for (body, name) in [
        ("", "grantType"),
        ("{", "grantType"),
        ("[]", "grantType"),
        ("null", "grantType"),
        ("\"client_credentials\"", "grantType"),
        ("{}", "grantType"),
        ("\u{feff}{}", "grantType"),
        (r#"{"grant_type":"client_credentials","client_id":"k","client_secret":"s"}"#, "grantType"),
        (r#"{"grantType":"client_credentials"}"#, "clientId"),
        (r#"{"grantType":"client_credentials","clientId":null,"clientSecret":"s"}"#, "clientId"),
        (r#"{"grantType":"client_credentials","clientId":"k"}"#, "clientSecret"),
    ] {
        let text = format!("The request is missing a required parameter : {name}");
        assert_refused(&post(&server, body).await, 400, "invalid_request", &text);
    }
}

#[tokio::test]
async fn member_that_is_not_a_text_counts_as_missing() {
    let server = TestServer::shared().await;
    let client = client(&server).await;
    for name in ["grantType", "clientId", "clientSecret"] {
        for value in [json!(7), json!(true), json!([client.secret]), json!({"value": client.secret})] {
            let mut body = client.request();
            body[name] = value;
            let text = format!("The request is missing a required parameter : {name}");
            assert_refused(&post(&server, &body.to_string()).await, 400, "invalid_request", &text);
        }
    }
}

#[tokio::test]
async fn other_grant_type_is_400_and_named() {
    let server = TestServer::shared().await;
    for grant_type in ["password", "authorization_code", "CLIENT_CREDENTIALS", "client_credentials ", ""] {
        let mut body = client(&server).await.request();
        body["grantType"] = json!(grant_type);

        let text = format!("Unsupported grant type : {grant_type}");
        assert_refused(&post(&server, &body.to_string()).await, 400, "invalid_request", &text);
    }
}

#[tokio::test]
async fn unknown_client_and_wrong_secret_look_the_same() {
    let server = TestServer::start_with(|settings| settings.limits.free_guesses_per_source = 1000).await;
    let good = client(&server).await;
    let other = client(&server).await;
    let with = |id: &str, secret: &str| Client { id: id.into(), secret: secret.into() };

    for wrong in [
        with(&good.id, "wrong"),
        with(&good.id, ""),
        with(&good.id, &other.secret),
        with(&good.id, &good.secret.to_lowercase()),
        with(&good.id, &format!("{}\u{0}", good.secret)),
        with(&good.id.to_lowercase(), &good.secret),
        with("nobody", &good.secret),
        with("", &good.secret),
        with("-", &good.secret),
        with("' OR 1=1 --", &good.secret),
        with("\u{0}", &good.secret),
        with(&"x".repeat(5000), &"y".repeat(5000)),
        with("admin", "admin-secret"),
    ] {
        assert_refused(&wrong.ask(&server).await, 401, "invalid_client", "ClientId is Invalid");
    }
    assert_eq!(good.ask(&server).await.status, 200);
}

#[tokio::test]
async fn client_of_a_disabled_user_and_of_a_suspended_tenant_is_as_unknown() {
    let server = TestServer::start_with_tenant("t7", "plant7.example.com").await;
    let joe = server.user_with("joe", &["ROLE_APPLICATION_MANAGEMENT_ADMIN"]).await;
    let of_joe = Client::create(&joe, json!({})).await;
    let of_t7 = server.caller("t7/admin", crate::harness::ADMIN_PASSWORD);
    let of_t7 = Client::create(&of_t7, json!({})).await;
    assert_eq!((of_joe.ask(&server).await.status, of_t7.ask(&server).await.status), (200, 200));

    server.database().execute("UPDATE users SET enabled = false WHERE name = 'joe'", &[]).await;
    server.database().execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 't7'", &[]).await;

    for client in [of_joe, of_t7] {
        assert_refused(&client.ask(&server).await, 401, "invalid_client", "ClientId is Invalid");
    }
}

#[tokio::test]
async fn content_type_other_than_json_is_415() {
    let server = TestServer::shared().await;
    let body = client(&server).await.request().to_string();
    let media_type = format!("{}tokenClient+json", crate::harness::MEDIA);

    for content_type in [
        Some("application/x-www-form-urlencoded"),
        Some("text/plain"),
        Some("application/jsonx"),
        Some("text/plain, application/json"),
        Some(""),
        Some(&media_type),
        None,
    ] {
        let request = server.stranger().request("POST", TOKENS);
        let request =
            content_type.into_iter().fold(request, |request, value| request.header("Content-Type", value));
        let answer = request.body(&*body).send().await;
        assert_refused(&answer, 415, "invalid_request", "Content-Type must be application/json");
    }
}

#[tokio::test]
async fn method_other_than_post_is_405_for_everyone() {
    let server = TestServer::shared().await;
    for caller in [server.stranger(), server.caller("admin", "wrong-secret"), server.admin()] {
        for method in ["GET", "PUT", "DELETE", "PATCH"] {
            let answer = caller.request(method, TOKENS).send().await;
            assert_refused(&answer, 405, "invalid_request", "Method not allowed");
            assert_eq!(answer.header("Allow"), Some("POST"));
        }
    }
    // An emulated method gets the same response.
    let emulated = server.stranger().request("POST", TOKENS).header("X-HTTP-METHOD", "DELETE");
    assert_refused(&emulated.send().await, 405, "invalid_request", "Method not allowed");
    assert_eq!(server.stranger().request("HEAD", TOKENS).send().await.status, 405);
}

#[tokio::test]
async fn requests_above_the_rate_are_429_with_retry_after() {
    let server = TestServer::start_with(|settings| {
        settings.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let client = client(&server).await;
    let ask = async |address: &str| {
        let request = server.stranger().from(address).request("POST", TOKENS);
        request.json(&client.request()).send().await
    };

    let answers = futures_util::future::join_all((0..63).map(|_| ask("192.0.2.1"))).await;
    let refused: Vec<&Response> = answers.iter().filter(|answer| answer.status != 200).collect();

    // The bucket gains one request a second, so on a slow machine one more may have been admitted.
    assert!((1..=3).contains(&refused.len()), "{} of 63 are refused", refused.len());
    for answer in refused {
        let wait: u64 = answer.header("Retry-After").unwrap().parse().unwrap();
        let text = format!("Too many requests for a token from this address, try again in {wait} seconds");
        assert_refused(answer, 429, "rate_limit_exceeded", &text);
        assert!((1..=3).contains(&wait), "{wait}");
    }
    assert_eq!(ask("192.0.2.2").await.status, 200, "another address is not concerned");
}

#[tokio::test]
async fn limit_is_configurable_counts_bad_requests_and_lets_in_again() {
    let server = TestServer::start_with(|settings| settings.limits.token_requests = 120).await;
    let client = client(&server).await;

    let bad = futures_util::future::join_all((0..140).map(|_| post(&server, "{}"))).await;
    let count = |status: u16| bad.iter().filter(|answer| answer.status == status).count();

    assert!(count(400) >= 120 && count(429) >= 1 && count(400) + count(429) == 140, "{}", count(429));
    until("a token", async || client.ask(&server).await.status == 200).await;
}

#[tokio::test]
async fn guesses_of_secrets_are_slowed_down() {
    let server = TestServer::start_with(|settings| {
        settings.limits.free_guesses_per_source = 0;
        settings.limits.guess_delay = Duration::from_millis(300);
    })
    .await;
    let good = client(&server).await;
    let wrong = Client { secret: "wrong".into(), ..good.clone() };
    assert_eq!(wrong.ask(&server).await.status, 401);

    let begun = std::time::Instant::now();
    assert_eq!(wrong.ask(&server).await.status, 401);

    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn body_over_64_kib_is_refused() {
    let server = TestServer::shared().await;
    let mut body = client(&server).await.request();
    body["padding"] = json!("x".repeat(64 << 10));

    let answer = post(&server, &body.to_string()).await;

    assert_refused(&answer, 413, "invalid_request", "The body is larger than the 65536 bytes allowed");
}

#[tokio::test]
async fn no_refusal_repeats_the_secret() {
    let server = TestServer::start_with(|settings| settings.debug_errors = true).await;
    let client = client(&server).await;
    let secret = "canary-of-a-secret";
    let bodies = [
        json!({"grantType": "client_credentials", "clientId": client.id, "clientSecret": secret}).to_string(),
        json!({"grantType": "x", "clientId": client.id, "clientSecret": secret}).to_string(),
        json!({"grantType": "client_credentials", "clientSecret": secret}).to_string(),
        json!({"grantType": "client_credentials", "clientId": client.id, "clientSecret": [secret]})
            .to_string(),
        format!("{{\"clientSecret\":\"{secret}"),
    ];
    for body in bodies {
        let answer = post(&server, &body).await;
        assert!(answer.status >= 400 && !answer.text.contains(secret), "{}", answer.text);
    }
}

#[tokio::test]
async fn server_error_has_the_same_form() {
    let server = TestServer::start().await;
    let client = client(&server).await;
    let database = server.database();
    database.execute("ALTER TABLE token_clients RENAME TO hidden", &[]).await;

    let broken = client.ask(&server).await;
    database.execute("ALTER TABLE hidden RENAME TO token_clients", &[]).await;

    let body: Value = broken.json();
    assert_eq!((broken.status, &body["ErrorCode"]), (500, &json!("server_error")), "{body}");
    assert_eq!(body["Error"], "Internal Server Error");
}
