//! Connects: held, returned, superseded (B-07, B-10, B-11, B-13, B-15).

use super::*;

#[tokio::test]
async fn held_connect_returns_when_there_is_a_notification() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.listen(&format!("/alarms/{device}")).await;

    let held = session.hold().await;
    let alarm = admin.raise_alarm(&device, "hot").await;

    let answer = held.answer().await;
    let data = json!({"realtimeAction": "CREATE", "data": alarm});
    let expected = [
        json!({"channel": format!("/alarms/{device}"), "id": answer[0]["id"], "data": data}),
        json!({"id": "7", "channel": "/meta/connect", "clientId": session.client, "successful": true}),
    ];
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn connect_returns_a_notification_that_comes_before_or_after_it() {
    let keep_alive = Duration::from_secs(600);
    let (_server, admin, device) = TestServer::start_with(|settings| settings.limits.keep_alive = keep_alive)
        .await
        .with_device("pump")
        .await;
    let session = admin.listen("/alarms/*").await;

    for n in 0..30 {
        let polling = tokio::spawn({
            let session = session.clone();
            async move { session.connect().await }
        });
        for _ in 0..n % 5 {
            tokio::task::yield_now().await;
        }
        admin.raise_alarm(&device, "hot").await;
        let answer = soon("the answer", polling).await.unwrap();
        assert_eq!(notifications(&answer).len(), 1, "round {n}");
    }
}

#[tokio::test]
async fn what_came_between_two_connects_waits_in_order() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    for n in 0..10 {
        admin.raise_alarm(&device, &format!("type {n}")).await;
    }

    let told = session.receive(10).await;

    let types: Vec<_> = told.iter().map(|n| n["data"]["data"]["type"].as_str().unwrap()).collect();
    assert_eq!(types, (0..10).map(|n| format!("type {n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn message_ids_differ_and_are_texts() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    for _ in 0..3 {
        admin.raise_alarm(&device, "hot").await;
    }

    let told = session.receive(3).await;

    let ids: Vec<u64> = told.iter().map(|message| message["id"].as_str().unwrap().parse().unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

#[tokio::test]
async fn timeout_zero_returns_at_once_and_advises_the_time_of_the_next_connect() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;

    let answer = within(Duration::from_secs(5), "an answer at once", session.glance()).await;

    let advice = json!({"interval": 0, "timeout": 5_400_000, "reconnect": "retry"});
    assert_eq!(reply(&answer), json!({"successful": true, "advice": advice}));
}

#[tokio::test]
async fn timeout_zero_takes_what_waits() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    let (first, second) = (session.glance_until_told().await, session.glance().await);

    assert_eq!((notifications(&first).len(), notifications(&second).len()), (1, 0));
}

#[tokio::test]
async fn timeout_of_the_client_bounds_the_hold() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;
    let begun = Instant::now();

    let answer = session.connect_with(json!({"advice": {"timeout": 300}})).await;

    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    let advice = json!({"interval": 0, "timeout": 5_400_000, "reconnect": "retry"});
    assert_eq!(reply(&answer), json!({"successful": true, "advice": advice}));
}

#[tokio::test]
async fn timeout_of_the_client_counts_for_that_connect_only() {
    let server =
        TestServer::start_with(|settings| settings.limits.connect_timeout = Duration::from_millis(300)).await;
    let session = server.admin().session().await;
    session.glance().await;
    let begun = Instant::now();

    let answer = session.connect().await;

    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    assert_eq!(reply(&answer), json!({"successful": true}), "no advice when none was sent");
}

#[tokio::test]
async fn handshake_advice_names_the_configured_timeout() {
    let server =
        TestServer::start_with(|settings| settings.limits.connect_timeout = Duration::from_millis(1234))
            .await;

    let reply = server.admin().handshake(json!({})).await;

    assert_eq!(reply["advice"], json!({"interval": 0, "timeout": 1234, "reconnect": "retry"}));
}

#[tokio::test]
async fn advice_of_a_connect_that_is_held_longer_is_about_the_next_one() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;

    let held = session.hold_with(json!({"advice": {"timeout": 99_999_999_999_u64}})).await;
    admin.raise_alarm(&device, "hot").await;

    let answer = held.answer().await;
    assert_eq!(reply(&answer)["advice"]["timeout"], 5_400_000);
}

