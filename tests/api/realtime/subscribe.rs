//! Subscribe and unsubscribe (B-01, B-02, B-16, B-17, B-23).

use super::*;
use crate::harness::modules::{deploy, marking};

#[tokio::test]
async fn subscribe_and_unsubscribe_echo_the_subscription() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    for channel in ["/meta/subscribe", "/meta/unsubscribe"] {
        for subscription in
            [json!("/alarms/*"), json!(["/alarms/*", "/managedobjects/*"]), json!(["/alarms/7"])]
        {
            let reply = session.ask(channel, json!({"subscription": subscription})).await;
            let expected = json!({
                "id": "7",
                "channel": channel,
                "clientId": session.client,
                "subscription": subscription,
                "successful": true,
            });
            assert_eq!(reply, expected);
        }
    }
}

#[tokio::test]
async fn every_channel_of_the_documents_is_taken_at_its_endpoint() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    deploy(&admin, &marking("pumps", "hot")).await;
    let session = admin.session().await;

    for word in ["managedobjects", "measurements", "events", "alarms", "operations"] {
        for channel in [format!("/{word}/{device}"), format!("/{word}/*")] {
            assert_eq!(session.subscribe(&channel).await["successful"], true, "{channel}");
        }
    }
    for channel in ["/pumps/overheated", "/pumps/*"] {
        assert_eq!(session.subscribe(channel).await["successful"], true, "{channel}");
    }
    let operations = session.on("/notification/operations");
    assert_eq!(operations.subscribe(&format!("/{device}")).await["successful"], true);
}

#[tokio::test]
async fn other_channels_are_invalid() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;
    let operations = session.on("/notification/operations");

    for channel in [
        "/**",
        "/*",
        "/*/*",
        "/alarms/**",
        "/alarms/*/*",
        "/alarms",
        "/alarms/",
        "/alarms/abc",
        "/alarms/1/2",
        "alarms/1",
        "/208",
        "/meta/connect",
        "/service/x",
        "",
        "/",
        "//",
        "/alarms/-1",
        "/pumps/s*",
    ] {
        let reply = session.subscribe(channel).await;
        assert_eq!(
            (&reply["successful"], &reply["error"]),
            (&json!(false), &json!("403::subscription_invalid")),
            "{channel:?}"
        );
        assert_eq!(reply["subscription"], channel);
    }
    for channel in ["/alarms/*", "/alarms/1", "/*", "/**", "/abc"] {
        let reply = operations.subscribe(channel).await;
        assert_eq!(reply["error"], "403::subscription_invalid", "{channel:?} at operations");
    }
    for subscription in
        [json!(5), json!({}), json!([]), json!([5]), json!(["/alarms/*", "/**"]), json!([["/alarms/*"]])]
    {
        let reply = session.ask("/meta/subscribe", json!({"subscription": subscription})).await;
        assert_eq!(reply["error"], "403::subscription_invalid", "{subscription}");
    }
}

#[tokio::test]
async fn channels_of_no_resource_and_no_deployed_module_are_denied() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    let id = &device;

    for channel in [
        "/nonsense/1".to_owned(),
        "/nonsense/*".to_owned(),
        format!("/alarm/{id}"),
        format!("/managedObjects/{id}"),
        format!("/Alarms/{id}"),
        "/alarm/*".to_owned(),
        "/a\0b/x".to_owned(),
        "/\u{e4}'; --/x".to_owned(),
        format!("/{}/x", "m".repeat(2000)),
    ] {
        for subscription in [json!(channel), json!(["/alarms/*", channel])] {
            let reply = session.ask("/meta/subscribe", json!({"subscription": subscription})).await;
            let expected =
                json!({"successful": false, "error": "403::subscribe_denied", "subscription": subscription});
            assert_eq!(without(&reply, &["id", "channel", "clientId"]), expected, "{channel:?}");
        }
        // Unsubscribing from a channel without a subscription succeeds (B-16).
        assert_eq!(session.unsubscribe(&channel).await["successful"], true, "{channel:?}");
    }

    admin.raise_alarm(&device, "hot").await;
    assert!(notifications(&session.glance().await).is_empty(), "nothing was subscribed to");
}

#[tokio::test]
async fn missing_subscription_is_named() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    for channel in ["/meta/subscribe", "/meta/unsubscribe"] {
        for more in [json!({}), json!({"subscription": null})] {
            let reply = session.ask(channel, more).await;
            let expected = json!({"successful": false, "error": "403::subscription_missing"});
            assert_eq!(without(&reply, &["id", "channel", "clientId"]), expected, "{channel}");
        }
    }
}

