//! The health of a microservice according to the probes of its manifest (W-03).

use tokio::net::TcpListener;

use super::*;

/// Returns a manifest with probes every second.
fn manifest(readiness: Value) -> Value {
    json!({"apiVersion": "1", "name": "rules", "readinessProbe": readiness})
}

/// Stores a manifest as an upload would do.
async fn store(database: &TestDatabase, manifest: &Value) {
    let statement = "UPDATE applications SET manifest = $1::text::json WHERE context_path = 'rules'";
    database.execute(statement, &[&manifest.to_string()]).await;
    database.announce("main/+applications").await;
}

/// Starts a server that probes the microservice `rules` at `/ready`. The test acts as the microservice.
async fn probed() -> (Behind, Value) {
    let behind = Behind::start().await;
    let probe = json!({"httpGet": {"path": "/ready", "port": 1}, "periodSeconds": 1, "failureThreshold": 2});
    store(behind.server.database(), &manifest(probe)).await;
    let shown = shown(&behind).await;
    (behind, shown)
}

async fn shown(behind: &Behind) -> Value {
    let path = format!("/application/applications/{}", behind.application);
    behind.server.admin().read(&path).await["health"].clone()
}

/// Responds to the next probe.
async fn answer_probe(behind: &Behind, status: &str) {
    let (mut connection, head) = behind.asked().await;
    assert!(head.starts_with("GET /ready HTTP/1.1\r\n"), "{head}");
    connection.send(format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")).await;
}

async fn becomes(behind: &Behind, status: &str) -> Value {
    eventually(status, async || Some(shown(behind).await).filter(|health| health["status"] == status)).await
}

#[tokio::test]
async fn microservice_that_is_not_asked_is_unknown() {
    let (server, admin) = TestServer::start().await.with_admin();
    let id = create_microservice(&admin, "rules").await;
    let path = format!("/application/applications/{id}");

    let without_address = admin.read(&path).await["health"].clone();
    route(server.database(), &id, Some("http://127.0.0.1:1")).await.unwrap();
    let without_probes = eventually("the address", async || {
        let health = admin.read(&path).await["health"].clone();
        (health != without_address).then_some(health)
    })
    .await;

    assert_eq!(without_address, json!({"status": "UNKNOWN", "message": "no address is set"}));
    let message = "it is not probed: its manifest has no probes";
    assert_eq!(without_probes, json!({"status": "UNKNOWN", "message": message}));
}

#[tokio::test]
async fn other_applications_have_no_health() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let external = json!({"name": "e", "key": "e", "type": "EXTERNAL", "externalUrl": "http://e"});
    let id = admin.create("/application/applications", &external).await["id"].clone();

    let path = format!("/application/applications/{}", id.as_str().unwrap());
    assert_eq!(admin.read(&path).await["health"], Value::Null);
}

#[tokio::test]
async fn good_response_makes_it_up_bad_ones_make_it_down_and_a_good_one_up_again() {
    let (behind, _) = probed().await;

    answer_probe(&behind, "200 OK").await;
    let up = becomes(&behind, "UP").await;
    answer_probe(&behind, "500 No").await;
    answer_probe(&behind, "302 Found").await;
    answer_probe(&behind, "500 No").await;
    assert_eq!(shown(&behind).await["status"], "UP", "two in a row are needed");
    answer_probe(&behind, "503 No").await;
    let down = becomes(&behind, "DOWN").await;
    let call = behind.server.admin().get("/service/rules/x").await;
    answer_probe(&behind, "204 No Content").await;
    let up_again = becomes(&behind, "UP").await;

    assert!(up["since"].is_string() && up["message"].is_null(), "{up}");
    assert_eq!(down["message"], "readiness probe: it responded with 503");
    assert!(
        up["since"].as_str() < down["since"].as_str() && down["since"].as_str() < up_again["since"].as_str()
    );
    assert_eq!((call.status, call.header("Retry-After")), (503, Some("5")));
    assert_eq!(call.message(), "The microservice 'rules' is down");
}