#[tokio::test]
async fn newer_connect_is_held_and_the_older_released_plainly() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;

    let older = session.hold_with(json!({"id": "older", "advice": {"timeout": 60_000}})).await;
    let newer = session.hold_with(json!({"id": "newer"})).await;
    let answer = soon("the answer of the older connect", older.answer()).await;
    admin.raise_alarm(&device, "hot").await;

    let plain =
        json!({"id": "older", "channel": "/meta/connect", "clientId": session.client, "successful": true});
    assert_eq!(answer, [plain]);
    let answer = newer.answer().await;
    assert_eq!((notifications(&answer).len(), &answer[1]["id"]), (1, &json!("newer")));
}

#[tokio::test]
async fn many_connects_of_one_client_at_once_lose_and_double_nothing() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| (settings.workers, settings.actor_threads) = (2, 2))
            .await
            .with_device("pump")
            .await;
    let session = admin.listen("/alarms/*").await;

    let polls: Vec<_> = (0..4)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move {
                let mut told = Vec::new();
                for _ in 0..25 {
                    let answer = session.connect_with(json!({"advice": {"timeout": 100}})).await;
                    told.extend_from_slice(notifications(&answer));
                }
                told
            })
        })
        .collect();
    for n in 0..50 {
        admin.raise_alarm(&device, &format!("type {n}")).await;
    }

    let mut told = Vec::new();
    for poll in polls {
        told.extend(soon("the end of a poll", poll).await.unwrap());
    }
    while told.len() < 50 {
        told.extend_from_slice(notifications(&session.glance_until_told().await));
    }
    let mut types: Vec<_> = told.iter().map(|n| n["data"]["data"]["type"].as_str().unwrap()).collect();
    types.sort_unstable();
    let mut expected: Vec<_> = (0..50).map(|n| format!("type {n}")).collect();
    expected.sort_unstable();
    assert_eq!(types, expected);
}

#[tokio::test]
async fn connect_among_other_messages_returns_queued_notifications_at_once() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    let messages = json!([
        session.message("/meta/subscribe", json!({"id": 1, "subscription": "/events/*"})),
        session.message("/meta/connect", json!({"id": 2, "connectionType": "long-polling"})),
        session.message("/meta/unsubscribe", json!({"id": 3, "subscription": "/events/*"})),
    ]);
    let replies = eventually("an answer with the alarm", async || {
        let replies = admin.exchange(REALTIME, &messages).await;
        (replies.len() > 3).then_some(replies)
    })
    .await;

    let shown: Vec<_> = replies.iter().map(|reply| reply["channel"].as_str().unwrap().to_owned()).collect();
    let alarms = format!("/alarms/{device}");
    assert_eq!(shown, ["/meta/subscribe", &*alarms, "/meta/connect", "/meta/unsubscribe"]);
    assert_eq!(notifications(&session.glance().await).len(), 0, "delivered once");
}

#[tokio::test]
async fn notifications_travel_with_connect_replies_only() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    let messages = json!([session.message("/meta/subscribe", json!({"subscription": "/events/*"}))]);
    let replies = admin.exchange(REALTIME, &messages).await;

    assert_eq!(replies.len(), 1, "{replies:?}");
    assert_eq!(session.receive(1).await.len(), 1);
}

#[tokio::test]
async fn first_connect_is_held_like_any_other() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;

    let mut held = session.hold().await;
    let spaces = [held.piece().await, held.piece().await, held.piece().await];
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(spaces.map(Option::unwrap), [" ", " ", " "]);
    assert_eq!(notifications(&held.answer().await).len(), 1);
}

#[tokio::test]
async fn channels_subscribed_while_a_connect_is_held_are_delivered_by_it() {
    if runs_at_two_servers() {
        // The subscription moves the session, which ends the connect.
        return;
    }
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;

    let held = session.hold().await;
    session.subscribe("/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(notifications(&held.answer().await).len(), 1);
}

#[tokio::test]
async fn disconnect_ends_the_session_and_releases_its_held_connect() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.session().await;
    let held = session.hold().await;

    let disconnected = session.ask("/meta/disconnect", json!({"id": 5})).await;

    let expected =
        json!({"id": 5, "channel": "/meta/disconnect", "clientId": session.client, "successful": true});
    assert_eq!(disconnected, expected);
    soon("the answer of the held connect", held.answer()).await;
    assert!(!session.is_known().await);
}

#[tokio::test]
async fn hundred_sessions_all_receive_one_alarm() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.workers = 2).await.with_device("pump").await;
    let mut held = Vec::new();
    for _ in 0..100 {
        held.push(admin.listen("/alarms/*").await.hold().await);
    }

    let alarm = admin.raise_alarm(&device, "hot").await;

    for connect in held {
        let answer = connect.answer().await;
        assert_eq!(answer[0]["data"], json!({"realtimeAction": "CREATE", "data": alarm}));
        assert_eq!(answer.len(), 2);
    }
}
