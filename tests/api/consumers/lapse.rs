//! A backlog beyond its bound: the consumer lapses, and learns what it missed.

use super::*;

/// Creates a consumer with the smallest backlog and exceeds it. Returns the first position that it misses.
async fn lapsed(admin: &Caller, device: &str, name: &str) -> i64 {
    let body = json!({"name": name, "channels": ["/events/*"], "maxBytes": 65536});
    let first = admin.create(CONSUMERS, &body).await["position"].as_i64().unwrap() + 1;
    let text = "x".repeat(20_000);
    for _ in 0..4 {
        let mut event = event_of(device, "large");
        event["text"] = json!(text);
        admin.create(EVENTS, &event).await;
    }
    until("the consumer lapses", async || shown(admin, name).await["state"] == "LAPSED").await;
    first
}

#[tokio::test]
async fn consumer_with_too_large_a_backlog_lapses_with_an_alarm_and_reports_the_gap_until_it_is_acknowledged()
{
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let first = lapsed(&admin, &device, "slow").await;
    let shown = shown(&admin, "slow").await;
    let last = shown["newest"].as_i64().unwrap();
    assert!(shown["lapsedTime"].is_string(), "{shown}");
    let alarm = eventually("the alarm", async || {
        let alarms = admin.read("/alarm/alarms?type=plat_ConsumerLapsed").await;
        alarms["alarms"].get(0).cloned()
    })
    .await;
    assert_eq!((&alarm["severity"], &alarm["status"]), (&json!("MAJOR"), &json!("ACTIVE")));
    assert!(alarm["text"].as_str().unwrap().contains("'slow'"), "{alarm}");

    admin.create_event(&device, "missed too").await;
    let gap = batch(&admin, "slow", "").await;
    assert_eq!((&gap["recovered"], sent(&gap).len()), (&json!(false), 0));
    let to = gap["missed"]["to"].as_i64().unwrap();
    assert_eq!(gap["missed"]["from"], first);
    assert!(to > last && gap["position"] == to, "{gap}");

    assert_eq!(super::shown(&admin, "slow").await["missed"], gap["missed"]);
    admin.create_event(&device, "after").await;
    let again = batch(&admin, "slow", "wait=5").await;
    assert_eq!(
        (&again["recovered"], &again["missed"]),
        (&json!(false), &gap["missed"]),
        "it is not acknowledged"
    );
    assert_eq!(types(&again), ["after"]);
    let known = batch(&admin, "slow", &format!("acknowledge={to}")).await;
    assert_eq!((types(&known), &known["recovered"]), (vec!["after".to_owned()], &json!(true)));
    assert_eq!(super::shown(&admin, "slow").await["state"], "ACTIVE");
}

#[tokio::test]
async fn old_backlog_lapses() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let body = json!({"name": "old", "channels": ["/events/*"], "maxAge": 60});
    admin.create(CONSUMERS, &body).await;
    admin.create_event(&device, "one").await;
    let age =
        "UPDATE journal_notifications SET arrived_at = arrived_at - interval '61 seconds' WHERE tenant = $1";
    let place = "UPDATE consumers SET position_at = position_at - interval '62 seconds' WHERE tenant = $1";
    assert_eq!(server.execute(place, &[]).await, 1);
    assert!(server.execute(age, &[]).await >= 1);
    until("the consumer lapses", async || shown(&admin, "old").await["state"] == "LAPSED").await;
}

#[tokio::test]
async fn lapse_has_an_alarm_although_its_server_ended_before_it_was_raised() {
    let (server, admin, _) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "orphan", &["/events/*"]).await;
    let ended = "UPDATE consumers SET lapsed_at = now(), alarm_begun_at = now() - interval '11 seconds' \
        WHERE tenant = $1";
    assert_eq!(server.execute(ended, &[]).await, 1);
    let alarms = async || admin.read("/alarm/alarms?type=plat_ConsumerLapsed").await["alarms"].clone();
    until("the alarm", async || !alarms().await.as_array().unwrap().is_empty()).await;
    let text = alarms().await[0]["text"].clone();
    assert!(text.as_str().unwrap().contains("'orphan'"), "{text}");
    let open = "SELECT name FROM consumers WHERE tenant = $1 AND alarm_begun_at IS NOT NULL";
    until("it is raised once", async || server.rows(open, &[]).await.is_empty()).await;
}

#[tokio::test]
async fn lapse_of_one_consumer_leaves_others_alone() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "patient", &["/events/*"]).await;
    lapsed(&admin, &device, "slow").await;
    assert_eq!(read(&admin, "patient", 4).await.len(), 4);
    admin
        .put(&format!("{CONSUMERS}/slow"), &json!({"position": "earliest", "maxBytes": 1 << 20}))
        .await
        .expect(200);
    let sought = shown(&admin, "slow").await;
    assert_eq!(sought["state"], "ACTIVE", "the journal still has them for the other one");
}
