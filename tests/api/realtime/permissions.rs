//! Tests who may subscribe to which channels (B-01, B-18, U-16).

use super::*;
use crate::harness::modules::{deploy, marking};

/// The time within which revoked rights must take effect (B-18).
const REVOKED: Duration = Duration::from_secs(5);

#[tokio::test]
async fn each_resource_needs_its_own_role() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    deploy(&admin, &marking("pumps", "hot")).await;

    for (word, role) in [
        ("managedobjects", "ROLE_INVENTORY_READ"),
        ("measurements", "ROLE_MEASUREMENT_READ"),
        ("events", "ROLE_EVENT_READ"),
        ("alarms", "ROLE_ALARM_READ"),
        ("operations", "ROLE_DEVICE_CONTROL_READ"),
        ("pumps", "ROLE_NOTIFICATION_READ"),
    ] {
        let session = server.user_with(word, &[role]).await.session().await;
        for other in ["managedobjects", "measurements", "events", "alarms", "operations", "pumps"] {
            for channel in [format!("/{other}/{device}"), format!("/{other}/*")] {
                let reply = session.subscribe(&channel).await;
                assert_eq!(reply["successful"], other == word, "{channel} with {role}: {reply}");
            }
        }
    }
}

#[tokio::test]
async fn channels_with_children_need_the_role_of_their_resource() {
    let (server, _admin, device) = TestServer::shared().await.with_device("pump").await;

    for (word, role) in [("alarmsWithChildren", "ROLE_ALARM_READ"), ("eventsWithChildren", "ROLE_EVENT_READ")]
    {
        let with = server.user_with(word, &[role]).await.session().await;
        let others = ["ROLE_NOTIFICATION_READ", "ROLE_INVENTORY_READ"];
        let without = server.user_with(&format!("no {word}"), &others).await.session().await;
        let channel = format!("/{word}/{device}");
        assert_eq!(with.subscribe(&channel).await["successful"], true, "{channel}");
        assert_eq!(without.subscribe(&channel).await["error"], "403::subscribe_denied", "{channel}");
    }
}

#[tokio::test]
async fn subscribe_without_permission_is_denied_without_advice() {
    let server = TestServer::shared().await;
    let session = server.user_with("joe", &[]).await.session().await;

    let reply = session.subscribe("/alarms/*").await;

    let expected = json!({
        "id": "7",
        "channel": "/meta/subscribe",
        "subscription": "/alarms/*",
        "successful": false,
        "error": "403::subscribe_denied",
    });
    assert_eq!(without(&reply, &["clientId"]), expected);
}

#[tokio::test]
async fn agent_channel_needs_the_device_control_role() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let channel = format!("/{}", admin.create_device("agent").await);
    let with = server.user_with("with", &["ROLE_DEVICE_CONTROL_READ"]).await.session().await;
    let without = server.user_with("without", &["ROLE_NOTIFICATION_READ"]).await.session().await;

    let granted = with.on("/notification/operations").subscribe(&channel).await;
    let denied = without.on("/notification/operations").subscribe(&channel).await;

    assert_eq!((&granted["successful"], &denied["error"]), (&json!(true), &json!("403::subscribe_denied")));
}

#[tokio::test]
async fn owner_listens_to_the_own_object_without_the_role() {
    let (_server, _, owner) = TestServer::shared().await.with_owner().await;
    let device = owner.create_device("pump").await;
    let session = owner.session().await;

    let own = session.subscribe(&format!("/alarms/{device}")).await;
    let all = session.subscribe("/alarms/*").await;
    owner.raise_alarm(&device, "hot").await;

    assert_eq!((&own["successful"], &all["error"]), (&json!(true), &json!("403::subscribe_denied")));
    assert_eq!(session.receive(1).await[0]["channel"], format!("/alarms/{device}"));
}

#[tokio::test]
async fn objects_of_others_and_unknown_ones_are_denied_alike() {
    let (server, _admin, foreign) = TestServer::shared().await.with_device("pump").await;
    let session = server.user_with("joe", &["ROLE_INVENTORY_CREATE"]).await.session().await;

    let (foreign, unknown) =
        (session.subscribe(&format!("/alarms/{foreign}")).await, session.subscribe("/alarms/4711").await);

    assert_eq!(without(&foreign, &["subscription"]), without(&unknown, &["subscription"]));
    assert_eq!(foreign["error"], "403::subscribe_denied");
}

#[tokio::test]
async fn client_id_of_another_user_is_unknown() {
    let server = TestServer::start_with_tenant("t7", "plant7.example.com").await;
    let session = server.admin().listen("/alarms/*").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let namesake = server.caller("t7/admin", ADMIN_PASSWORD);

    for stranger in [joe, namesake] {
        let stolen = stranger.resume(&session.client);
        for (channel, more) in [
            ("/meta/connect", json!({"connectionType": "long-polling"})),
            ("/meta/subscribe", json!({"subscription": "/events/*"})),
            ("/meta/unsubscribe", json!({"subscription": "/alarms/*"})),
            ("/meta/disconnect", json!({})),
        ] {
            let reply = stolen.ask(channel, more).await;
            let shown = without(&reply, &["id", "channel", "clientId", "subscription"]);
            let advice = json!({"reconnect": "handshake", "interval": 0});
            let expected = json!({"successful": false, "error": "402::Unknown client", "advice": advice});
            assert_eq!(shown, expected, "{channel}");
        }
    }
    server.admin().raise_alarm(&server.admin().create_device("pump").await, "hot").await;
    assert_eq!(session.receive(1).await.len(), 1, "the session is untouched");
}

async fn ends(session: &Session, why: &str) {
    until_within(REVOKED, why, async || !session.is_known().await).await;
}

#[tokio::test]
async fn password_change_ends_the_sessions_of_the_user_only() {
    let (server, admin) = TestServer::start().await.with_admin();
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let (first, second, other) = (joe.listen("/alarms/*").await, joe.session().await, admin.session().await);

    let hash = "UPDATE users SET password_hash = password_hash WHERE name = 'joe'";
    server.database().execute(hash, &[]).await;
    server.database().notify_user("joe").await;

    ends(&first, "the end of the first session").await;
    ends(&second, "the end of the second session").await;
    assert!(other.is_known().await);
}

#[tokio::test]
async fn held_connect_of_a_session_that_is_ended_gets_402() {
    let server = TestServer::start().await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let session = joe.listen("/alarms/*").await;
    let held = session.hold().await;

    server.database().notify_user("joe").await;

    let answer = soon("the answer of the held connect", held.answer()).await;
    let advice = json!({"reconnect": "handshake", "interval": 0});
    assert_eq!(
        reply(&answer),
        json!({"successful": false, "error": "402::Unknown client", "advice": advice})
    );
}

#[tokio::test]
async fn user_whose_role_was_revoked_receives_nothing_after_five_seconds() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let session = joe.listen("/alarms/*").await;

    let roles: &[&str] = &[];
    server.database().execute("UPDATE users SET roles = $1 WHERE name = 'joe'", &[&roles]).await;
    server.database().notify_user("joe").await;

    until_within(REVOKED, "silence", async || {
        admin.raise_alarm(&device, "hot").await;
        let answer = session.glance().await;
        notifications(&answer).is_empty()
    })
    .await;
    let again = joe.session().await;
    assert_eq!(again.subscribe("/alarms/*").await["error"], "403::subscribe_denied");
}
