//! Raw bodies.

use super::*;

#[tokio::test]
async fn stored_file_is_returned_with_its_description() {
    let scene = Scene::set().await;
    let media_type = format!("{MEDIA}event+json");

    let request = scene.admin.request("POST", &scene.path).header("Accept", &media_type);
    let answer = request.header("Content-Type", "text/csv; charset=utf-8").body("hello").send().await;

    let link = format!("{}{}", scene.server.base(), scene.path);
    assert_eq!((answer.status, answer.header("Location")), (201, Some(&*link)));
    assert!(answer.header("Content-Type").unwrap().starts_with(&media_type));
    let expected =
        json!({"self": link, "type": "text/csv; charset=utf-8", "source": scene.event_id(), "length": 5});
    assert_eq!(answer.json(), expected);
}

#[tokio::test]
async fn file_without_accept_returns_its_location_alone() {
    let scene = Scene::set().await;

    let answer = RawConnection::without_accept(&scene.admin, "POST", &scene.path, &json!({"a": 1})).await;

    assert_eq!((answer.status, &*answer.text), (201, ""));
    assert!(answer.header("Location").unwrap().ends_with(&scene.path));
    assert_eq!(download(&scene.admin, &scene.path).await, b"{\"a\":1}");
}

#[tokio::test]
async fn content_comes_back_byte_for_byte_whatever_its_length() {
    let scene = Scene::set().await;
    const CHUNK: usize = 256 << 10;

    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 1_500_000] {
        let content = bytes(length);
        assert_eq!(send(&scene.admin, "POST", &scene.path, content.clone()).await.status, 201);
        let response = scene.admin.request("GET", &scene.path).head().await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("Content-Length"), length.to_string());
        assert_eq!(header("Content-Type"), "text/plain");
        assert_eq!(header("Content-Disposition"), format!("attachment; filename=\"{}\"", scene.id()));
        assert_eq!(header("X-Content-Type-Options"), "nosniff");
        assert!(response.bytes().await.unwrap() == content, "{length}");
        assert_eq!(scene.admin.delete(&scene.path).await.status, 204);
    }
}

#[tokio::test]
async fn event_describes_its_file_and_every_change_of_it_is_published() {
    let scene = Scene::set().await;
    let session = scene.admin.listen(&format!("/events/{}", scene.device)).await;

    assert_eq!(send(&scene.admin, "POST", &scene.path, "hello").await.status, 201);
    let stored = scene.admin.read(&scene.event).await;
    assert_eq!(send(&scene.admin, "PUT", &scene.path, "hello again").await.status, 201);
    let replaced = scene.admin.read(&scene.event).await;
    assert_eq!(scene.admin.delete(&scene.path).await.status, 204);
    let without = scene.admin.read(&scene.event).await;

    let marker = |length: u32| json!({"type": "text/plain", "name": scene.id(), "length": length});
    assert_eq!((&stored["plat_IsBinary"], &replaced["plat_IsBinary"]), (&marker(5), &marker(11)));
    assert_eq!(without["plat_IsBinary"], Value::Null);
    let told = session.receive(3).await;
    for (told, event) in told.iter().zip([stored, replaced, without]) {
        assert_eq!(told["data"], json!({"realtimeAction": "UPDATE", "data": event}));
    }
}

#[tokio::test]
async fn events_with_files_are_found_by_their_fragment() {
    let scene = Scene::set().await;
    scene.admin.create_event(&scene.device, "other").await;
    send(&scene.admin, "POST", &scene.path, "hello").await;

    let page = scene.admin.read("/event/events?fragmentType=plat_IsBinary").await;

    assert_eq!(crate::harness::ids(&page, "events"), [scene.id()]);
}

#[tokio::test]
async fn description_of_a_file_cannot_be_changed_by_a_client() {
    let scene = Scene::set().await;
    send(&scene.admin, "POST", &scene.path, "hello").await;
    let (marker, _) = scene.markers().await;

    for value in [json!(null), json!({"length": 7})] {
        let body = json!({"plat_IsBinary": value, "plat_IsIncompleteBinary": value, "text": "new"});
        assert_eq!(scene.admin.put(&scene.event, &body).await.status, 200);
        assert_eq!(scene.markers().await, (marker.clone(), Value::Null));
    }
    assert_eq!(download(&scene.admin, &scene.path).await, b"hello");
}

#[tokio::test]
async fn second_file_is_409_and_the_first_stays() {
    let scene = Scene::set().await;
    send(&scene.admin, "POST", &scene.path, "first").await;

    let answer = send(&scene.admin, "POST", &scene.path, "second").await.expect_error(409, "event/Duplicate");

    assert!(answer.message().contains(scene.id()), "{}", answer.message());
    assert_eq!(download(&scene.admin, &scene.path).await, b"first");
    assert_no_leftovers(&scene.server).await;
}

#[tokio::test]
async fn unknown_events_and_missing_files_are_404() {
    let scene = Scene::set().await;

    for id in ["4711", "abc", "99999999999999999999", "%00"] {
        let path = format!("/event/events/{id}/binaries");
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let answer = scene.admin.request(method, &path).body("x").send().await;
            assert_eq!((answer.status, answer.error()), (404, "event/Not Found".into()), "{method} {id}");
        }
    }
    for method in ["GET", "PUT", "DELETE"] {
        scene.admin.request(method, &scene.path).body("x").send().await.expect_error(404, "event/Not Found");
    }
    assert_eq!(scene.admin.request("PATCH", &scene.path).send().await.status, 405);
    assert_eq!(scene.server.count("binaries").await, 0);
}

#[tokio::test]
async fn type_that_could_not_stand_in_a_header_is_the_default() {
    let scene = Scene::set().await;

    for given in [None, Some("nonsense"), Some("a/\u{e9}")] {
        let mut request = scene.admin.request("POST", &scene.path);
        if let Some(given) = given {
            request = request.header("Content-Type", given);
        }
        assert_eq!(request.body("x").send().await.status, 201);
        assert_eq!(scene.markers().await.0["type"], "application/octet-stream");
        scene.admin.delete(&scene.path).await;
    }
}
