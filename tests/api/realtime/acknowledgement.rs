//! The acknowledgement extension (B-22).

use super::*;

async fn acknowledging(caller: &Caller, channel: &str) -> Session {
    let session = caller.session_with(json!({"ext": {"ack": true}})).await;
    assert_eq!(session.subscribe(channel).await["successful"], true);
    session
}

async fn connect(session: &Session, acknowledged: i64) -> Vec<Value> {
    session.connect_with(json!({"ext": {"ack": acknowledged}})).await
}

/// Sends connects without an acknowledgement until a response has this many notifications.
async fn until_told(session: &Session, acknowledged: i64, count: usize) -> Vec<Value> {
    eventually("all that was not acknowledged", async || {
        let answer = connect(session, acknowledged).await;
        (notifications(&answer).len() == count).then_some(answer)
    })
    .await
}

fn batch(answer: &[Value]) -> i64 {
    answer.last().unwrap()["ext"]["ack"].as_i64().unwrap_or_else(|| panic!("no batch in {answer:?}"))
}

fn types(answer: &[Value]) -> Vec<&str> {
    notifications(answer).iter().map(|n| n["data"]["data"]["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn extension_is_granted_to_those_who_ask() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let asked = admin.handshake(json!({"ext": {"ack": true}})).await;
    let not_asked = admin.handshake(json!({"ext": {"ack": false}})).await;
    let silent = admin.handshake(json!({})).await;

    assert_eq!(asked["ext"], json!({"ack": true}));
    assert!(not_asked.get("ext").is_none() && silent.get("ext").is_none(), "{not_asked} {silent}");
}

#[tokio::test]
async fn every_connect_reply_carries_a_new_number() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = acknowledging(&admin, "/alarms/*").await;

    let mut last = -1;
    for n in 0..3 {
        admin.raise_alarm(&device, &format!("type {n}")).await;
        let answer = connect(&session, last).await;
        assert_eq!(types(&answer), [format!("type {n}")]);
        assert!(batch(&answer) > last, "{answer:?}");
        last = batch(&answer);
    }
}

#[tokio::test]
async fn batch_that_was_not_acknowledged_is_sent_again_before_newer_ones() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = acknowledging(&admin, "/alarms/*").await;
    admin.raise_alarm(&device, "a").await;
    let first = connect(&session, -1).await;
    admin.raise_alarm(&device, "b").await;
    let second = connect(&session, batch(&first)).await;
    admin.raise_alarm(&device, "c").await;

    // The second response was lost, and the next one may contain more.
    let again = until_told(&session, batch(&first), 2).await;

    assert_eq!((types(&first), types(&second)), (vec!["a"], vec!["b"]));
    assert_eq!(types(&again), ["b", "c"]);
    assert!(batch(&again) > batch(&second), "{again:?}");
}

#[tokio::test]
async fn first_batch_is_sent_again_to_a_client_that_has_none() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = acknowledging(&admin, "/alarms/*").await;
    admin.raise_alarm(&device, "a").await;
    connect(&session, -1).await;

    let again = soon("an answer at once", connect(&session, -1)).await;

    assert_eq!(types(&again), ["a"]);
}

#[tokio::test]
async fn acknowledged_batches_are_not_sent_again() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = acknowledging(&admin, "/alarms/*").await;
    admin.raise_alarm(&device, "a").await;
    let first = connect(&session, -1).await;

    let held = session.hold_with(json!({"ext": {"ack": batch(&first)}})).await;
    admin.raise_alarm(&device, "b").await;

    assert_eq!(types(&held.answer().await), ["b"]);
}

#[tokio::test]
async fn several_lost_batches_are_sent_again_in_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = acknowledging(&admin, "/alarms/*").await;
    let mut seen = -1;
    for kind in ["a", "b", "c", "d"] {
        admin.raise_alarm(&device, kind).await;
        // Each response is lost: the client keeps reporting that it has received nothing.
        seen = batch(&connect(&session, -1).await);
    }

    let again = until_told(&session, -1, 4).await;
    let acknowledged =
        session.connect_with(json!({"ext": {"ack": batch(&again)}, "advice": {"timeout": 0}})).await;

    assert_eq!(types(&again), ["a", "b", "c", "d"]);
    assert!(batch(&again) > seen && types(&acknowledged).is_empty(), "{acknowledged:?}");
}

#[tokio::test]
async fn number_that_was_never_given_is_not_a_server_error() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let session = acknowledging(&admin, "/alarms/*").await;

    for ack in [json!(i64::MAX), json!(i64::MIN), json!("x"), json!(1.5), json!({}), json!(1e300)] {
        admin.raise_alarm(&device, "hot").await;
        let answer = session.connect_with(json!({"ext": {"ack": ack}, "advice": {"timeout": 0}})).await;
        assert_eq!(reply(&answer)["successful"], true, "{ack}");
    }
}

#[tokio::test]
async fn session_without_the_extension_gets_no_numbers() {
    let (_server, admin, device, session) =
        TestServer::shared().await.with_listener("pump", "/alarms/*").await;
    admin.raise_alarm(&device, "hot").await;

    let answer = connect(&session, -1).await;

    assert_eq!(reply(&answer), json!({"successful": true}));
}

#[tokio::test]
async fn unacknowledged_notifications_count_towards_the_bounds() {
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.queued_notifications = 5)
            .await
            .with_device("pump")
            .await;
    let session = acknowledging(&admin, "/alarms/*").await;

    for _ in 0..6 {
        admin.raise_alarm(&device, "hot").await;
        session.glance().await;
    }

    // The last notification may reach the session a moment after the response to its POST.
    until("the end of the session", async || !session.is_known().await).await;
}
