//! Requests that take effect once, by `Idempotency-Key` (C-24).

use std::collections::BTreeSet;

use super::*;
use crate::bulk_operations::{BULK, fleet};
use crate::harness::operations::{OPERATIONS, create_agent};

const MEASUREMENTS: &str = "/measurement/measurements";

/// A request that creates something.
struct Creation {
    path: &'static str,
    body: Value,
    /// The list with what it creates, its member, and the number of things that one request creates.
    list: (String, &'static str, usize),
}

/// Returns a creation for each resource that has keys.
async fn all(server: &TestServer, admin: &Caller) -> Vec<Creation> {
    let group = fleet(server, 2).await;
    let device = create_agent(admin, "pump").await;
    let measured = |value| measurement_of(&device, "2024-03-10T02:30:00Z", value);
    let of_device = |path| format!("{path}?source={device}");
    vec![
        Creation {
            path: OBJECTS,
            body: json!({"type": "acme_Once", "name": "pump 1"}),
            list: (format!("{OBJECTS}?type=acme_Once"), "managedObjects", 1),
        },
        Creation { path: EVENTS, body: event_of(&device, "door"), list: (of_device(EVENTS), "events", 1) },
        Creation {
            path: MEASUREMENTS,
            body: measured(1),
            list: (of_device(MEASUREMENTS), "measurements", 1),
        },
        Creation {
            path: OPERATIONS,
            body: json!({"deviceId": device, "plat_Restart": {}}),
            list: (format!("{OPERATIONS}?deviceId={device}"), "operations", 1),
        },
        Creation {
            path: BULK,
            body: json!({
                "groupId": group, "startDate": "2034-03-10T02:30:00Z", "creationRamp": 15,
                "operationPrototype": {"plat_Restart": {}},
            }),
            list: (BULK.to_owned(), "bulkOperations", 1),
        },
    ]
}

fn keyed(caller: &Caller, path: &str, key: &str) -> crate::harness::Request {
    caller.request("POST", path).header("Idempotency-Key", key)
}

async fn post(caller: &Caller, path: &str, key: &str, body: &Value) -> Response {
    keyed(caller, path, key).accepting_json().json(body).send().await
}

/// Returns the parts of a response that its repetitions have.
fn parts(response: &Response) -> (u16, Option<&str>, Option<&str>, &str) {
    (response.status, response.header("Location"), response.header("Content-Type"), &response.text)
}

async fn count(caller: &Caller, (path, member, _): &(String, &'static str, usize)) -> usize {
    caller.ids_of_pages(path, member).await.len()
}

#[tokio::test]
async fn repeated_creation_has_the_response_of_the_first_and_creates_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    for Creation { path, body, list } in all(&server, &admin).await {
        let before = count(&admin, &list).await;
        let key = format!("{path} first");
        let first = post(&admin, path, &key, &body).await.expect(201);

        let second = post(&admin, path, &key, &body).await.expect(201);
        let bare = keyed(&admin, path, &key).header("Accept", "").json(&body).send().await.expect(201);

        assert_eq!(parts(&second), parts(&first), "{path}");
        assert_eq!((bare.header("Location"), &*bare.text), (first.header("Location"), ""), "{path}");
        assert_eq!(count(&admin, &list).await, before + list.2, "{path}");
        post(&admin, path, path, &body).await.expect(201);
        admin.post(path, &body).await.expect(201);
        assert_eq!(count(&admin, &list).await, before + 3 * list.2, "{path}");
    }
}

#[tokio::test]
async fn collections_of_measurements_are_repeated_as_one() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create_device("pump").await;
    for values in [vec![1, 2, 3], vec![4]] {
        let measured = |value: &i64| measurement_of(&device, "2024-03-10T02:30:00Z", *value);
        let body = json!({"measurements": values.iter().map(measured).collect::<Vec<_>>()});
        let key = values.len().to_string();
        let first = post(&admin, MEASUREMENTS, &key, &body).await.expect(201);

        let second = post(&admin, MEASUREMENTS, &key, &body).await.expect(201);

        assert_eq!(parts(&second), parts(&first));
        assert_eq!(second.json()["measurements"].as_array().unwrap().len(), values.len());
    }
    assert_eq!(admin.ids_of_pages(&format!("{MEASUREMENTS}?source={device}"), "measurements").await.len(), 4);
}

#[tokio::test]
async fn response_stays_that_of_the_first_after_changes_and_deletion() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create_device("pump").await;
    let body = event_of(&device, "door");
    let first = post(&admin, EVENTS, "k", &body).await.expect(201);
    let path = format!("{EVENTS}/{}", first.json()["id"].as_str().unwrap());

    admin.put(&path, &json!({"text": "changed"})).await.expect(200);
    assert_eq!(parts(&post(&admin, EVENTS, "k", &body).await), parts(&first));
    admin.delete(&path).await.expect(204);
    assert_eq!(parts(&post(&admin, EVENTS, "k", &body).await), parts(&first));

    admin.get(&path).await.expect(404);
}

