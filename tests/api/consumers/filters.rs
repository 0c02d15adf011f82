//! Filters of consumers (B-35).

use super::*;

async fn filtered(caller: &Caller, name: &str, filter: &str) -> Value {
    let body = json!({"name": name, "channels": EVERYTHING, "filter": filter});
    caller.create(CONSUMERS, &body).await
}

#[tokio::test]
async fn consumer_skips_what_its_filter_does_not_match() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let filter = "type eq 'wanted*' and realtimeAction eq 'CREATE'";
    let created = filtered(&admin, "reader", filter).await;
    assert_eq!(created["filter"], filter);
    assert_eq!(shown(&admin, "reader").await["filter"], filter);
    consumer(&admin, "all", &EVERYTHING).await;
    for kind in ["other", "wanted1", "other", "wanted2", "other"] {
        admin.create_event(&device, kind).await;
    }

    let first = batch(&admin, "reader", "maxCount=1").await;
    assert_eq!((types(&first), positions(&first)), (vec!["wanted1".to_owned()], vec![2]));
    let rest = batch(&admin, "reader", "acknowledge=2").await;
    // The position is behind what does not match, too.
    assert_eq!((types(&rest), &rest["position"]), (vec!["wanted2".to_owned()], &json!(5)));
    let none = batch(&admin, "reader", "acknowledge=5").await;
    assert_eq!((types(&none), &shown(&admin, "reader").await["position"]), (vec![], &json!(5)));
    assert_eq!(batch(&admin, "all", "").await["notifications"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn waiting_poll_is_not_ended_by_what_does_not_match() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    filtered(&admin, "reader", "type eq 'wanted'").await;
    let waiting = tokio::spawn({
        let admin = admin.clone();
        async move { batch(&admin, "reader", "wait=30").await }
    });
    until("the poll is held", async || shown(&admin, "reader").await["reader"]["way"] == "LONG_POLL").await;
    admin.create_event(&device, "other").await;
    admin.create_event(&device, "wanted").await;

    let batch = soon("the response to the poll", waiting).await.unwrap();

    assert_eq!((types(&batch), positions(&batch)), (vec!["wanted".to_owned()], vec![2]));
}

#[tokio::test]
async fn invalid_filter_is_rejected_with_its_place() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "reader", &["/alarms/*"]).await;
    for (filter, part) in [
        (
            json!("severity = 'MAJOR'"),
            "'filter' at character 10: expected eq, ne, gt, ge, lt or le, found '= 'MAJOR''",
        ),
        (json!("bygroupid(7)"), "'filter' at character 10: expected eq"),
        (json!(""), "'filter' at character 1: expected a path"),
        (json!("x".repeat(2049)), "at most 2048 bytes"),
        (json!(7), "'filter': 7; allowed: a string"),
    ] {
        let body = json!({"name": "other", "channels": ["/alarms/*"], "filter": filter});
        let refused = admin.post(CONSUMERS, &body).await.expect(422);
        assert!(refused.message().contains(part), "{filter}: {}", refused.message());
        let refused = admin.put(&format!("{CONSUMERS}/reader"), &json!({"filter": filter})).await.expect(422);
        assert!(refused.message().contains(part), "{filter}: {}", refused.message());
    }
    assert_eq!(shown(&admin, "reader").await.get("filter"), None);
}

#[tokio::test]
async fn changed_filter_applies_to_what_was_not_acknowledged_and_to_a_reader_that_waits() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    filtered(&admin, "reader", "type eq 'a'").await;
    let path = format!("{CONSUMERS}/reader");
    for kind in ["a", "b"] {
        admin.create_event(&device, kind).await;
    }
    assert_eq!(types(&batch(&admin, "reader", "").await), ["a"]);

    let changed = admin.request("PUT", &path).accepting_json().json(&json!({"filter": "type eq 'b'"}));
    assert_eq!(changed.send().await.expect(200).json()["filter"], "type eq 'b'");
    assert_eq!(types(&batch(&admin, "reader", "").await), ["b"]);
    // Other changes leave it.
    admin.put(&path, &json!({"maxAge": 3600})).await.expect(200);
    assert_eq!(types(&batch(&admin, "reader", "acknowledge=2").await), Vec::<String>::new());

    let waiting = tokio::spawn({
        let admin = admin.clone();
        async move { read(&admin, "reader", 1).await }
    });
    until("the poll is held", async || shown(&admin, "reader").await["reader"]["way"] == "LONG_POLL").await;
    admin.put(&path, &json!({"filter": null})).await.expect(200);
    admin.create_event(&device, "c").await;
    let received = soon("the notification", waiting).await.unwrap();
    assert_eq!(received[0]["data"]["data"]["type"], "c");
    assert_eq!(shown(&admin, "reader").await.get("filter"), None);
}

#[tokio::test]
async fn poll_that_begins_while_the_filter_changes_has_the_new_one() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let path = format!("{CONSUMERS}/reader");
    filtered(&admin, "reader", "type eq 'never'").await;
    for round in 0..60 {
        let change = async {
            // The change is committed at another moment of the beginning of the poll in each round.
            tokio::time::sleep(Duration::from_micros(round * 100)).await;
            admin.put(&path, &json!({"filter": null})).await.expect(200);
            admin.create_event(&device, &round.to_string()).await;
        };
        let (received, ()) = tokio::join!(soon("the notification", read(&admin, "reader", 1)), change);
        assert_eq!(received[0]["data"]["data"]["type"], round.to_string());
        admin.put(&path, &json!({"filter": "type eq 'never'", "position": "now"})).await.expect(200);
    }
}

#[tokio::test]
async fn session_of_a_consumer_has_the_filter_of_the_consumer_and_no_other() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    filtered(&admin, "reader", "type eq 'wanted'").await;
    let ext = json!({"ext": {"com.platform.consumer": {"name": "reader"}, "ack": true}});
    let session = admin.session_with(ext).await;
    assert_eq!(session.subscribe("/events/*").await["successful"], true);
    let other = json!({"subscription": "/events/*", "ext": {"com.platform.filter": "type eq 'other'"}});
    assert_eq!(session.ask("/meta/subscribe", other).await["error"], "403::subscribe_denied");

    for kind in ["other", "wanted"] {
        admin.create_event(&device, kind).await;
    }

    let messages = session.receive(1).await;
    assert_eq!((messages.len(), &messages[0]["data"]["data"]["type"]), (1, &json!("wanted")));
    assert_eq!(messages[0]["ext"], json!({"com.platform.consumer": {"position": 2}}));
}
