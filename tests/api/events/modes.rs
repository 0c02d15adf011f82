//! Processing modes of events (M-01 to M-04).

use super::*;

async fn send(caller: &Caller, method: &str, path: &str, mode: &str, body: &Value) -> Response {
    let request = caller.request(method, path).accepting_json();
    request.header("X-Platform-Processing-Mode", mode).json(body).send().await
}

#[tokio::test]
async fn transient_and_cep_events_are_returned_without_id_and_not_stored() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = json!({"name": "door", "type": "acme_Door"});
    let device = admin.create("/inventory/managedObjects", &device).await;
    let id = device["id"].as_str().unwrap();

    for mode in ["TRANSIENT", "CEP", "cep"] {
        let answer = send(&admin, "POST", EVENTS, mode, &event_of(id, "t")).await;
        let event = answer.json();
        let link = format!("{}{EVENTS}/null", server.base());
        assert_eq!((answer.status, answer.header("Location")), (201, Some(&*link)));
        assert_eq!((event.get("id"), &event["self"]), (None, &json!(link)));
        let source = json!({"id": id, "self": device["self"], "name": "door", "type": "acme_Door"});
        assert_eq!(event["source"], source);
    }
    assert_eq!(server.count("events").await, 0);
}

#[tokio::test]
async fn transient_is_published_and_quiescent_and_cep_are_not() {
    let (server, admin, device) = TestServer::shared().await.with_device("door").await;
    let session = admin.listen(&format!("/events/{device}")).await;

    for mode in ["QUIESCENT", "CEP", "TRANSIENT", "PERSISTENT"] {
        assert_eq!(send(&admin, "POST", EVENTS, mode, &event_of(&device, mode)).await.status, 201);
    }

    let told = session.receive(2).await;
    let shown = |n: usize| (&told[n]["data"]["realtimeAction"], &told[n]["data"]["data"]["type"]);
    assert_eq!(shown(0), (&json!("CREATE"), &json!("TRANSIENT")));
    assert_eq!(shown(1), (&json!("CREATE"), &json!("PERSISTENT")));
    assert_eq!(told[0]["data"]["data"].get("id"), None);
    assert_eq!(server.count("events").await, 2, "QUIESCENT and PERSISTENT");
}

#[tokio::test]
async fn changes_are_stored_and_published_as_their_mode_says() {
    let (_server, admin, device) = TestServer::shared().await.with_device("door").await;
    let event = admin.create_event(&device, "t").await;
    let link = event["self"].as_str().unwrap();
    let session = admin.listen(&format!("/events/{device}")).await;

    for (mode, stored) in [("CEP", "It happened"), ("TRANSIENT", "It happened"), ("QUIESCENT", "QUIESCENT")] {
        let answer = send(&admin, "PUT", link, mode, &json!({"text": mode})).await;
        assert_eq!((answer.status, &answer.json()["text"]), (200, &json!(mode)));
        assert_eq!(admin.read(link).await["text"], stored);
    }
    for (mode, left) in [("CEP", 200), ("TRANSIENT", 200), ("QUIESCENT", 404)] {
        let request = admin.request("DELETE", link).header("X-Platform-Processing-Mode", mode);
        assert_eq!(request.send().await.status, 204);
        assert_eq!(admin.get(link).await.status, left, "{mode}");
    }
    admin.create_event(&device, "next").await;

    let told = session.receive(2).await;
    let shown = |n: usize| (&told[n]["data"]["realtimeAction"], &told[n]["data"]["data"]["text"]);
    assert_eq!(shown(0), (&json!("UPDATE"), &json!("TRANSIENT")));
    assert_eq!(shown(1), (&json!("CREATE"), &json!("It happened")));
}

#[tokio::test]
async fn transient_event_is_checked_like_any_other() {
    let (server, admin, device) = TestServer::shared().await.with_device("door").await;
    let nobody = server.user_with("nobody", &[]).await;

    for mode in ["TRANSIENT", "CEP"] {
        assert_eq!(send(&admin, "POST", EVENTS, mode, &event_of("4711", "t")).await.status, 422);
        assert_eq!(send(&admin, "POST", EVENTS, mode, &json!({})).await.status, 422);
        assert_eq!(send(&nobody, "POST", EVENTS, mode, &event_of(&device, "t")).await.status, 403);
    }
    send(&admin, "POST", EVENTS, "sometimes", &event_of(&device, "t")).await.expect(422);
}
