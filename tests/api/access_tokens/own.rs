//! Tests of the tokens that users request for themselves (T-10): the exchange, renewal and revocation, at every server
//! and on open connections.

use super::*;

const OWN: &str = "/user/currentUser/tokens";
const CURRENT: &str = "/user/currentUser/tokens/current";
const SHORT: Duration = Duration::from_secs(2);

/// Returns a caller with a new token of this user.
async fn exchange(server: &TestServer, user: &Caller, body: &Value) -> Caller {
    let created = user.post(OWN, body).await.expect(201).json();
    server.stranger().with_token(created["accessToken"].as_str().unwrap())
}

async fn tenant_of(server: &TestServer) -> String {
    server.admin().read("/tenant/currentTenant").await["name"].as_str().unwrap().to_owned()
}

/// Creates a user with these roles, and returns it with its password.
async fn user(server: &TestServer, name: &str) -> Caller {
    server.user_with(name, &["ROLE_INVENTORY_READ", "ROLE_USER_MANAGEMENT_OWN_ADMIN"]).await
}

async fn ended(bearer: &Caller) {
    until("the end of the token", async || bearer.get(OBJECTS).await.status == 401).await;
}

#[tokio::test]
async fn password_is_exchanged_for_a_token_that_is_accepted_everywhere() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;

    let created = admin.post(OWN, &json!({"name": "console"})).await.expect(201);
    let shown = created.json();
    let bearer = server.stranger().with_token(shown["accessToken"].as_str().unwrap());

    assert_eq!(created.header("Cache-Control"), Some("no-store"));
    assert_eq!((shown["name"].as_str(), shown["scope"].as_str()), (Some("console"), Some("READ WRITE")));
    assert!((3590..=3600).contains(&shown["expiresIn"].as_u64().unwrap()), "{shown}");
    // REST, a measurement on the fast lane, rows, long polling and a WebSocket.
    bearer.get(OBJECTS).await.expect(200);
    let measurement = measurement_of(&device, "2026-03-04T05:06:07Z", 1);
    for _ in 0..2 {
        bearer.post("/measurement/measurements", &measurement).await.expect(201);
    }
    bearer.request("POST", "/s").body("500\n").send().await.expect(200);
    let session = bearer.listen("/alarms/*").await;
    let (mut socket, _) = Socket::listen(&bearer, "/alarms/*").await;
    admin.raise_alarm(&device, "acme_Hot").await;
    assert_eq!(socket.message().await["data"]["data"]["type"], "acme_Hot");
    drop(session);
}

#[tokio::test]
async fn handshake_of_a_browser_names_the_token_in_its_message() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let created = admin.post(OWN, &json!({})).await.expect(201).json();
    let token = created["accessToken"].as_str().unwrap();
    let writer = admin.post(OWN, &json!({"scope": "WRITE"})).await.expect(201).json();
    let mut socket = Socket::open(&server.stranger(), REALTIME).await;
    let with =
        |token: &str| handshake(json!({"ext": {"com.platform.authn": {"token": format!("Bearer {token}")}}}));

    assert_eq!(socket.ask(with(token)).await["successful"], true);
    for refused in [&"x".repeat(43), writer["accessToken"].as_str().unwrap()] {
        let mut socket = Socket::open(&server.stranger(), REALTIME).await;
        assert_eq!(socket.ask(with(refused)).await["error"], "403::Handshake denied");
    }
}

#[tokio::test]
async fn rights_are_those_of_the_user_at_each_request() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = exchange(&server, &user(&server, "joe").await, &json!({})).await;
    joe.get("/alarm/alarms").await.expect(403);

    let role = json!({"role": {"name": "ROLE_ALARM_READ"}});
    let tenant = tenant_of(&server).await;
    admin.post(&format!("/user/{tenant}/users/joe/roles"), &role).await.expect(201);

    joe.get("/alarm/alarms").await.expect(200);
}

#[tokio::test]
async fn token_of_a_scope_does_nothing_beyond_it() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let reader = exchange(&server, &admin, &json!({"scope": "READ"})).await;

    reader.get(OBJECTS).await.expect(200);
    reader.post(OBJECTS, &json!({"name": "x"})).await.expect_error(403, "security/Forbidden");
}