#[tokio::test]
async fn repeated_subscribe_makes_no_duplicates() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;

    for subscription in [json!("/alarms/*"), json!("/alarms/*"), json!(["/alarms/*", "/alarms/*"])] {
        let reply = session.ask("/meta/subscribe", json!({"subscription": subscription})).await;
        assert_eq!(reply["successful"], true, "{reply}");
    }
    admin.raise_alarm(&device, "first").await;
    admin.raise_alarm(&device, "second").await;

    let told = session.receive(2).await;
    let types: Vec<_> = told.iter().map(|message| &message["data"]["data"]["type"]).collect();
    assert_eq!(types, ["first", "second"]);
}

#[tokio::test]
async fn session_subscribed_to_wildcard_and_device_is_notified_once_on_the_concrete_channel() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    session.subscribe("/alarms/*").await;
    session.subscribe(&format!("/alarms/{device}")).await;

    admin.raise_alarm(&device, "first").await;
    admin.raise_alarm(&device, "second").await;

    let told = session.receive(2).await;
    for (message, kind) in told.iter().zip(["first", "second"]) {
        assert_eq!(message["channel"], format!("/alarms/{device}"));
        assert_eq!(message["data"]["data"]["type"], kind);
    }
}

#[tokio::test]
async fn channel_with_children_delivers_those_of_the_object_itself() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    let session = admin.listen(&format!("/alarmsWithChildren/{pump}")).await;

    admin.raise_alarm(&motor, "other").await;
    let alarm = admin.raise_alarm(&pump, "hot").await;

    let answer = session.connect_with(json!({"advice": {"timeout": 1000}})).await;
    let told: Vec<_> = notifications(&answer).iter().map(|message| &message["data"]["data"]).collect();
    assert_eq!(told, [&alarm]);
}

#[tokio::test]
async fn unsubscribed_channel_is_silent_and_the_others_are_not() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, motor) = (admin.create_device("pump").await, admin.create_device("motor").await);
    let session = admin.session().await;
    session.subscribe(&format!("/alarms/{pump}")).await;
    session.subscribe(&format!("/alarms/{motor}")).await;

    let reply = session.unsubscribe(&format!("/alarms/{pump}")).await;
    admin.raise_alarm(&pump, "unheard").await;
    admin.raise_alarm(&motor, "heard").await;

    assert_eq!(reply["successful"], true);
    let told = session.receive(1).await;
    assert_eq!((told.len(), &told[0]["data"]["data"]["type"]), (1, &json!("heard")));
}

#[tokio::test]
async fn unsubscribe_from_the_wildcard_leaves_the_device() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;
    session.subscribe("/alarms/*").await;
    session.subscribe(&format!("/alarms/{device}")).await;

    session.unsubscribe("/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(session.receive(1).await.len(), 1);
}

#[tokio::test]
async fn unsubscribe_of_nothing_is_successful() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    let reply = session.unsubscribe("/alarms/*").await;

    assert_eq!((&reply["successful"], reply.get("error")), (&json!(true), None));
}

#[tokio::test]
async fn subscriptions_of_a_session_are_capped() {
    let (_server, admin) =
        TestServer::start_with(|settings| settings.limits.subscriptions_per_session = 3).await.with_admin();
    let session = admin.session().await;
    for channel in ["/alarms/*", "/events/*", "/measurements/*"] {
        assert_eq!(session.subscribe(channel).await["successful"], true);
    }

    let fourth = session.subscribe("/operations/*").await;
    let repeated = session.subscribe("/alarms/*").await;
    session.unsubscribe("/events/*").await;
    let instead = session.subscribe("/operations/*").await;

    assert_eq!((&fourth["successful"], &fourth["error"]), (&json!(false), &json!("403::subscribe_denied")));
    assert_eq!((&repeated["successful"], &instead["successful"]), (&json!(true), &json!(true)));
}

#[tokio::test]
async fn what_is_published_after_the_reply_is_delivered() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| (settings.workers, settings.actor_threads) = (2, 2))
            .await
            .with_device("pump")
            .await;

    for n in 0..20 {
        let session = admin.listen("/alarms/*").await;
        let kind = format!("type {n}");
        admin.raise_alarm(&device, &kind).await;
        let told = session.receive(1).await;
        assert_eq!(told[0]["data"]["data"]["type"], kind.as_str());
        session.ask("/meta/disconnect", json!({})).await;
    }
}

#[tokio::test]
async fn messages_of_one_request_are_processed_in_order() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    let messages = json!([
        session.message("/meta/subscribe", json!({"id": 1, "subscription": "/alarms/*"})),
        session.message("/meta/unsubscribe", json!({"id": 2, "subscription": "/alarms/*"})),
        session.message("/meta/subscribe", json!({"id": 3, "subscription": "/**"})),
        session.message("/meta/subscribe", json!({"id": 4, "subscription": "/events/*"})),
    ]);
    let replies = admin.exchange(REALTIME, &messages).await;

    let shown: Vec<_> =
        replies.iter().map(|reply| (reply["id"].clone(), reply["successful"].clone())).collect();
    let expected = [(1, true), (2, true), (3, false), (4, true)];
    assert_eq!(shown, expected.map(|(id, successful)| (json!(id), json!(successful))));
}
