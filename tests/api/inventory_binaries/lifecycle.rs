//! Store, read, replace, delete.

use super::*;

#[tokio::test]
async fn stored_file_is_a_managed_object_that_describes_its_content() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let object = json!({"name": "boot log", "type": "plat_Log", "plat_Extra": {"x": 1}, "length": 7});

    let answer =
        post(&admin, form(&[object_part(&object), size_part("5"), file_part(b"hello")])).await.expect(201);

    let stored = answer.json();
    let link = format!("{}/inventory/managedObjects/{}", server.base(), stored["id"].as_str().unwrap());
    assert_eq!(answer.header("Location"), Some(&*link));
    assert_eq!((&stored["name"], &stored["type"]), (&json!("boot log"), &json!("plat_Log")));
    assert_eq!((&stored["owner"], &stored["plat_Extra"]), (&json!("admin"), &json!({"x": 1})));
    assert_eq!(
        (&stored["plat_IsBinary"], &stored["length"], &stored["contentType"]),
        (&json!(""), &json!(5), &json!("text/plain"))
    );
    assert_eq!(admin.read(&link).await, stored);
}

#[tokio::test]
async fn content_comes_back_byte_for_byte_whatever_its_length() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    const CHUNK: usize = 256 << 10;

    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 1_500_000] {
        let content = bytes(length);
        let object = upload(&admin, &named("a"), &content).await;
        let response = admin.request("GET", &content_of(&object)).head().await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("Content-Length"), length.to_string());
        assert_eq!(header("Content-Type"), "text/plain");
        assert_eq!(header("Content-Disposition"), "attachment; filename=\"log.txt\"");
        assert_eq!(header("X-Content-Type-Options"), "nosniff");
        assert_eq!(object["length"], json!(length));
        assert!(response.bytes().await.unwrap() == content, "{length}");
    }
}

#[tokio::test]
async fn bytes_that_look_like_boundaries_are_content() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for content in [&b"\r\n--"[..], b"\r\n------boundary\r\n", b"--\r\n\r\r\r\n\r\n--", b"\r", b"\n"] {
        let object = upload(&admin, &named("a"), content).await;
        assert_eq!(download(&admin, &content_of(&object)).await, content);
    }
}

#[tokio::test]
async fn file_name_and_type_are_those_of_the_part_else_of_the_object_else_defaults() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (object, headers, disposition, name, content_type) in [
        (
            json!({}),
            "; filename=\"a b.zip\"\r\nContent-Type: application/zip",
            "\"a b.zip\"",
            "a b.zip",
            "application/zip",
        ),
        (json!({"name": "x"}), "; filename=\"../../y.sh\"", "\"y.sh\"", "x", "application/octet-stream"),
        (json!({"name": "x"}), "\r\nContent-Type: nonsense", "\"x\"", "x", "application/octet-stream"),
        (
            json!({"name": "größe \"1\""}),
            "",
            "\"gr__e _1_\"; filename*=UTF-8''gr%C3%B6%C3%9Fe%20%221%22",
            "größe \"1\"",
            "application/octet-stream",
        ),
        (
            json!({}),
            "; filename=\"größe.txt\"\r\nContent-Type: text/plain; charset=utf-8",
            "\"gr__e.txt\"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt",
            "größe.txt",
            "text/plain; charset=utf-8",
        ),
        (json!({}), "", "\"file\"", "file", "application/octet-stream"),
    ] {
        let file = part(&format!("Content-Disposition: form-data; name=\"file\"{headers}"), b"x");
        let answer = post(&admin, form(&[object_part(&object), file])).await;
        assert_eq!(answer.status, 201, "{headers}: {}", answer.text);
        let stored = answer.json();
        assert_eq!((&stored["name"], &stored["contentType"]), (&json!(name), &json!(content_type)));
        let read = admin.get(&content_of(&stored)).await;
        assert_eq!(read.header("Content-Disposition"), Some(&*format!("attachment; filename={disposition}")));
        assert_eq!(read.header("Content-Type"), Some(content_type));
    }
}

#[tokio::test]
async fn parts_of_a_form_come_in_any_order() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (object, size, file) = (object_part(&named("boot log")), size_part("5"), file_part(b"hello"));

    for parts in [
        [&file, &object, &size],
        [&file, &size, &object],
        [&size, &file, &object],
        [&size, &object, &file],
        [&object, &file, &size],
    ] {
        let answer = post(&admin, form(&parts.map(Clone::clone))).await.expect(201);
        let stored = answer.json();
        assert_eq!((&stored["name"], &stored["type"]), (&json!("boot log"), &json!("plat_Log")));
        assert_eq!((&stored["length"], &stored["contentType"]), (&json!(5), &json!("text/plain")));
        assert_eq!(download(&admin, &content_of(&stored)).await, b"hello");
    }
}

#[tokio::test]
async fn file_without_an_object_gives_its_name_and_type_to_one() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let nameless = part("Content-Disposition: form-data; name=\"file\"", b"x");

    for (file, name, type_) in
        [(file_part(b"hello"), "log.txt", "text/plain"), (nameless, "file", "application/octet-stream")]
    {
        let answer = post(&admin, form(&[file])).await.expect(201);
        let stored = answer.json();
        assert_eq!((&stored["name"], &stored["type"]), (&json!(name), &json!(type_)));
        assert_eq!(stored["contentType"], type_);
    }
}

