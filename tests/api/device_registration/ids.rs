//! Ids of devices (N-05), including hostile ones.

use super::*;

/// Ids that a device may have, with characters that mean something elsewhere.
fn odd_ids() -> Vec<String> {
    let odd = [
        "a/b",
        "/",
        "a//b/",
        "a%2Fb",
        "%",
        "a b",
        " a ",
        "ä",
        "数",
        "💩",
        "a?b#c",
        "a+b&c=d",
        "'; DROP TABLE users; --",
        "\\",
        "\"",
        "device_x",
        "<a>",
        "$1",
        "{}",
        "*",
        "null",
        "%00",
        "\u{202e}x",
        "\u{fffd}",
        "\u{ff21}",
    ];
    let mut ids: Vec<String> = odd.iter().map(|id| (*id).to_owned()).collect();
    ids.push("x".repeat(1000));
    ids.push("é".repeat(1000));
    ids
}

/// Encodes an id as one segment of a path.
fn segment(id: &str) -> String {
    id.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn odd_ids_are_kept_exactly_and_found_by_their_link() {
    let (_server, admin) = TestServer::start().await.with_admin();

    for id in odd_ids() {
        let created = admin.create(REQUESTS, &json!({"id": id})).await;
        assert_eq!(created["id"], *id);
        assert_eq!(admin.read(created["self"].as_str().unwrap()).await, created, "{id:?}");
        assert_eq!(admin.read(&request_of(&segment(&id))).await, created, "{id:?}");
        assert_eq!(admin.post(REQUESTS, &json!({"id": id})).await.status, 409, "{id:?}");
    }
}

#[tokio::test]
async fn devices_with_odd_ids_come_in() {
    let (server, admin) = TestServer::start().await.with_admin();

    for id in odd_ids() {
        let request = admin.create(REQUESTS, &json!({"id": id})).await;
        let link = request["self"].as_str().unwrap();
        assert_eq!(admin.put(link, &json!({"status": "ACCEPTED"})).await.status, 200, "{id:?}");

        let answer = poll(&server, &id).await;

        assert_eq!(answer.json()["username"], format!("device_{id}"));
        assert!(gets_in(&device(&server, &id, &password(&answer))).await, "{id:?}");
        assert_eq!(admin.get(link).await.status, 404, "{id:?}");
        let user = format!("/user/main/users/{}", segment(&format!("device_{id}")));
        assert_eq!(admin.read(&user).await["userName"], format!("device_{id}"), "{id:?}");
        assert_eq!(admin.delete(&user).await.status, 204, "{id:?}");
    }
}

#[tokio::test]
async fn ids_are_compared_exactly() {
    let (_server, admin) = TestServer::start().await.with_admin();

    // The last two of those like `a` look the same.
    for id in ["a", "A", "a ", "á", "a\u{301}", "a/b", "b"] {
        admin.create(REQUESTS, &json!({"id": id})).await;
    }

    assert_eq!(admin.read(&request_of("A")).await["id"], "A");
    assert_eq!(admin.delete(&request_of("a%2Fb")).await.status, 200);
    assert_eq!(admin.get(&request_of("a%2fb")).await.status, 404);
    assert_eq!(admin.get(&request_of("a")).await.status, 200);
    assert_eq!(admin.get(&request_of("b")).await.status, 200);
    assert_eq!(admin.get(&request_of("a/b")).await.status, 404, "two segments are another path");
}

#[tokio::test]
async fn ids_that_cannot_be_are_422_in_a_body_and_404_in_a_path() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for id in [
        "x".repeat(1001),
        "語".repeat(700),
        "a:b".into(),
        "a\u{1}b".into(),
        "a\nb".into(),
        "\u{7f}".into(),
        "a\0b".into(),
        "x".repeat(100_000),
    ] {
        let shown: String = id.chars().take(5).collect();
        let posted = admin.post(REQUESTS, &json!({"id": id})).await;
        assert_eq!((posted.status, &*posted.error()), (422, "undefined/validationError"), "{shown:?}");
        assert_eq!(poll(&server, &id).await.status, 422, "{shown:?}");
        if id.len() < 10_000 {
            let found = admin.get(&request_of(&segment(&id))).await;
            assert_eq!((found.status, &*found.error()), (404, "devicecontrol/Not Found"), "{shown:?}");
        }
    }
    assert_eq!(admin.get(&request_of("%FF%FE")).await.status, 404);
    assert_eq!(admin.put(&request_of("%FF"), &json!({"status": "ACCEPTED"})).await.status, 404);
    assert_eq!(admin.delete(&request_of("%00")).await.status, 404);
}

#[tokio::test]
async fn refusal_of_a_colon_says_why() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let refused = admin.post(REQUESTS, &json!({"id": "urn:dev:1"})).await.expect_message(422, "urn:dev:1");
    assert!(refused.message().contains("credentials"), "{}", refused.text);
}

#[tokio::test]
async fn other_ids_on_the_way_to_one_are_refused_without_harm() {
    let server = TestServer::shared().await;

    for body in ["", "[]", "null", "{", r#"{"id":"a\u0000"}"#, r#"{"id":["a"]}"#, r#"{"id":1e999}"#] {
        let request = super::bootstrap(&server).request("POST", super::CREDENTIALS);
        let answer = request.header("Content-Type", "application/json").body(body).send().await;
        assert!([400, 422].contains(&answer.status), "{body}: {} {}", answer.status, answer.text);
    }
}