#[tokio::test]
async fn call_to_a_microservice_that_is_down_does_not_reach_it() {
    let (behind, _) = probed().await;
    for _ in 0..2 {
        answer_probe(&behind, "500 No").await;
    }
    becomes(&behind, "DOWN").await;

    assert_eq!(behind.server.admin().get("/service/rules/x").await.status, 503);

    // The next request to the service is a probe.
    answer_probe(&behind, "200 OK").await;
    becomes(&behind, "UP").await;
}

#[tokio::test]
async fn collections_show_health_too() {
    let (behind, _) = probed().await;
    answer_probe(&behind, "200 OK").await;
    becomes(&behind, "UP").await;

    let list = behind.server.admin().read("/application/applicationsByName/rules").await;

    assert_eq!(list["applications"][0]["health"]["status"], "UP", "{list}");
}

#[tokio::test]
async fn probe_goes_below_the_base_of_the_address_and_carries_no_secret() {
    let behind = Behind::start().await;
    behind.route_below("/v1").await;
    let probe = json!({"httpGet": {"path": "/ready?deep=1", "port": 1, "host": "evil.example.com",
        "scheme": "HTTPS"}, "periodSeconds": 1});
    store(behind.server.database(), &manifest(probe)).await;

    let (_, head) = behind.asked().await;

    let authority = behind.address().to_string();
    assert_eq!(head, format!("GET /v1/ready?deep=1 HTTP/1.1\r\nhost: {authority}\r\n\r\n"));
}

#[tokio::test]
async fn microservice_that_is_away_or_silent_is_down() {
    let behind = Behind::start().await;
    let probe = json!({"httpGet": {"path": "/ready"}, "periodSeconds": 1, "timeoutSeconds": 1,
        "failureThreshold": 1});
    store(behind.server.database(), &manifest(probe.clone())).await;
    let (silent, _) = behind.asked().await;
    let down = becomes(&behind, "DOWN").await;
    assert_eq!(down["message"], "readiness probe: no response within 1 seconds");
    drop(silent);

    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    route(behind.server.database(), "rules", Some(&address)).await.unwrap();

    until("another message", async || {
        let message = shown(&behind).await["message"].clone();
        message == "readiness probe: it cannot be reached"
    })
    .await;
}

#[tokio::test]
async fn readiness_and_liveness_are_asked_both() {
    let behind = Behind::start().await;
    let probe = |path| json!({"httpGet": {"path": path}, "periodSeconds": 1, "failureThreshold": 1});
    let manifest =
        json!({"apiVersion": "1", "readinessProbe": probe("/ready"), "livenessProbe": probe("/alive")});
    store(behind.server.database(), &manifest).await;

    let serve = async {
        loop {
            let (mut connection, head) = behind.asked().await;
            let status = if head.starts_with("GET /alive ") { "500 No" } else { "200 OK" };
            connection
                .send(format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
                .await;
        }
    };
    let down = tokio::select! { down = becomes(&behind, "DOWN") => down, () = serve => unreachable!() };

    assert_eq!(down["message"], "liveness probe: it responded with 500");
}

#[tokio::test]
async fn what_was_found_is_forgotten_with_the_address() {
    let (behind, _) = probed().await;
    for _ in 0..2 {
        answer_probe(&behind, "500 No").await;
    }
    becomes(&behind, "DOWN").await;

    route(behind.server.database(), "rules", None).await.unwrap();

    let unknown = becomes(&behind, "UNKNOWN").await;
    assert_eq!(unknown, json!({"status": "UNKNOWN", "message": "no address is set"}));
}

#[tokio::test]
async fn each_server_asks_for_itself() {
    let (behind, _) = probed().await;
    let second = TestServer::start_on(&behind.server.shared_database(), |_| {}).await;
    let path = format!("/application/applications/{}", behind.application);
    let up = async {
        for server in [&behind.server, &second] {
            until("both say UP", async || server.admin().read(&path).await["health"]["status"] == "UP").await;
        }
    };
    let serve = async {
        loop {
            let (mut connection, _): (RawConnection, String) = behind.asked().await;
            connection.send(OK).await;
        }
    };

    soon("both", async {
        tokio::select! { () = up => {}, () = serve => {} }
    })
    .await;
}
