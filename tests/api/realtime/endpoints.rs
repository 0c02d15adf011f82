//! Paths, aliases, Accept and the compatibility switch (docs/rules.md#endpoints-channels-and-rights; B-01, B-19a, R-14,
//! C-20).

use super::*;
use crate::harness::modules::{deploy, marking};

const HANDSHAKE: &str =
    r#"[{"id":1,"channel":"/meta/handshake","version":"1.0","supportedConnectionTypes":["long-polling"]}]"#;

#[tokio::test]
async fn all_paths_and_sub_paths_are_served_and_the_old_ones_say_so() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (path, deprecated) in [
        ("/notification/realtime", None),
        ("/notification/operations", None),
        ("/cep/realtime", Some("true")),
        ("/devicecontrol/notifications", Some("true")),
    ] {
        for sub_path in ["", "/", "/handshake", "/connect", "/disconnect"] {
            let request = admin.request("POST", &format!("{path}{sub_path}")).accepting_json();
            let answer =
                request.header("Content-Type", "application/json").body(HANDSHAKE).send().await.expect(200);
            assert_eq!(answer.json()[0]["successful"], true, "{path}{sub_path}");
            assert_eq!(answer.header("Deprecation"), deprecated, "{path}{sub_path}");
        }
    }
}

#[tokio::test]
async fn module_channels_are_served_at_a_path_of_their_own_too() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    deploy(&admin, &marking("pumps", "hot")).await;
    let session = admin.session().await;

    let reply = session.on("/cep/notifications").subscribe("/pumps/overheated").await;

    assert_eq!(reply["successful"], true, "{reply}");
}

#[tokio::test]
async fn one_session_goes_through_all_paths() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = admin.session().await;

    let subscribed = session.on("/cep/realtime").subscribe("/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;
    let answer = session.on("/devicecontrol/notifications/connect").connect().await;

    assert_eq!((&subscribed["successful"], notifications(&answer).len()), (&json!(true), 1));
}

#[tokio::test]
async fn response_is_json() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = admin.bayeux(REALTIME, &json!([])).await;

    let content_type = answer.header("Content-Type").unwrap();
    assert!(content_type.starts_with("application/json"), "{content_type}");
}

#[tokio::test]
async fn request_without_accept_returns_an_empty_body() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let handshake = serde_json::from_str(HANDSHAKE).unwrap();
    let answer = RawConnection::without_accept(&admin, "POST", REALTIME, &handshake).await;

    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
}

#[tokio::test]
async fn connect_without_accept_takes_nothing_out_of_the_queue() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    let message = json!([session.message("/meta/connect", json!({"connectionType": "long-polling"}))]);
    let mute = RawConnection::without_accept(&admin, "POST", REALTIME, &message);
    let mute = soon("an answer at once", mute).await;

    assert_eq!((mute.status, mute.text.as_str()), (200, ""));
    assert_eq!(session.receive(1).await.len(), 1);
}

#[tokio::test]
async fn compatibility_switch_responds_without_accept() {
    let (_server, admin) =
        TestServer::start_with(|settings| settings.client_compatibility = true).await.with_admin();

    let handshake = serde_json::from_str(HANDSHAKE).unwrap();
    let answer = RawConnection::without_accept(&admin, "POST", REALTIME, &handshake).await;

    assert_eq!(answer.json()[0]["successful"], true);
}

#[tokio::test]
async fn compatibility_switch_releases_the_first_connect_at_once_and_holds_the_second() {
    let (_server, admin, device) = TestServer::start_with(|settings| settings.client_compatibility = true)
        .await
        .with_device("pump")
        .await;
    let session = admin.listen("/alarms/*").await;

    let first = soon("an answer at once", session.connect()).await;
    let second = session.hold().await;
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(notifications(&first).len(), 0);
    assert_eq!(notifications(&second.answer().await).len(), 1);
}

#[tokio::test]
async fn compatibility_switch_leaves_rest_as_it_is() {
    let (_server, admin, device) = TestServer::start_with(|settings| settings.client_compatibility = true)
        .await
        .with_device("pump")
        .await;

    let alarm = alarm_of(&device, "hot");
    let answer = RawConnection::without_accept(&admin, "POST", "/alarm/alarms", &alarm).await;

    assert_eq!((answer.status, answer.text.as_str()), (201, ""));
}

#[tokio::test]
async fn content_type_of_bayeux_is_not_examined() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for content_type in ["application/json;charset=UTF-8", "text/json", "text/plain"] {
        let request = admin.request("POST", REALTIME).accepting_json().header("Content-Type", content_type);
        let answer = request.body(HANDSHAKE).send().await;
        assert!([200, 415].contains(&answer.status), "{content_type}: {}", answer.text);
    }
    let answer = admin.request("POST", REALTIME).accepting_json().body(HANDSHAKE).send().await;
    assert_eq!(answer.json()[0]["successful"], true, "without any");
}
