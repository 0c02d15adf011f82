//! Tests how often an address may ask for credentials (E-06).

use super::*;

const HERE: &str = "192.0.2.1";
const ELSEWHERE: &str = "198.51.100.1";

async fn limited_to(count: u32) -> TestServer {
    TestServer::start_with(|settings| {
        settings.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        settings.limits.credential_polls = count;
    })
    .await
}

async fn poll_from(server: &TestServer, address: &str) -> Response {
    bootstrap(server).from(address).post(CREDENTIALS, &json!({"id": "sn-1"})).await
}

#[tokio::test]
async fn address_that_polls_too_often_gets_429_with_retry_after() {
    // One more request is allowed every twenty seconds, which is longer than this test takes.
    let server = limited_to(3).await;
    for _ in 0..3 {
        assert_eq!(poll_from(&server, HERE).await.status, 404);
    }

    let answer = poll_from(&server, HERE).await.expect(429);

    let seconds: u64 = answer.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=20).contains(&seconds), "{seconds}");
    let text = format!("Too many polls for credentials from this address, try again in {seconds} seconds");
    assert_eq!(answer.message(), text);
}

#[tokio::test]
async fn other_addresses_are_served() {
    let server = limited_to(1).await;
    poll_from(&server, HERE).await;
    assert_eq!(poll_from(&server, HERE).await.status, 429);

    assert_eq!(poll_from(&server, ELSEWHERE).await.status, 404);
}

#[tokio::test]
async fn limit_is_for_polls_alone() {
    let server = limited_to(1).await;
    poll_from(&server, HERE).await;
    assert_eq!(poll_from(&server, HERE).await.status, 429);

    assert_eq!(server.admin().from(HERE).get(super::REQUESTS).await.status, 200);
    let refused = server.admin().from(HERE).post(CREDENTIALS, &json!({"id": "sn-1"})).await;
    assert_eq!(refused.status, 403, "who may not ask at all takes nothing from those who may");
}
