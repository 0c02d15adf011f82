//! Access tokens as bearer tokens: the user they act as, and the requests that their scope allows (T-05, T-06).

use super::*;

#[tokio::test]
async fn bearer_is_the_user_of_the_client_with_its_own_roles() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_INVENTORY_CREATE"]).await;
    let client = Client::create(&admin, json!({"user": "joe"})).await;
    let bearer = client.bearer(&server).await;

    let created = bearer.create(OBJECTS, &json!({"name": "pump"})).await;
    let alarms = bearer.get("/alarm/alarms").await;

    assert_eq!(created["owner"], "joe");
    assert_eq!((alarms.status, alarms.error().as_str()), (403, "security/Forbidden"));
    drop(joe);
}

#[tokio::test]
async fn scheme_is_read_in_any_case() {
    let server = TestServer::shared().await;
    let token = client(&server).await.token(&server).await;

    for scheme in ["Bearer", "bearer", "BEARER  "] {
        let request = server.stranger().request("GET", OBJECTS);
        assert_eq!(request.header("Authorization", &format!("{scheme} {token}")).send().await.status, 200);
    }
}

#[tokio::test]
async fn scope_read_allows_get_and_nothing_that_writes() {
    let (server, _admin, device) = TestServer::shared().await.with_device("pump").await;
    let object = format!("{OBJECTS}/{device}");
    let reader = client_with(&server, "READ").await.bearer(&server).await;

    assert_eq!(reader.get(&object).await.status, 200);
    let posted = reader.post(OBJECTS, &json!({"name": "x"})).await.expect_error(403, "security/Forbidden");
    assert!(posted.message().contains("scope"), "{}", posted.text);
    assert_eq!(reader.put(&object, &json!({"name": "x"})).await.status, 403);
    assert_eq!(reader.delete(&object).await.status, 403);
    assert_eq!(reader.bayeux(REALTIME, &json!([])).await.status, 403);
    reader.request("POST", "/s").accepting_json().body("500\n").send().await.expect(403);
    // Rejected requests do not affect requests that the scope allows.
    assert_eq!(reader.get(&object).await.json()["name"], "pump");
}

#[tokio::test]
async fn scope_write_allows_everything_but_get() {
    let server = TestServer::shared().await;
    let writer = client_with(&server, "WRITE").await.bearer(&server).await;

    let device = writer.create_device("pump").await;
    let object = format!("{OBJECTS}/{device}");

    assert_eq!(writer.get(&object).await.status, 403);
    assert_eq!(writer.request("HEAD", &object).send().await.status, 403);
    assert_eq!(writer.put(&object, &json!({"name": "x"})).await.status, 200);
    assert_eq!(writer.delete(&object).await.status, 204);
}

#[tokio::test]
async fn emulated_method_counts_for_the_scope() {
    let server = TestServer::shared().await;
    let reader = client_with(&server, "READ").await.bearer(&server).await;
    let writer = client_with(&server, "WRITE").await.bearer(&server).await;
    let post = |caller: &crate::harness::Caller, method: &str| {
        caller.request("POST", OBJECTS).header("X-HTTP-METHOD", method).send()
    };

    assert_eq!(post(&reader, "GET").await.status, 200);
    assert_eq!(post(&writer, "GET").await.status, 403);
    assert_eq!(post(&reader, "DELETE").await.status, 403);
}

#[tokio::test]
async fn scope_holds_for_whoever_takes_every_user_and_for_the_unknown_path() {
    let server = TestServer::shared().await;
    let writer = client_with(&server, "WRITE").await.bearer(&server).await;
    let reader = client_with(&server, "READ").await.bearer(&server).await;

    assert_eq!(writer.get("/tenant/currentTenant").await.status, 403);
    assert_eq!(reader.get("/tenant/currentTenant").await.status, 200);
    assert_eq!((writer.get("/unknown").await.status, reader.get("/unknown").await.status), (403, 404));
}

#[tokio::test]
async fn upgrade_to_a_websocket_needs_the_scope_read() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let reader = client_with(&server, "READ").await.bearer(&server).await;
    let writer = client_with(&server, "WRITE").await.bearer(&server).await;

    let (mut socket, _) = Socket::listen(&reader, "/alarms/*").await;
    let refused = Socket::try_open(&writer, REALTIME).await;

    assert!(refused.unwrap_err().to_string().contains("403"));
    let device = admin.create_device("pump").await;
    admin.raise_alarm(&device, "leak").await;
    assert_eq!(socket.message().await["data"]["data"]["type"], "leak");
}

