//! Changes of events (V-02).

use super::*;

#[tokio::test]
async fn put_changes_text_and_fragments_and_ignores_the_rest() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let mut body = event_of(&device, "opened");
    body["plat_A"] = json!({"x": 1});
    body["plat_B"] = json!(2);
    let event = admin.create(EVENTS, &body).await;
    let link = event["self"].as_str().unwrap();

    let change = json!({"text": "new", "plat_A": {"y": 2}, "plat_B": null, "plat_C": [], "type": "other",
        "time": "yesterday", "source": {"id": "4711"}, "id": "1", "plat_IsBinary": {}, "plat_IsIncompleteBinary": 1});
    let answer = admin.put(link, &change).await;

    let mut expected = event.clone();
    expected["text"] = json!("new");
    expected["plat_A"] = json!({"y": 2});
    expected["plat_C"] = json!([]);
    expected.as_object_mut().unwrap().remove("plat_B");
    assert_eq!((answer.status, answer.json()), (200, expected.clone()));
    assert_eq!(admin.read(link).await, expected);
}

#[tokio::test]
async fn unknown_event_is_404_and_wrong_bodies_are_refused_before() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let event = admin.create_event(&device, "t").await;
    let link = event["self"].as_str().unwrap();

    for id in ["4711", "abc", "0", "99999999999999999999"] {
        let answer = admin.put(&format!("{EVENTS}/{id}"), &json!({"text": "x"})).await;
        assert_eq!((answer.status, answer.error()), (404, "event/Not Found".into()));
        let expected = format!("Finding event from database failed : No event for gid '{id}'!");
        assert_eq!(answer.message(), expected);
        assert_eq!(admin.get(&format!("{EVENTS}/{id}")).await.message(), expected);
    }
    for body in [json!({"text": 7}), json!({"$x": 1}), json!({"text": "x".repeat(70_000)})] {
        assert_eq!(admin.put(link, &body).await.status, 422, "{body}");
    }
    assert_eq!(admin.request("PUT", link).body("{").send().await.status, 400);
    assert_eq!(admin.request("PUT", link).body("").send().await.status, 422);
    assert_eq!(admin.read(link).await, event);
}

#[tokio::test]
async fn changes_at_once_are_all_made() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let event = admin.create_event(&device, "t").await;
    let link = event["self"].as_str().unwrap().to_owned();

    let changing: Vec<_> = (0..20)
        .map(|n| {
            let (admin, link) = (admin.clone(), link.clone());
            tokio::spawn(async move { admin.put(&link, &json!({format!("plat_{n}"): n})).await.status })
        })
        .collect();
    for change in changing {
        assert_eq!(change.await.unwrap(), 200);
    }

    let event = admin.read(&link).await;
    for n in 0..20 {
        assert_eq!(event[format!("plat_{n}")], json!(n));
    }
}
