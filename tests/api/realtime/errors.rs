//! Error strings and broken requests (B-14, B-15).

use super::*;

#[tokio::test]
async fn unknown_client_is_advised_to_handshake() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for client in [json!("0123456789abcdef0123456789abcdef"), json!("x"), json!(""), json!(5), json!(null)] {
        for channel in ["/meta/connect", "/meta/subscribe", "/meta/unsubscribe", "/meta/disconnect"] {
            let message =
                json!({"id": 9, "channel": channel, "clientId": client, "subscription": "/alarms/*"});
            let replies = admin.exchange(REALTIME, &json!([message])).await;
            let expected = json!({
                "id": 9,
                "channel": channel,
                "successful": false,
                "error": "402::Unknown client",
                "advice": {"reconnect": "handshake", "interval": 0},
            });
            assert_eq!(without(&replies[0], &["clientId", "subscription"]), expected, "{channel} {client}");
        }
    }
}

#[tokio::test]
async fn missing_client_id_is_an_unknown_client() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let replies = admin.exchange(REALTIME, &json!([{"channel": "/meta/connect"}])).await;

    assert_eq!((&replies[0]["error"], replies[0].get("id")), (&json!("402::Unknown client"), None));
}

#[tokio::test]
async fn missing_channel_is_named() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for message in [json!({"id": 1}), json!({"id": 1, "channel": null}), json!({"id": 1, "channel": 5})] {
        let replies = admin.exchange(REALTIME, &json!([message])).await;
        assert_eq!(
            replies,
            [json!({"id": 1, "successful": false, "error": "400::channel missing"})],
            "{message}"
        );
    }
}

#[tokio::test]
async fn publishing_is_denied() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let listener = admin.listen("/alarms/*").await;
    let session = admin.session().await;

    for channel in ["/alarms/1", "/alarms/*", "/anything", "/meta/unknown", "/service/x"] {
        let reply = session.ask(channel, json!({"data": {"realtimeAction": "CREATE"}})).await;
        let expected =
            json!({"id": "7", "channel": channel, "successful": false, "error": "403::publish denied"});
        assert_eq!(without(&reply, &["clientId"]), expected);
    }
    assert_eq!(listener.glance().await.len(), 1, "nothing but the reply");
}

#[tokio::test]
async fn body_that_is_neither_array_nor_object_is_400() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let deep = "[".repeat(100_000);

    for body in
        ["", "{", "[", "5", "null", "\"text\"", "[5]", "[null]", "[[]]", "[{}", "[{}]x", "\u{0}", &deep]
    {
        let request = admin.request("POST", REALTIME).accepting_json();
        let answer = request.header("Content-Type", "application/json").body(body).send().await;
        assert_eq!(answer.status, 400, "{:.20}: {}", body, answer.text);
        assert!(answer.error().contains('/'), "{}", answer.text);
    }
}

#[tokio::test]
async fn body_over_the_limit_is_413() {
    let (_server, admin) =
        TestServer::start_with(|settings| settings.limits.bayeux_bytes = 2048).await.with_admin();
    let message = json!([{"channel": "/meta/handshake", "padding": "x".repeat(2048)}]);

    admin.bayeux(REALTIME, &message).await.expect(413);
}

#[tokio::test]
async fn missing_or_wrong_http_credentials_are_401() {
    let server = TestServer::shared().await;

    for caller in [server.stranger(), server.caller("admin", "wrong-secret")] {
        let answer = caller.bayeux(REALTIME, &json!([])).await.expect_error(401, "security/Unauthorized");
        assert!(answer.header("WWW-Authenticate").is_some());
    }
}

#[tokio::test]
async fn single_message_gets_an_array() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    let message: Value = session.message("/meta/subscribe", json!({"subscription": "/alarms/*"}));
    let replies = admin.exchange(REALTIME, &message).await;

    assert_eq!((replies.len(), &replies[0]["successful"]), (1, &json!(true)));
}

#[tokio::test]
async fn empty_array_gets_an_empty_array() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.bayeux(REALTIME, &json!([])).await;

    assert_eq!((answer.status, answer.json()), (200, json!([])));
}

#[tokio::test]
async fn one_bad_message_does_not_spoil_its_neighbours() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    let messages = json!([
        {},
        {"channel": "/alarms/1", "data": 1},
        session.message("/meta/subscribe", json!({"subscription": "/alarms/*"})),
        {"channel": "/meta/connect", "clientId": "x"},
    ]);
    let replies = admin.exchange(REALTIME, &messages).await;

    let errors: Vec<_> = replies.iter().map(|reply| reply["error"].as_str().unwrap_or_default()).collect();
    assert_eq!(errors, ["400::channel missing", "403::publish denied", "", "402::Unknown client"]);
}

#[tokio::test]
async fn thousand_messages_in_one_request_all_get_replies() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    let message = session.message("/meta/subscribe", json!({"subscription": "/alarms/*"}));
    let replies = admin.exchange(REALTIME, &json!(vec![message; 1000])).await;

    assert_eq!(replies.len(), 1000);
    assert!(replies.iter().all(|reply| reply["successful"] == true));
}