#[tokio::test]
async fn token_is_no_password() {
    let server = TestServer::shared().await;
    let ann = user(&server, "ann").await;
    let bearer = exchange(&server, &ann, &json!({})).await;

    bearer.post(OWN, &json!({})).await.expect_error(403, "security/Forbidden");
    let change = json!({"password": "secret-2"});
    let refused = bearer.put("/user/currentUser", &change).await.expect_error(403, "security/Forbidden");
    assert!(refused.message().contains("password"), "{}", refused.text);
    bearer.put("/user/currentUser", &json!({"firstName": "Ann"})).await.expect(200);
}

#[tokio::test]
async fn hostile_bodies_and_ids_are_errors() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for body in [
        "[]",
        "1",
        "\"x\"",
        "{\"scope\":\"ALL\"}",
        "{\"scope\":7}",
        "{\"name\":\" \"}",
        "{\"name\":\"\\u0000\"}",
        "{\"validity\":9}",
        "{\"name\":{}}",
    ] {
        let sent =
            admin.request("POST", OWN).header("Content-Type", "application/json").body(body).send().await;
        assert!([400, 422].contains(&sent.status), "{body}: {} {}", sent.status, sent.text);
    }
    admin.request("POST", OWN).header("Content-Type", "text/plain").body("{}").send().await.expect(415);
    for id in ["none", "%00", "..%2F..", "%C3%A9", &"a".repeat(300), "current"] {
        for method in ["GET", "PUT", "DELETE"] {
            admin.request(method, &format!("{OWN}/{id}")).send().await.expect(404);
        }
    }
}

#[tokio::test]
async fn tokens_of_others_are_unknown() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let id = admin.post(OWN, &json!({})).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let joe = user(&server, "joe").await;

    for method in ["GET", "PUT", "DELETE"] {
        joe.request(method, &format!("{OWN}/{id}")).send().await.expect(404);
    }
    assert_eq!(joe.read(OWN).await["tokens"], json!([]));
    admin.get(&format!("{OWN}/{id}")).await.expect(200);
}

#[tokio::test]
async fn list_marks_the_token_of_the_request_and_shows_no_secret() {
    let server = TestServer::shared().await;
    let joe = user(&server, "joe").await;
    let one = exchange(&server, &joe, &json!({"name": "one"})).await;
    exchange(&server, &joe, &json!({"name": "two"})).await;

    let listed = one.read(OWN).await;

    let of = |name: &str| {
        listed["tokens"].as_array().unwrap().iter().find(|token| token["name"] == name).unwrap().clone()
    };
    assert_eq!((&of("one")["current"], &of("two")["current"]), (&json!(true), &json!(false)));
    assert!(!listed.to_string().contains("accessToken"), "{listed}");
    assert_eq!(one.read(CURRENT).await["id"], of("one")["id"]);
}

#[tokio::test]
async fn number_of_tokens_is_bounded_and_the_oldest_goes() {
    let server = TestServer::shared().await;
    let joe = user(&server, "joe").await;
    let first = exchange(&server, &joe, &json!({})).await;
    first.get(OBJECTS).await.expect(200);

    for _ in 0..100 {
        joe.post(OWN, &json!({})).await.expect(201);
    }

    assert_eq!(joe.read(OWN).await["tokens"].as_array().unwrap().len(), 100);
    ended(&first).await;
}

#[tokio::test]
async fn renewed_token_lasts_longer_and_its_socket_too() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.access_token = SHORT).await.with_admin();
    let (renewed, left) =
        (exchange(&server, &admin, &json!({})).await, exchange(&server, &admin, &json!({})).await);
    let mut socket = Socket::open(&renewed, REALTIME).await;
    let mut other = Socket::open(&left, REALTIME).await;

    // The other token expires meanwhile, so the renewed one outlives its first expiry.
    let end = until("the end of the token that was not renewed", async || {
        renewed.put(CURRENT, &json!({})).await.expect(200);
        left.get(OBJECTS).await.status == 401
    });
    end.await;

    assert_eq!(other.closed().await, Some(1008));
    renewed.get(OBJECTS).await.expect(200);
    assert_eq!(socket.ask(handshake(json!({}))).await["successful"], true);
    left.put(CURRENT, &json!({})).await.expect(401);
}