#[tokio::test]
async fn key_of_another_request_is_422_and_changes_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    for Creation { path, body, list } in all(&server, &admin).await {
        post(&admin, path, path, &body).await.expect(201);
        let before = count(&admin, &list).await;
        let mut other = body.clone();
        other["acme_Other"] = json!(1);

        let message = post(&admin, path, path, &other).await.expect(422).message();

        assert!(
            message.contains("'Idempotency-Key'") && message.contains("another path or body"),
            "{message}"
        );
        assert_eq!(count(&admin, &list).await, before, "{path}");
        let elsewhere = if path == OBJECTS { EVENTS } else { OBJECTS };
        post(&admin, elsewhere, path, &body).await.expect(422);
    }
}

#[tokio::test]
async fn values_that_are_no_keys_are_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let body = json!({"name": "pump"});
    for key in ["", "schl\u{fc}ssel", &"k".repeat(256)] {
        let message = post(&admin, OBJECTS, key, &body).await.expect(422).message();
        assert!(message.contains("Invalid value of 'Idempotency-Key'"), "{message}");
    }
    let twice = keyed(&admin, OBJECTS, "a").header("Idempotency-Key", "b").json(&body);
    twice.send().await.expect(422);
}

#[tokio::test]
async fn failed_request_leaves_its_key_unused() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for path in [EVENTS, MEASUREMENTS] {
        let body = |source: &str| match path {
            EVENTS => event_of(source, "door"),
            _ => measurement_of(source, "2024-03-10T02:30:00Z", 1),
        };
        post(&admin, path, path, &body("4711")).await.expect(422);
        let device = admin.create_device("pump").await;
        post(&admin, path, path, &body(&device)).await.expect(201);
    }
    let operation = |device: &str| json!({"deviceId": device, "plat_Restart": {}});
    post(&admin, OPERATIONS, "k", &operation("4711")).await.expect(422);
    let agent = create_agent(&admin, "pump").await;
    post(&admin, OPERATIONS, "k", &operation(&agent)).await.expect(201);
}

#[tokio::test]
async fn users_have_keys_of_their_own() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let other = server.user_with("other", &["ROLE_INVENTORY_CREATE"]).await;
    let body = json!({"name": "pump"});

    let first = post(&admin, OBJECTS, "k", &body).await.expect(201);
    let second = post(&other, OBJECTS, "k", &body).await.expect(201);

    assert_ne!(first.header("Location"), second.header("Location"));
}

#[tokio::test]
async fn modes_that_store_nothing_repeat_their_effect() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create_device("pump").await;
    let send = async |mode: &str| {
        let request = keyed(&admin, EVENTS, "k").header("X-Platform-Processing-Mode", mode).accepting_json();
        request.json(&event_of(&device, "door")).send().await.expect(201).json()["id"].clone()
    };
    for mode in ["TRANSIENT", "CEP", "TRANSIENT"] {
        assert_eq!(send(mode).await, Value::Null);
    }
    let stored = send("QUIESCENT").await;
    assert!(stored.is_string());
    assert_eq!(send("PERSISTENT").await, stored);
}

#[tokio::test]
async fn request_whose_client_left_takes_effect_once() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create_device("pump").await;
    let body = event_of(&device, "door");
    for round in 0..20 {
        let text = body.to_string();
        let mut connection = RawConnection::open(server.address()).await;
        let head = format!(
            "POST {EVENTS} HTTP/1.1\r\nHost: h\r\nAuthorization: {}\r\nIdempotency-Key: {round}\r\n\
             Content-Length: {}\r\n\r\n",
            admin.authorization().unwrap(),
            text.len()
        );
        connection.send(head + &text).await;
        drop(connection);

        post(&admin, EVENTS, &round.to_string(), &body).await.expect(201);
    }
    let events = async || admin.ids_of_pages(&format!("{EVENTS}?source={device}"), "events").await.len();
    assert_eq!(events().await, 20);
}

#[tokio::test]
async fn concurrent_repetitions_at_two_servers_take_effect_once() {
    let servers = TestServer::start_two().await;
    let [one, other] = servers.each_ref().map(TestServer::admin);
    for Creation { path, body, list } in all(&servers[0], &one).await {
        let before = count(&one, &list).await;
        for round in 0..10 {
            let key = format!("{path} {round}");
            let send = |n| post(if n % 2 == 0 { &one } else { &other }, path, &key, &body);

            let responses = futures_util::future::join_all((0..6).map(send)).await;

            let different: BTreeSet<_> =
                responses.iter().map(parts).map(|parts| (parts.0, parts.1)).collect();
            assert!(different.len() == 1 && responses[0].status == 201, "{path}: {different:?}");
        }
        assert_eq!(count(&one, &list).await, before + 10 * list.2, "{path}");
    }
}
