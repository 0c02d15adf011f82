//! Errors of rows 80 to 84 (S-50 to S-54, S-56, S-58).

use super::*;

async fn answer(caller: &Caller, rows: &str) -> String {
    text_of(rows_to(caller, REALTIME, None, rows).send().await)
}

#[tokio::test]
async fn other_rows_and_wrong_arguments_are_refused_each_with_its_line() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let rows = "\u{feff}x\r\n\r\n100\n15,a\n61,b\n81\n81,a\n81,,/alarms/*\n82,a\n82,a,/alarms/*,b\n83\n83,,a\n84\n\
        84,a,b\n80,\"a\"b\n86";
    assert_eq!(
        answer(&admin, rows).await,
        "42,1,Malformed Request\n43,3,Invalid message identifier\n43,4,Invalid message identifier\n\
         43,5,Invalid message identifier\n45,6,Wrong number of arguments\n45,7,Wrong number of arguments\n\
         45,8,Wrong number of arguments\n45,9,Wrong number of arguments\n45,10,Wrong number of arguments\n\
         45,11,Wrong number of arguments\n45,12,Wrong number of arguments\n45,13,Wrong number of arguments\n\
         45,14,Wrong number of arguments\n42,15,Malformed Request\n43,16,Invalid message identifier\n"
    );
    assert_eq!(answer(&admin, "\n \r\n").await, "");
}

#[tokio::test]
async fn unknown_client_is_advised_to_handshake() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let hexadecimal = "0".repeat(32);

    for client in ["x", "c", &hexadecimal, &format!("{hexadecimal}c"), "\"a,\"\"b\"", "ä"] {
        for (row, word) in [
            (format!("81,{client},/alarms/*"), "subscribe"),
            (format!("82,{client},/alarms/*"), "unsubscribe"),
            (format!("83,{client}"), "connect"),
            (format!("84,{client}"), "disconnect"),
        ] {
            let expected = format!("40,/meta/{word},402::Unknown client\n86,,0,handshake\n");
            assert_eq!(answer(&admin, &row).await, expected, "{row}");
        }
    }
}

#[tokio::test]
async fn compatibility_switch_puts_the_line_into_advice() {
    let server = TestServer::start_with(|settings| {
        settings.client_compatibility = true;
        settings.limits.sessions_per_user = Some(0);
    })
    .await;

    let rows = "\n84,x\n80";
    assert_eq!(
        answer(&server.admin(), rows).await,
        "40,/meta/disconnect,402::Unknown client\n86,2,,0,handshake\n\
         40,/meta/handshake,403::Handshake denied\n86,3,,,none\n"
    );
}

#[tokio::test]
async fn handshake_beyond_the_sessions_of_a_user_is_denied() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.sessions_per_user = Some(1)).await.with_admin();
    let client = RowClient::start(&admin, REALTIME, None).await;
    if runs_at_two_servers() {
        until("the note of the server that has the session", async || {
            server.database().count("user_sessions").await == 1
        })
        .await;
    }

    assert_eq!(answer(&admin, "80").await, "40,/meta/handshake,403::Handshake denied\n86,,,none\n");
    assert_eq!(client.send("84,<c>").await, "", "the first one is untouched");
}

#[tokio::test]
async fn misspelt_channel_is_denied_to_those_with_every_role() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let client = RowClient::start(&admin, REALTIME, None).await;

    for channel in ["/nonsense/1", "/alarm/1", "/managedObjects/1", "/alarm/*"] {
        let answer = client.send(&format!("81,<c>,{channel}")).await;
        assert_eq!(answer, "40,/meta/subscribe,403::subscribe_denied\n", "{channel}");
    }
}

#[tokio::test]
async fn channel_that_is_forbidden_or_unknown_is_denied() {
    let (server, _admin, device) = TestServer::shared().await.with_device("pump").await;
    let joe = server.user_with("joe", &["ROLE_EVENT_READ"]).await;
    let client = RowClient::start(&joe, REALTIME, None).await;

    for channel in ["/alarms/*", &format!("/alarms/{device}"), "/alarms/x", "/alarm/1", "alarms", "/**", "/1"]
    {
        let answer = client.send(&format!("81,<c>,{channel}")).await;
        assert_eq!(answer, "40,/meta/subscribe,403::subscribe_denied\n", "{channel}");
    }
    client.subscribe("/events/*").await;
}

#[tokio::test]
async fn channels_beyond_the_limit_are_denied() {
    let (_server, admin) =
        TestServer::start_with(|settings| settings.limits.subscriptions_per_session = 1).await.with_admin();
    let client = RowClient::start(&admin, REALTIME, None).await;
    client.subscribe("/alarms/*").await;

    let answer = client.send("81,<c>,/alarms/*\n81,<c>,/events/*").await;

    assert_eq!(answer, "40,/meta/subscribe,403::subscribe_denied\n");
}

#[tokio::test]
async fn unsubscribing_without_a_subscription_succeeds_and_without_a_channel_fails() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let client = RowClient::start(&admin, REALTIME, None).await;

    assert_eq!(client.send("82,<c>,/alarms/*").await, "");
    assert_eq!(client.send("82,<c>,alarms").await, "40,/meta/unsubscribe,403::subscription_invalid\n");
}

#[tokio::test]
async fn further_arguments_of_80_and_83_are_ignored() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "types", TYPES).await;
    let handshake = rows_to(&admin, REALTIME, Some("types"), "80,a,\"b\",,c");
    let client = text_of(handshake.send().await).trim_end().to_owned();
    let client =
        RowClient { caller: admin.clone(), path: REALTIME.into(), x_id: Some("types".into()), client };
    client.subscribe("/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(client.send("83,<c>,a,,\"b\"").await, "200,1,hot\n");
}

#[tokio::test]
async fn client_id_of_another_user_is_unknown() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "types", TYPES).await;
    let client = RowClient::listen(&admin, "types", "/alarms/*").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_READ"]).await;
    let stolen = RowClient { caller: joe, ..client.clone() };

    for (row, word) in [
        ("81,<c>,/alarms/*", "subscribe"),
        ("82,<c>,/alarms/*", "unsubscribe"),
        ("83,<c>", "connect"),
        ("84,<c>", "disconnect"),
    ] {
        let expected = format!("40,/meta/{word},402::Unknown client\n86,,0,handshake\n");
        assert_eq!(stolen.send(row).await, expected);
    }
    admin.raise_alarm(&device, "hot").await;
    assert_eq!(client.connect().await, "200,1,hot\n", "the session is untouched");
}

#[tokio::test]
async fn body_over_the_limit_is_413_and_wrong_credentials_are_401() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.bayeux_bytes = 2048).await.with_admin();

    let large = rows_to(&admin, REALTIME, None, &"\n".repeat(2049)).send().await;
    assert_eq!((large.status, large.json()["error"].is_string()), (413, true));
    for caller in [server.stranger(), server.caller("admin", "wrong-secret")] {
        rows_to(&caller, REALTIME, None, "80").send().await.expect_error(401, "security/Unauthorized");
    }
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    assert_eq!(rows_to(&bootstrap, REALTIME, None, "80").send().await.status, 403);
    let other = server.caller("management/admin", ADMIN_PASSWORD);
    assert_eq!(rows_to(&other, REALTIME, None, "80").send().await.status, 200);
}
