//! Files at and above the limit (I-12, V-07), and clients that are slow.

use super::*;

const LIMIT: usize = 1_000_000;

async fn limited() -> TestServer {
    TestServer::start_with(|settings| {
        settings.limits.binary_bytes = LIMIT;
        settings.limits.body_bytes = 100_000;
    })
    .await
}

#[tokio::test]
async fn largest_file_is_stored_and_one_byte_more_is_413() {
    let (server, admin) = limited().await.with_admin();
    let send = async |length: usize| {
        post(&admin, form(&[object_part(&named("a")), file_part(&bytes(length))])).await
    };

    let (largest, larger) = (send(LIMIT).await, send(LIMIT + 1).await);

    assert_eq!((largest.status, larger.status), (201, 413), "{}", larger.text);
    assert!(larger.message().contains("1000000"), "{}", larger.message());
    assert!(download(&admin, &content_of(&largest.json())).await == bytes(LIMIT));
    assert_no_leftovers(&server).await;
    assert_eq!(server.count("managed_objects").await, 1);
}

#[tokio::test]
async fn put_of_the_largest_file_is_stored_and_of_one_byte_more_is_413() {
    let (server, admin) = limited().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"a").await);

    let largest = admin.request("PUT", &path).body(bytes(LIMIT)).send().await;
    let larger = admin.request("PUT", &path).body(bytes(LIMIT + 1)).send().await;

    assert_eq!((largest.status, larger.status), (201, 413), "{}", larger.text);
    assert!(download(&admin, &path).await == bytes(LIMIT), "what was there stays");
    assert_no_leftovers(&server).await;
}

#[tokio::test]
async fn size_that_is_announced_is_refused_before_the_bytes_come() {
    let (server, admin) = limited().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"a").await);
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let content_type = format!("Content-Type: multipart/form-data; boundary={BOUNDARY}");
    let announced = [object_part(&named("a")), size_part("1000001")].concat();

    for (line, length, sent) in [
        (format!("POST {BINARIES} HTTP/1.1"), 9_000_000, Vec::new()),
        (format!("POST {BINARIES} HTTP/1.1"), 1_000_400, [announced, file_part(b"x")].concat()),
        (format!("PUT {path} HTTP/1.1"), 1_000_001, Vec::new()),
    ] {
        let mut connection = RawConnection::open(server.address()).await;
        let length = format!("Content-Length: {length}");
        let head = [&*line, "Host: x", &authorization, &content_type, &length].join("\r\n");
        connection.send([format!("{head}\r\n\r\n").into_bytes(), sent].concat()).await;
        let answer = connection.read_until("\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{line}: {answer}");
    }
    assert_eq!(server.count("binaries").await, 1);
}

#[tokio::test]
async fn chunked_body_that_never_ends_is_413() {
    let (server, admin) = limited().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"a").await);
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let content_type = format!("Content-Type: multipart/form-data; boundary={BOUNDARY}");
    let junk = [object_part(&named("a")), vec![b'x'; 10_000]].concat();
    let file = [object_part(&named("a")), file_part(b"")].concat();
    let file = &file[..file.len() - 2];

    for (line, begin) in [
        (format!("POST {BINARIES} HTTP/1.1"), file),
        (format!("POST {BINARIES} HTTP/1.1"), &junk[..0]),
        (format!("PUT {path} HTTP/1.1"), &junk[..0]),
    ] {
        let mut connection = RawConnection::open(server.address()).await;
        let head =
            [&*line, "Host: x", &authorization, &content_type, "Transfer-Encoding: chunked"].join("\r\n");
        connection.send(format!("{head}\r\n\r\n")).await;
        if !begin.is_empty() {
            connection.send([format!("{:x}\r\n", begin.len()).as_bytes(), begin, b"\r\n"].concat()).await;
        }
        let line_of_text = [vec![b'y'; 998], b"\r\n".to_vec()].concat().repeat(100);
        let chunk = [&b"186a0\r\n"[..], &line_of_text, b"\r\n"].concat();
        // These are fewer bytes than would block a connection that is no longer read.
        for _ in 0..17 {
            connection.send(&chunk).await;
        }
        let answer = connection.read_until("\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{line}: {answer}");
    }
    assert_no_leftovers(&server).await;
}

#[tokio::test]
async fn slow_uploads_and_downloads_hold_no_connection_to_the_database() {
    let (server, admin) = TestServer::start_with(|settings| settings.read_connections = 1).await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), &bytes(20_000_000)).await);
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let content_type = format!("Content-Type: multipart/form-data; boundary={BOUNDARY}");
    let mut slow = Vec::new();

    for _ in 0..3 {
        let mut upload = RawConnection::open(server.address()).await;
        let line = format!("POST {BINARIES} HTTP/1.1");
        let head = [&*line, "Host: x", &authorization, &content_type, "Content-Length: 9000000"].join("\r\n");
        let part = [object_part(&named("b")), file_part(&bytes(600_000))].concat();
        upload.send([format!("{head}\r\n\r\n").into_bytes(), part].concat()).await;
        let mut download = RawConnection::open_narrow(server.address()).await;
        download.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n{authorization}\r\n\r\n")).await;
        assert_eq!(download.read_at_most(1).await, b"H");
        slow.extend([upload, download]);
    }

    assert_eq!(admin.get("/inventory/managedObjects").await.status, 200);
    assert!(download(&admin, &path).await == bytes(20_000_000));
}

#[tokio::test]
async fn client_that_continues_to_send_gets_its_413() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let path = content_of(&upload(&admin, &named("a"), b"a").await);

    for length in [53_000_000, 80_000_000] {
        let answer = post(&admin, form(&[object_part(&named("a")), file_part(&vec![0; length])])).await;
        assert_eq!(answer.status, 413, "{length}: {}", answer.text);
        admin.request("PUT", &path).body(vec![0; length]).send().await.expect(413);
    }
}
