//! The gateway check: every path of the platform demands an access token (T-05).

use super::*;

/// Starts a server with the gateway check, and one on the same database without it.
async fn servers() -> (TestServer, TestServer) {
    let open = TestServer::start().await;
    let checking =
        TestServer::start_on(&open.shared_database(), |settings| settings.gateway_check = true).await;
    (open, checking)
}

fn assert_refused(answer: &Response, text: &str, code: &str) {
    assert_eq!((answer.status, answer.header("WWW-Authenticate")), (401, Some("Bearer")), "{}", answer.text);
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    let body = json!({"fault": {"faultstring": text, "detail": {"errorcode": code}}});
    assert_eq!(answer.text, body.to_string());
}

fn assert_invalid(answer: &Response) {
    assert_refused(answer, "Invalid Access Token", "keymanagement.service.invalid_access_token");
}

#[tokio::test]
async fn good_token_comes_in_with_its_scope() {
    let (open, server) = servers().await;
    let all = client(&open).await.bearer(&server).await;
    let reader = super::client_with(&open, "READ").await.bearer(&server).await;

    assert_eq!((all.get(OBJECTS).await.status, reader.get(OBJECTS).await.status), (200, 200));
    reader.post(OBJECTS, &json!({})).await.expect_error(403, "security/Forbidden");
}

#[tokio::test]
async fn everything_else_is_an_invalid_access_token() {
    use crate::harness::issuer::{RSA_2048, upload};
    let (open, server) = servers().await;
    upload(open.database(), "main", RSA_2048.name, RSA_2048.public).await;
    let jwt = RSA_2048.token_of("admin");
    assert_eq!(open.stranger().with_token(&jwt).get(OBJECTS).await.status, 200);

    for caller in [
        server.stranger(),
        server.admin(),
        server.caller("admin", "wrong-secret"),
        server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD),
        server.stranger().with_token(&jwt),
        server.stranger().with_token(&"x".repeat(43)),
        server.stranger().with_token("x"),
        server.stranger().with_token(""),
    ] {
        assert_invalid(&caller.get(OBJECTS).await);
    }
    let digest = server.stranger().request("GET", OBJECTS).header("Authorization", "Digest x").send().await;
    assert_invalid(&digest);
}

#[tokio::test]
async fn every_kind_of_path_is_checked() {
    let (_, server) = servers().await;
    let admin = server.admin();

    for (method, path) in [
        ("GET", "/platform"),
        ("GET", "/tenant/currentTenant"),
        ("GET", "/unknown"),
        ("PATCH", OBJECTS),
        ("POST", REALTIME),
        ("POST", "/s"),
        ("POST", "/devicecontrol/deviceCredentials"),
        ("GET", CLIENTS),
    ] {
        assert_invalid(&admin.request(method, path).body("{}").send().await);
    }
}

#[tokio::test]
async fn expired_token_has_an_error_of_its_own() {
    let open = TestServer::start_with(|settings| settings.limits.access_token = Duration::from_secs(1)).await;
    let server =
        TestServer::start_on(&open.shared_database(), |settings| settings.gateway_check = true).await;
    let client = client(&open).await;
    let bearer = server.stranger().with_token(&client.token(&open).await);

    let refused = eventually("the end of the token", async || {
        let answer = bearer.get(OBJECTS).await;
        (answer.status != 200).then_some(answer)
    })
    .await;

    assert_refused(&refused, "Access Token expired", "keymanagement.service.access_token_expired");
}

#[tokio::test]
async fn interfaces_with_other_credentials_stay_open() {
    let (open, server) = servers().await;
    let client = client(&open).await;
    let stranger = server.stranger();

    assert_eq!(stranger.request("POST", TOKENS).json(&client.request()).send().await.status, 200);
    let limits = stranger.get("/v2/0123456789abcdef0123456789abcdef/limits").await;
    assert_eq!((limits.status, limits.json()["error"]["code"].as_u64()), (401, Some(401)));
    for path in ["/tenant/loginOptions", "/health/live", "/health/ready", "/metrics"] {
        assert_eq!(stranger.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn websocket_needs_a_token_at_its_upgrade_and_takes_no_password_later() {
    let (open, server) = servers().await;
    let bearer = client(&open).await.bearer(&server).await;

    let refused = Socket::try_open(&server.stranger(), REALTIME).await;
    let (mut socket, _) = Socket::listen(&bearer, "/alarms/*").await;

    assert!(refused.unwrap_err().to_string().contains("401"));
    let basic = server.caller("admin", ADMIN_PASSWORD).authorization();
    let more = json!({"ext": {"com.platform.authn": {"token": basic}}});
    assert_eq!(socket.ask(handshake(more)).await["successful"], false);
}

#[tokio::test]
async fn long_poll_and_rows_come_in_by_a_token() {
    let (open, server) = servers().await;
    let bearer = client(&open).await.bearer(&server).await;
    let session = bearer.listen("/alarms/*").await;
    let device = bearer.create_device("pump").await;
    bearer.raise_alarm(&device, "leak").await;

    let batch = session.connect().await;
    let rows = bearer.request("POST", "/s").accepting_json().body("99999\n").send().await;

    assert_eq!(crate::harness::notifications(&batch).len(), 1);
    assert_eq!((rows.status, rows.text.trim()), (200, "43,1,Invalid message identifier"));
}

#[tokio::test]
async fn device_registers_through_a_client_of_the_bootstrap_user() {
    let (open, server) = servers().await;
    let management = open.caller("management/admin", ADMIN_PASSWORD);
    let client = Client::create(&management, json!({"user": "devicebootstrap"})).await;
    let device = client.bearer(&server).await;

    device.post("/devicecontrol/deviceCredentials", &json!({"id": "sn-1"})).await.expect(404);

    assert_eq!(device.get(OBJECTS).await.status, 403);
}
