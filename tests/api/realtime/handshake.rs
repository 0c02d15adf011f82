//! Handshake (B-08, B-09, B-23, X-16).

use std::collections::BTreeSet;

use super::*;

#[tokio::test]
async fn handshake_returns_client_id_and_all_advice() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let reply = admin.handshake(json!({"minimumVersion": "1.0"})).await;

    let expected = json!({
        "id": 1,
        "channel": "/meta/handshake",
        "version": "1.0",
        "minimumVersion": "1.0",
        "supportedConnectionTypes": reply["supportedConnectionTypes"],
        "successful": true,
        "advice": {"interval": 0, "timeout": 5_400_000, "reconnect": "retry"},
    });
    assert_eq!(without(&reply, &["clientId"]), expected);
    assert!(reply["clientId"].is_string(), "{reply}");
}

#[tokio::test]
async fn client_ids_are_long_alphanumeric_and_never_the_same() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut seen = BTreeSet::new();

    for _ in 0..20 {
        seen.insert(admin.session().await.client);
    }

    assert_eq!(seen.len(), 20);
    for client in seen {
        // 128 bits take 22 characters of 62.
        assert!(client.len() >= 22 && client.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{client}");
    }
}

#[tokio::test]
async fn id_is_echoed_in_its_own_type_and_left_out_when_absent() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for id in [json!(7), json!("7"), json!("a-b_c\u{e4}\""), json!(-1), json!(9_007_199_254_740_993_u64)] {
        let reply = admin.handshake(json!({"id": id})).await;
        assert_eq!(reply["id"], id);
    }
    let message =
        json!({"channel": "/meta/handshake", "version": "1.0", "supportedConnectionTypes": ["long-polling"]});
    let replies = admin.exchange(REALTIME, &json!([message])).await;
    assert_eq!((replies[0].get("id"), &replies[0]["successful"]), (None, &json!(true)));
}

#[tokio::test]
async fn connection_types_are_those_of_both_sides() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (offered, common) in [
        (json!(["long-polling"]), vec!["long-polling"]),
        (json!(["websocket", "iframe"]), vec!["websocket"]),
        (json!(["callback-polling", "long-polling", "websocket"]), vec!["long-polling", "websocket"]),
    ] {
        let reply = admin.handshake(json!({"supportedConnectionTypes": offered})).await;
        let mut types: Vec<_> = reply["supportedConnectionTypes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_str().unwrap())
            .collect();
        types.sort_unstable();
        assert_eq!((types, &reply["successful"]), (common, &json!(true)));
    }
}

/// An empty list has no common type either (B-08b).
#[tokio::test]
async fn handshake_without_a_common_connection_type_fails() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for offered in [json!(["iframe"]), json!([])] {
        let reply = admin.handshake(json!({"supportedConnectionTypes": offered})).await;

        assert_eq!((&reply["successful"], reply.get("clientId")), (&json!(false), None), "{reply}");
        assert!(reply["error"].is_string(), "{reply}");
    }
}

#[tokio::test]
async fn handshake_without_version_and_connection_types_is_accepted() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let replies = admin.exchange(REALTIME, &json!([{"id": 1, "channel": "/meta/handshake"}])).await;

    assert_eq!((&replies[0]["successful"], &replies[0]["version"]), (&json!(true), &json!("1.0")));
    assert_eq!(replies[0]["supportedConnectionTypes"].as_array().map(Vec::len), Some(2), "{}", replies[0]);
}

#[tokio::test]
async fn other_messages_beside_a_handshake_are_ignored() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let other = admin.session().await;

    let messages = json!([
        other.message("/meta/subscribe", json!({"subscription": "/alarms/*"})),
        {"id": 1, "channel": "/meta/handshake", "version": "1.0", "supportedConnectionTypes": ["long-polling"]},
        other.message("/meta/disconnect", json!({})),
    ]);
    let replies = admin.exchange(REALTIME, &messages).await;

    let channels: Vec<_> = replies.iter().map(|reply| &reply["channel"]).collect();
    assert_eq!(channels, [&json!("/meta/handshake")]);
    assert!(other.is_known().await);
}

#[tokio::test]
async fn wrong_token_in_the_handshake_is_denied() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for token in [json!("bm9ib2R5Om5vdGhpbmc="), json!("!!!"), json!("")] {
        let ext = json!({"com.platform.authn": {"token": token}});
        let reply = admin.handshake(json!({"ext": ext})).await;
        let expected = json!({
            "id": 1,
            "channel": "/meta/handshake",
            "successful": false,
            "error": "403::Handshake denied",
            "advice": {"reconnect": "none"},
        });
        assert_eq!(reply, expected, "{token}");
    }
}

#[tokio::test]
async fn token_of_another_user_opens_a_session_of_that_user() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let token = joe.authorization().unwrap().replace("Basic ", "");

    let ext = json!({"com.platform.authn": {"token": token}});
    let reply = admin.handshake(json!({"ext": ext})).await;

    let client = reply["clientId"].as_str().unwrap();
    assert!(joe.resume(client).is_known().await);
    assert!(!admin.resume(client).is_known().await);
}

#[tokio::test]
async fn sessions_of_a_user_are_capped_when_configured() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.sessions_per_user = Some(2)).await.with_admin();
    let joe = server.user_with("joe", &[]).await;
    let (first, _second) = (admin.session().await, admin.session().await);
    if runs_at_two_servers() {
        // Each server has one of the sessions, and learns of the other one within a second.
        until("the notes of both servers", async || server.database().count("user_sessions").await == 2)
            .await;
    }

    let refused = admin.handshake(json!({})).await;

    assert_eq!((&refused["successful"], &refused["error"]), (&json!(false), &json!("403::Handshake denied")));
    assert_eq!(refused["advice"], json!({"reconnect": "none"}));
    joe.session().await;
    first.ask("/meta/disconnect", json!({})).await;
    until("room for another session", async || admin.handshake(json!({})).await["successful"] == true).await;
}

#[tokio::test]
async fn hostile_handshakes_get_responses_and_harm_nobody() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for more in [
        json!({"supportedConnectionTypes": "long-polling"}),
        json!({"supportedConnectionTypes": [5, {}, null]}),
        json!({"version": 1.0}),
        json!({"ext": [], "advice": "now"}),
        json!({"advice": {"interval": -1e300, "timeout": 1e300}}),
        json!({"id": {"deep": [1]}}),
        json!({"ext": {"com.platform.authn": 7}}),
    ] {
        let answer: Value = admin.handshake(more.clone()).await;
        assert!(answer["successful"].is_boolean(), "{more}: {answer}");
    }
}
