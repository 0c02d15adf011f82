//! Files that come in chunks (V-06, V-07).

use super::*;

#[tokio::test]
async fn chunks_become_a_file_with_the_last() {
    let scene = Scene::set().await;
    let content = bytes(1_000_000);
    let session = scene.admin.listen(&format!("/events/{}", scene.device)).await;
    let link = format!("{}{}", scene.server.base(), scene.path);

    let first = chunk(&scene.admin, &scene.path, "0-399999/*", &content[..400_000]).await;
    let after_first = scene.markers().await;
    let second = chunk(&scene.admin, &scene.path, "bytes 400000-400000/*", &content[400_000..400_001]).await;
    let after_second = scene.markers().await;
    let partial = scene.admin.get(&scene.path).await;
    let last = chunk(&scene.admin, &scene.path, "bytes 400001-999999/1000000", &content[400_001..]).await;

    let answer =
        |range: &str| json!({"self": link, "type": "text/plain", "range": range, "source": scene.event_id()});
    assert_eq!((first.status, first.json()), (200, answer("0-399999/*")));
    assert_eq!(after_first, (Value::Null, json!({"range": "0-399999/*"})));
    assert_eq!((second.status, second.json()), (200, answer("0-400000/*")));
    assert_eq!(after_second, (Value::Null, json!({"range": "0-400000/*"})));
    assert_eq!((partial.status, partial.error()), (404, "event/Not Found".into()));
    let whole = json!({"self": link, "type": "text/plain", "source": scene.event_id(), "length": 1_000_000});
    assert_eq!((last.status, last.json(), last.header("Location")), (201, whole, Some(&*link)));
    let marker = json!({"type": "text/plain", "name": scene.id(), "length": 1_000_000});
    assert_eq!(scene.markers().await, (marker.clone(), Value::Null));
    assert!(download(&scene.admin, &scene.path).await == content);
    let told = session.receive(3).await;
    assert_eq!(told[0]["data"]["data"]["plat_IsIncompleteBinary"], json!({"range": "0-399999/*"}));
    assert_eq!(told[2]["data"]["data"]["plat_IsBinary"], marker);
    assert_eq!(told[2]["data"]["data"].get("plat_IsIncompleteBinary"), None);
    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.server.count("binaries").await, 1);
}

#[tokio::test]
async fn only_chunk_may_be_the_last() {
    let scene = Scene::set().await;

    chunk(&scene.admin, &scene.path, "0-4/5", "hello").await.expect(201);

    assert_eq!(download(&scene.admin, &scene.path).await, b"hello");
}

#[tokio::test]
async fn wrong_ranges_are_422_and_change_nothing() {
    let scene = Scene::set().await;

    for range in [
        "5-9/*",
        "1-5/*",
        "9-5/*",
        "0-4",
        "0-4/",
        "0-4/6",
        "0-4/4",
        "-4/5",
        "*/5",
        "a-b/c",
        "",
        "0-3/*",
        "0-5/*",
        "0-99999999999999999999/*",
        "18446744073709551615-18446744073709551615/*",
        "pages 0-4/*",
    ] {
        chunk(&scene.admin, &scene.path, range, "hello").await.expect(422);
    }
    assert_eq!(scene.markers().await, (Value::Null, Value::Null));
    assert_eq!(chunk(&scene.admin, &scene.path, "0-4/*", "hello").await.status, 200);
    for range in ["0-4/*", "4-8/*", "6-10/*", "0-4/5", "5-9/11", "5-9/5", "5-8/*", "5-10/*", "5-8/9"] {
        chunk(&scene.admin, &scene.path, range, "again").await.expect(422);
    }
    let expected = "starts at 5";
    let answer = chunk(&scene.admin, &scene.path, "7-8/*", "xx").await;
    assert!(answer.message().contains(expected), "{}", answer.message());
    assert_eq!(scene.markers().await.1, json!({"range": "0-4/*"}));
    assert_eq!(chunk(&scene.admin, &scene.path, "5-9/10", "again").await.status, 201);
    assert_eq!(download(&scene.admin, &scene.path).await, b"helloagain");
    assert_no_leftovers(&scene.server).await;
}