#[tokio::test]
async fn put_replaces_the_content_and_keeps_the_object() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let object = upload(&admin, &named("boot log"), &bytes(600_000)).await;
    let path = content_of(&object);

    let request = admin.request("PUT", &path).accepting_json().header("Content-Type", "image/png");
    let answer = request.body(bytes(300_000)).send().await.expect(201);

    assert_eq!(answer.header("Location"), object["self"].as_str());
    let changed = answer.json();
    assert_eq!((&changed["length"], &changed["contentType"]), (&json!(300_000), &json!("image/png")));
    let ignored = ["length", "contentType", "lastUpdated"];
    assert_eq!(without(&changed, &ignored), without(&object, &ignored));
    let read = admin.request("GET", &path).head().await;
    assert_eq!(read.headers()["Content-Disposition"], "attachment; filename=\"log.txt\"");
    assert!(read.bytes().await.unwrap() == bytes(300_000));
    assert_eq!(server.count("binaries").await, 1);
    assert_eq!(server.count("binary_chunks").await, 2, "the old content is gone");
}

#[tokio::test]
async fn put_of_nothing_is_an_empty_file_of_the_default_type() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"hello").await);

    let answer = admin.request("PUT", &path).accepting_json().send().await;

    assert_eq!((answer.status, &answer.json()["length"]), (201, &json!(0)), "{}", answer.text);
    assert_eq!(answer.json()["contentType"], "application/octet-stream");
    assert!(download(&admin, &path).await.is_empty());
}

#[tokio::test]
async fn delete_removes_object_and_bytes() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let objects = [upload(&admin, &named("a"), b"a").await, upload(&admin, &named("b"), b"b").await];
    let kept = upload(&admin, &named("c"), b"c").await;

    let as_binary = admin.delete(&content_of(&objects[0])).await;
    let as_object = admin.delete(objects[1]["self"].as_str().unwrap()).await;

    assert_eq!((as_binary.status, as_object.status), (204, 204), "{}", as_binary.text);
    for object in &objects {
        assert_eq!(admin.get(object["self"].as_str().unwrap()).await.status, 404);
        for method in ["GET", "PUT", "DELETE"] {
            admin.request(method, &content_of(object)).send().await.expect_error(404, "inventory/Not Found");
        }
    }
    assert_eq!(download(&admin, &content_of(&kept)).await, b"c");
    assert_eq!(server.count("binary_chunks").await, 1);
}

#[tokio::test]
async fn object_without_a_binary_is_404() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;

    for id in [&*device, "4711", "x", "%00"] {
        for method in ["GET", "PUT", "DELETE"] {
            admin
                .request(method, &format!("{BINARIES}/{id}"))
                .send()
                .await
                .expect_error(404, "inventory/Not Found");
        }
    }
    assert_eq!(admin.get(&format!("/inventory/managedObjects/{device}")).await.status, 200);
}

#[tokio::test]
async fn collection_is_a_page_of_the_objects_that_are_binaries() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.create_device("pump").await;
    for name in ["a", "b", "c"] {
        upload(&admin, &named(name), b"x").await;
    }

    let answer = admin.get(&format!("{BINARIES}?pageSize=2&withTotalPages=true")).await;

    let first = answer.json();
    answer.expect_media("managedObjectCollection");
    assert_eq!(first["statistics"], json!({"totalPages": 2, "pageSize": 2, "currentPage": 1}));
    let second = admin.read(first["next"].as_str().unwrap()).await;
    let names = |page: &Value| member_texts(page, "managedObjects", "name").concat();
    assert_eq!((names(&first), names(&second)), ("ab".into(), "c".into()));
}

#[tokio::test]
async fn create_update_and_delete_are_published() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let session = admin.listen("/managedobjects/*").await;

    let object = upload(&admin, &named("a"), b"a").await;
    admin.request("PUT", &content_of(&object)).body("bb").send().await;
    admin.delete(&content_of(&object)).await;

    let told = session.receive(3).await;
    let actions: Vec<_> =
        told.iter().map(|message| message["data"]["realtimeAction"].as_str().unwrap()).collect();
    assert_eq!(actions, ["CREATE", "UPDATE", "DELETE"]);
    assert_eq!(told[0]["data"]["data"]["plat_IsBinary"], "");
    assert_eq!(told[1]["data"]["data"]["length"], 2);
}

#[tokio::test]
async fn transient_mode_publishes_and_stores_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let object = upload(&admin, &named("a"), b"a").await;
    let session = admin.listen("/managedobjects/*").await;
    let send = |method: &str, path: &str, mode: &str| {
        let request = admin.request(method, path).accepting_json().header("X-Platform-Processing-Mode", mode);
        let content_type = format!("multipart/form-data; boundary={}", super::BOUNDARY);
        request
            .header("Content-Type", &content_type)
            .body(form(&[object_part(&named("b")), file_part(b"b")]))
            .send()
    };

    let created = send("POST", BINARIES, "TRANSIENT").await;
    let replaced = send("PUT", &content_of(&object), "TRANSIENT").await;
    let refused = send("POST", BINARIES, "CEP").await;

    assert_eq!((created.status, replaced.status, refused.status), (201, 201, 422), "{}", created.text);
    assert!(created.header("Location").unwrap().ends_with("/null"));
    assert_eq!(session.receive(2).await.len(), 2);
    assert_eq!(server.count("managed_objects").await, 1);
    assert_eq!(download(&admin, &content_of(&object)).await, b"a");
    assert_no_leftovers(&server).await;
}

#[tokio::test]
async fn binaries_of_another_tenant_are_absent() {
    let (server, admin) = TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_admin();
    let object = upload(&admin, &named("a"), b"a").await;
    let stranger = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);

    for method in ["GET", "PUT", "DELETE"] {
        assert_eq!(stranger.request(method, &content_of(&object)).send().await.status, 404, "{method}");
    }
    assert_eq!(stranger.read(BINARIES).await["managedObjects"], json!([]));
    assert_eq!(download(&admin, &content_of(&object)).await, b"a");
}