#[tokio::test]
async fn token_is_valid_as_long_as_its_request_says_and_a_renewal_does_not_shorten_it() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let long = exchange(&server, &admin, &json!({"expiresIn": 43200})).await;
    let short = exchange(&server, &admin, &json!({"expiresIn": 2})).await;
    let left = |token: &Value| token["expiresIn"].as_u64().unwrap();

    let renewed = long.put(CURRENT, &json!({})).await.expect(200).json();

    assert!((43190..=43200).contains(&left(&renewed)), "{renewed}");
    ended(&short).await;
    let renewed = exchange(&server, &admin, &json!({"expiresIn": 60})).await.put(CURRENT, &json!({})).await;
    assert!((3590..=3600).contains(&left(&renewed.expect(200).json())));
    for seconds in [json!(0), json!(43201), json!(-1), json!(1.5), json!("60")] {
        let refused = admin.post(OWN, &json!({"expiresIn": seconds})).await.expect(422);
        assert!(refused.text.contains("from 1 to 43200"), "{}", refused.text);
    }
}

#[tokio::test]
async fn revoked_token_ends_at_every_server_with_what_it_holds_open() {
    let one = TestServer::start().await;
    let other = TestServer::start_on(&one.shared_database(), |_| {}).await;
    let here = exchange(&one, &one.admin(), &json!({})).await;
    let there = other.stranger().with_token(here.authorization().unwrap().trim_start_matches("Bearer "));
    there.get(OBJECTS).await.expect(200);
    let (mut socket, _) = Socket::listen(&there, "/alarms/*").await;

    here.delete(CURRENT).await.expect(204);

    here.get(OBJECTS).await.expect(401);
    ended(&there).await;
    assert!([Some(1000), Some(1008)].contains(&socket.closed().await));
    one.admin().get(OBJECTS).await.expect(200);
}

#[tokio::test]
async fn all_tokens_of_a_user_are_revoked_together() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = user(&server, "joe").await;
    let of_joe = [exchange(&server, &joe, &json!({})).await, exchange(&server, &joe, &json!({})).await];
    let of_admin = exchange(&server, &admin, &json!({})).await;

    of_joe[0].delete(OWN).await.expect(204);

    for bearer in &of_joe {
        bearer.get(OBJECTS).await.expect(401);
    }
    of_admin.get(OBJECTS).await.expect(200);
}

#[tokio::test]
async fn new_password_and_disabling_revoke_the_tokens_for_good() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let tenant = tenant_of(&server).await;
    for (name, change) in [("ann", json!({"password": "secret-2"})), ("joe", json!({"enabled": false}))] {
        let bearer = exchange(&server, &user(&server, name).await, &json!({})).await;
        let bystander = exchange(&server, &user(&server, &format!("{name}2")).await, &json!({})).await;
        bearer.get(OBJECTS).await.expect(200);
        let path = format!("/user/{tenant}/users/{name}");

        admin.put(&path, &change).await.expect(200);

        bearer.get(OBJECTS).await.expect(401);
        admin.put(&path, &json!({"enabled": true})).await.expect(200);
        bearer.get(OBJECTS).await.expect(401);
        bystander.get(OBJECTS).await.expect(200);
    }
}

#[tokio::test]
async fn own_new_password_revokes_the_tokens() {
    let server = TestServer::shared().await;
    let ann = user(&server, "ann").await;
    let bearer = exchange(&server, &ann, &json!({})).await;

    ann.put("/user/currentUser", &json!({"password": "secret-2"})).await.expect(200);

    bearer.get(OBJECTS).await.expect(401);
    ann.post(OWN, &json!({})).await.expect(401);
}

#[tokio::test]
async fn deleted_user_takes_its_tokens_along_and_a_namesake_gets_none() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let tenant = tenant_of(&server).await;
    let bearer = exchange(&server, &user(&server, "joe").await, &json!({})).await;

    admin.delete(&format!("/user/{tenant}/users/joe")).await.expect(204);
    bearer.get(OBJECTS).await.expect(401);
    user(&server, "joe").await;

    bearer.get(OBJECTS).await.expect(401);
}