#[tokio::test]
async fn body_of_another_length_than_its_range_is_422_also_without_content_length() {
    let scene = Scene::set().await;
    let authorization = format!("Authorization: {}", scene.admin.authorization().unwrap());

    for sent in ["hell", "hello!"] {
        let mut connection = RawConnection::open(scene.server.address()).await;
        let line = format!("POST {} HTTP/1.1", scene.path);
        let head = [&*line, "Host: x", &authorization, "Content-Range: 0-4/*", "Transfer-Encoding: chunked"];
        let body = format!("{:x}\r\n{sent}\r\n0\r\n\r\n", sent.len());
        connection.send(format!("{}\r\n\r\n{body}", head.join("\r\n"))).await;
        let answer = connection.read_until("\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    }
    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.server.count("binaries").await, 0);
}

#[tokio::test]
async fn type_is_that_of_the_first_chunk() {
    let scene = Scene::set().await;
    let send = async |range: &str, type_: &str| {
        let request = scene.admin.request("POST", &scene.path).accepting_json().header("Content-Type", type_);
        request.header("Content-Range", range).body("hello").send().await.json()
    };

    let types =
        [send("0-4/*", "text/a").await, send("5-9/*", "text/b").await, send("10-14/15", "text/c").await]
            .map(|answer| answer["type"].clone());

    assert_eq!(types, ["text/a", "text/a", "text/a"]);
}

#[tokio::test]
async fn chunk_over_a_complete_file_is_409() {
    let scene = Scene::set().await;
    send(&scene.admin, "POST", &scene.path, "hello").await;

    for range in ["0-4/*", "5-9/*", "5-9/10", "0-4/5"] {
        assert_eq!(chunk(&scene.admin, &scene.path, range, "world").await.status, 409, "{range}");
    }
    assert_eq!(download(&scene.admin, &scene.path).await, b"hello");
}

#[tokio::test]
async fn whole_file_over_an_incomplete_one_replaces_it() {
    let scene = Scene::set().await;

    for method in ["POST", "PUT"] {
        assert_eq!(chunk(&scene.admin, &scene.path, "0-4/*", "hello").await.status, 200);
        send(&scene.admin, method, &scene.path, "whole").await.expect(201);
        assert_eq!(scene.markers().await.1, Value::Null);
        assert_eq!(download(&scene.admin, &scene.path).await, b"whole");
        assert_eq!(scene.server.count("binaries").await, 1);
        assert_eq!(scene.server.count("binary_chunks").await, 1);
        assert_eq!(scene.admin.delete(&scene.path).await.status, 204);
    }
}

#[tokio::test]
async fn incomplete_file_is_deleted_and_begun_anew() {
    let scene = Scene::set().await;
    chunk(&scene.admin, &scene.path, "0-4/*", "hello").await;

    assert_eq!(scene.admin.delete(&scene.path).await.status, 204);

    assert_eq!(scene.markers().await, (Value::Null, Value::Null));
    assert_eq!(scene.server.count("binary_chunks").await, 0);
    assert_eq!(chunk(&scene.admin, &scene.path, "5-9/*", "world").await.status, 422);
    assert_eq!(chunk(&scene.admin, &scene.path, "0-4/5", "anew!").await.status, 201);
    assert_eq!(download(&scene.admin, &scene.path).await, b"anew!");
}

#[tokio::test]
async fn chunk_that_was_cut_off_leaves_what_was_there_before() {
    let scene = Scene::set().await;
    chunk(&scene.admin, &scene.path, "0-4/*", "hello").await;
    let authorization = format!("Authorization: {}", scene.admin.authorization().unwrap());

    let mut connection = RawConnection::open(scene.server.address()).await;
    let line = format!("POST {} HTTP/1.1", scene.path);
    let head = [&*line, "Host: x", &authorization, "Content-Range: 5-1000004/*", "Content-Length: 1000000"];
    let part = [format!("{}\r\n\r\n", head.join("\r\n")).into_bytes(), bytes(600_000)].concat();
    connection.send(part).await;
    crate::harness::until("the first rows of the chunk", async || {
        scene.server.count("binary_chunks").await >= 2
    })
    .await;
    connection.reset();

    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.markers().await.1, json!({"range": "0-4/*"}));
    assert_eq!(chunk(&scene.admin, &scene.path, "5-9/10", "world").await.status, 201);
    assert_eq!(download(&scene.admin, &scene.path).await, b"helloworld");
}

#[tokio::test]
async fn chunks_are_neither_forms_nor_replacements() {
    let scene = Scene::set().await;

    let request = scene.admin.request("POST", &scene.path).header("Content-Range", "0-4/*");
    let form = request.header("Content-Type", "multipart/form-data; boundary=b").body("hello").send().await;
    let request = scene.admin.request("PUT", &scene.path).header("Content-Range", "0-4/*");
    let put = request.body("hello").send().await;

    assert_eq!((form.status, put.status), (422, 422), "{} {}", form.text, put.text);
    assert!(put.message().contains("'Content-Range'"), "{}", put.message());
}

#[tokio::test]
async fn chunks_and_files_that_are_too_large_are_413_and_change_nothing() {
    let server = TestServer::start_with(|settings| {
        settings.limits.binary_bytes = 25_000;
        settings.limits.binary_chunk_bytes = 10_000;
    })
    .await;
    let scene = Scene::on(server).await;
    let content = bytes(30_000);

    chunk(&scene.admin, &scene.path, "0-10000/*", &content[..10_001]).await.expect_message(413, "10000");
    for (range, part) in [("0-9999/*", 0..10_000), ("10000-19999/*", 10_000..20_000)] {
        assert_eq!(chunk(&scene.admin, &scene.path, range, &content[part]).await.status, 200);
    }
    for range in ["20000-25000/*", "20000-25000/25001"] {
        chunk(&scene.admin, &scene.path, range, &content[20_000..25_001]).await.expect(413);
    }
    assert_eq!(scene.markers().await.1, json!({"range": "0-19999/*"}));
    chunk(&scene.admin, &scene.path, "20000-24999/25000", &content[20_000..25_000]).await.expect(201);
    assert!(download(&scene.admin, &scene.path).await == content[..25_000]);
}

#[tokio::test]
async fn ranges_of_a_file_that_came_in_chunks_have_their_bytes() {
    let scene = Scene::set().await;
    let content = bytes(300_010);
    for (from, to, end) in [(0, 9, "*"), (10, 300_000, "*"), (300_001, 300_009, "300010")] {
        chunk(&scene.admin, &scene.path, &format!("{from}-{to}/{end}"), &content[from..=to]).await;
    }

    for (from, to) in [(0, 9), (9, 10), (5, 300_005), (262_153, 262_155), (300_001, 300_009)] {
        let request = scene.admin.request("GET", &scene.path).header("Range", &format!("bytes={from}-{to}"));
        let response = request.head().await;
        assert_eq!(response.status(), 206);
        assert_eq!(response.headers()["Content-Range"], format!("bytes {from}-{to}/300010"));
        assert!(response.headers().contains_key("ETag"));
        assert!(response.bytes().await.unwrap() == content[from..=to], "{from}-{to}");
    }
    let beyond = scene.admin.request("GET", &scene.path).header("Range", "bytes=300010-").send().await;
    beyond.expect(416);
}
