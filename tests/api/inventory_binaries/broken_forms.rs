//! Malformed and hostile forms: always a clear 4xx, and nothing is stored.

use super::*;

#[tokio::test]
async fn missing_and_doubled_parts_are_422() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (object, size, file) = (object_part(&named("a")), size_part("5"), file_part(b"hello"));

    for (parts, text) in [
        (vec![], "file"),
        (vec![&object], "file"),
        (vec![&object, &size], "file"),
        (vec![&object, &file, &file], "'file'"),
        (vec![&object, &file, &object], "'object'"),
        (vec![&object, &object, &file], "'object'"),
        (vec![&object, &size, &file, &size], "'filesize'"),
    ] {
        let parts: Vec<_> = parts.into_iter().cloned().collect();
        let answer = post(&admin, form(&parts)).await.expect(422);
        assert!(answer.message().contains(text), "{text}: {}", answer.message());
    }
    assert_no_leftovers(&server).await;
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn wrong_parts_are_refused_for_what_they_are() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (object, file) = (object_part(&named("a")), file_part(b"hello"));
    let raw = |json: &str| part("Content-Disposition: form-data; name=\"object\"", json.as_bytes());

    for (parts, status, text) in [
        (vec![raw(""), file.clone()], 422, "must not be null"),
        (vec![raw("{"), file.clone()], 400, "Malformed JSON"),
        (vec![raw("[]"), file.clone()], 400, "Malformed JSON"),
        (vec![raw("{\"name\":5}"), file.clone()], 422, "'name'"),
        (vec![raw("{\"a.b\":5}"), file.clone()], 422, "a.b"),
        (vec![raw("{\"a\":\"\\u0000\"}"), file.clone()], 422, "NUL"),
        (vec![object.clone(), size_part("x"), file.clone()], 422, "'filesize'"),
        (vec![object.clone(), size_part("-5"), file.clone()], 422, "'filesize'"),
        (vec![object.clone(), size_part("4"), file.clone()], 422, "'filesize'"),
        (vec![object.clone(), size_part("6"), file.clone()], 422, "'filesize'"),
        (vec![file.clone(), size_part("4")], 422, "'filesize'"),
        (vec![file.clone(), raw("{\"name\":5}")], 422, "'name'"),
        (vec![object.clone(), size_part("999999999"), file.clone()], 413, "52428800"),
        (vec![object.clone(), size_part(&"9".repeat(100)), file], 413, "64"),
    ] {
        let answer = post(&admin, form(&parts)).await.expect(status);
        assert!(answer.message().contains(text), "{text}: {}", answer.message());
    }
    assert_no_leftovers(&server).await;
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn parts_nobody_asked_for_are_passed_over_up_to_a_bound() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let other = part("Content-Disposition: form-data; name=\"colour\"", &bytes(100_000));
    let parts = [other.clone(), object_part(&named("a")), other.clone(), file_part(b"x"), other.clone()];

    let few = post(&admin, form(&parts)).await;
    let many = post(&admin, form(&vec![part("Content-Disposition: form-data; name=\"x\"", b""); 1000])).await;

    assert_eq!((few.status, many.status), (201, 422), "{} {}", few.text, many.text);
}

#[tokio::test]
async fn other_content_types_are_415_and_one_without_a_boundary_400() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let body = form(&[object_part(&named("a")), file_part(b"x")]);

    for (content_type, status) in [
        ("application/json", 415),
        ("multipart/mixed; boundary=----boundary4711", 415),
        ("text/plain", 415),
        ("", 415),
        ("multipart/form-data", 400),
        ("multipart/form-data; boundary=", 400),
        ("multipart/form-data; boundary=\"", 400),
        ("multipart/form-data; boundary=other", 400),
    ] {
        let request = admin.request("POST", BINARIES).header("Content-Type", content_type);
        request.body(body.clone()).send().await.expect(status);
    }
    admin.request("POST", BINARIES).body(body).send().await.expect(415);
}

#[tokio::test]
async fn text_that_is_not_a_form_is_400() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (object, file) = (object_part(&named("a")), file_part(b"hello"));
    let whole = form(&[object.clone(), file.clone()]);
    let headers = |text: &str| form(&[part(text, b"x")]);
    let many = vec!["X-Header: x"; 100].join("\r\n");

    let mut broken = vec![
        Vec::new(),
        b"hello".to_vec(),
        bytes(300_000),
        format!("--{BOUNDARY}").into_bytes(),
        headers("Content-Type: text/plain"),
        headers("Content-Disposition: form-data"),
        headers("Content-Disposition: attachment; name=\"file\""),
        headers("nonsense"),
        headers("Content-Disposition: form-data; name=\"object\"\r\nContent-Length: x"),
        headers("Content-Disposition: form-data; name=\"object\"\r\nContent-Length: 99999"),
        headers(
            "Content-Disposition: form-data; name=\"object\"\r\nContent-Type: multipart/mixed; boundary=b",
        ),
        headers(&many),
        headers(&format!("Content-Disposition: form-data; name=\"object\"; x=\"{}\"", "x".repeat(300_000))),
        // The header has no end.
        format!("--{BOUNDARY}\r\n{}", "x".repeat(1_000_000)).into_bytes(),
        // The form has no end.
        [object.clone(), file.clone()].concat(),
    ];
    for cut in (1..whole.len() - 4).step_by(7) {
        broken.push(whole[..cut].to_vec());
    }
    for body in broken {
        let shown = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        let answer = post(&admin, body).await;
        assert!([400, 422].contains(&answer.status), "{shown}: {} {}", answer.status, answer.text);
    }
    assert_no_leftovers(&server).await;
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn body_that_is_shorter_than_announced_leaves_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = super::upload(&admin, &named("kept"), b"kept").await;
    let body = [object_part(&named("a")), file_part(&bytes(600_000))].concat();

    for line in [format!("POST {BINARIES} HTTP/1.1"), format!("PUT {} HTTP/1.1", super::content_of(&device))]
    {
        let mut connection = RawConnection::open(server.address()).await;
        let head = [
            &*line,
            "Host: x",
            &format!("Authorization: {}", admin.authorization().unwrap()),
            &format!("Content-Type: multipart/form-data; boundary={BOUNDARY}"),
            "Content-Length: 1000000",
        ];
        connection.send(format!("{}\r\n\r\n", head.join("\r\n"))).await;
        connection.send(&body).await;
        crate::harness::until("the upload to begin", async || server.count("binaries").await == 2).await;
        connection.reset();
        assert_no_leftovers(&server).await;
    }
    assert_eq!(super::download(&admin, &super::content_of(&device)).await, b"kept");
    assert_eq!(server.count("managed_objects").await, 1);
}

#[tokio::test]
async fn name_with_nul_is_not_a_server_error() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for headers in [
        "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''a%00b",
        "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%ff%fe",
        "Content-Disposition: form-data; name=\"file\"; filename*=x''a",
        "Content-Disposition: form-data; name=\"file\"; filename=\"\"",
        "Content-Disposition: form-data; name=\"file\"; filename=\"a\tb\"",
    ] {
        let answer = post(&admin, form(&[object_part(&json!({})), part(headers, b"x")])).await;
        assert!([201, 400, 422].contains(&answer.status), "{headers}: {} {}", answer.status, answer.text);
    }
}