#[tokio::test]
async fn rows_of_csv_need_the_scope_of_their_inner_method() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let template = "10,100,GET,/inventory/managedObjects?pageSize=1\n\
        10,101,POST,/inventory/managedObjects,application/json,application/json,,,\"{\"\"name\"\":\"\"row\"\"}\"\n\
        11,200,,$.name,name\n";
    let x_id = "scopes";
    let registered =
        admin.request("POST", "/s").accepting_json().header("X-Id", x_id).body(template).send().await;
    assert_eq!(registered.status, 200);
    assert!(registered.text.starts_with("20,"), "{}", registered.text);
    let send = async |caller: &crate::harness::Caller| {
        let request = caller.request("POST", "/s").accepting_json().header("X-Id", x_id);
        request.body("100\n101\n").send().await.text
    };
    let writer = client_with(&server, "WRITE").await.bearer(&server).await;
    let all = client(&server).await.bearer(&server).await;

    let of_writer = send(&writer).await;
    let of_all = send(&all).await;

    assert!(of_writer.starts_with("50,1,403\n") && of_writer.contains("200,2,row"), "{of_writer}");
    assert!(!of_all.contains("403"), "{of_all}");
}

#[tokio::test]
async fn rows_of_csv_cannot_request_tokens_or_limits() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let template = "10,100,POST,/v1/oauth/accesstokens,application/json,,,,{}\n\
        10,101,GET,/v2/0123456789abcdef0123456789abcdef/limits\n";
    let post = |body: &'static str| {
        admin.request("POST", "/s").accepting_json().header("X-Id", "reserved").body(body).send()
    };
    assert!(post(template).await.text.starts_with("20,"));

    let answer = post("100\n101\n").await;

    assert_eq!(answer.text, "50,1,403\n50,2,403\n");
}

#[tokio::test]
async fn measurement_of_a_row_is_stored_in_the_name_of_the_bearer() {
    let server = TestServer::shared().await;
    let bearer = client(&server).await.bearer(&server).await;
    let device = bearer.create_device("pump").await;

    let body = measurement_of(&device, "2024-03-10T02:30:00Z", 1);
    bearer.post("/measurement/measurements", &body).await.expect(201);
}

#[tokio::test]
async fn invalid_token_is_the_normal_401() {
    let server = TestServer::start_with(|settings| settings.limits.free_guesses_per_source = 1000).await;
    let good = client(&server).await.token(&server).await;

    for token in [
        "x".repeat(43),
        good.to_lowercase(),
        good[1..].to_owned(),
        format!("{good}x"),
        format!("{good}.{good}"),
        format!("{good} {good}"),
        "x".repeat(9000),
        String::new(),
    ] {
        let answer = server.stranger().with_token(&token).get(OBJECTS).await;
        assert_eq!((answer.status, answer.error().as_str()), (401, "security/Unauthorized"), "{token}");
        assert_eq!(answer.header("WWW-Authenticate"), Some("Basic realm=\"Platform\""));
    }
    // A token is accepted only in the header `Authorization`.
    let request = server.stranger().request("GET", &format!("{OBJECTS}?access_token={good}"));
    assert_eq!(request.header("X-Auth-Token", &good).send().await.status, 401);
}

#[tokio::test]
async fn guesses_of_tokens_are_slowed_down() {
    let delay = std::time::Duration::from_millis(300);
    let server = TestServer::start_with(|settings| {
        settings.limits.free_guesses_per_source = 0;
        settings.limits.guess_delay = delay;
    })
    .await;
    let guess =
        async |letter: &str| server.stranger().with_token(&letter.repeat(43)).get(OBJECTS).await.status;
    assert_eq!(guess("a").await, 401);

    let begun = std::time::Instant::now();
    assert_eq!(guess("b").await, 401);

    assert!(begun.elapsed() >= delay, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn token_is_good_at_another_server_of_the_database() {
    let one = TestServer::start().await;
    let other = TestServer::start_on(&one.shared_database(), |_| {}).await;

    let bearer = client(&one).await.bearer(&other).await;
    let here = one.stranger().with_token(bearer.authorization().unwrap().strip_prefix("Bearer ").unwrap());

    assert_eq!((bearer.get(CLIENTS).await.status, here.get(CLIENTS).await.status), (200, 200));
}
