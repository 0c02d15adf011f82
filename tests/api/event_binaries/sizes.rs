//! Files at and above the limit (V-07), and clients that are slow.

use super::*;

const LIMIT: usize = 1_000_000;

async fn limited() -> Scene {
    Scene::on(TestServer::start_with(|settings| settings.limits.binary_bytes = LIMIT).await).await
}

#[tokio::test]
async fn largest_file_is_stored_and_one_byte_more_is_413() {
    let scene = limited().await;

    let larger = send(&scene.admin, "POST", &scene.path, bytes(LIMIT + 1)).await;
    let largest = send(&scene.admin, "POST", &scene.path, bytes(LIMIT)).await;
    let replacement = send(&scene.admin, "PUT", &scene.path, bytes(LIMIT + 1)).await;

    assert_eq!((larger.status, largest.status, replacement.status), (413, 201, 413), "{}", larger.text);
    assert!(larger.message().contains("1000000"), "{}", larger.message());
    assert!(download(&scene.admin, &scene.path).await == bytes(LIMIT), "what was there stays");
    assert_no_leftovers(&scene.server).await;
}

#[tokio::test]
async fn file_of_a_form_that_is_too_large_is_413() {
    let scene = limited().await;
    let head = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";

    for (length, status) in [(LIMIT + 1, 413), (3 * LIMIT, 413), (LIMIT, 201)] {
        let body = [head, &bytes(length)[..], b"\r\n--b--\r\n"].concat();
        let request = scene.admin.request("POST", &scene.path);
        let request = request.header("Content-Type", "multipart/form-data; boundary=b").body(body);
        assert_eq!(request.send().await.status, status, "{length}");
    }
    assert_no_leftovers(&scene.server).await;
}

#[tokio::test]
async fn body_that_never_ends_is_413() {
    let scene = limited().await;
    let authorization = format!("Authorization: {}", scene.admin.authorization().unwrap());
    let mut connection = RawConnection::open(scene.server.address()).await;
    let line = format!("POST {} HTTP/1.1", scene.path);
    let head = [&*line, "Host: x", &authorization, "Transfer-Encoding: chunked"].join("\r\n");
    connection.send(format!("{head}\r\n\r\n")).await;
    let chunk = [&b"186a0\r\n"[..], &[b'y'; 100_000], b"\r\n"].concat();
    for _ in 0..15 {
        connection.send(&chunk).await;
    }

    let answer = connection.read_until("\r\n").await;

    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert_no_leftovers(&scene.server).await;
}

#[tokio::test]
async fn body_that_is_cut_off_leaves_nothing() {
    let scene = Scene::set().await;
    let authorization = format!("Authorization: {}", scene.admin.authorization().unwrap());
    let mut connection = RawConnection::open(scene.server.address()).await;
    let line = format!("POST {} HTTP/1.1", scene.path);
    let head = [&*line, "Host: x", &authorization, "Content-Length: 1000000"].join("\r\n");
    connection.send([format!("{head}\r\n\r\n").into_bytes(), bytes(600_000)].concat()).await;
    crate::harness::until("the first rows of the file", async || {
        scene.server.count("binary_chunks").await >= 2
    })
    .await;
    connection.reset();

    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.admin.get(&scene.path).await.status, 404);
    assert_eq!(send(&scene.admin, "POST", &scene.path, "x").await.status, 201);
}

#[tokio::test]
async fn slow_uploads_and_downloads_hold_no_connection_to_the_database() {
    let scene = Scene::on(TestServer::start_with(|settings| settings.read_connections = 1).await).await;
    assert_eq!(send(&scene.admin, "POST", &scene.path, bytes(20_000_000)).await.status, 201);
    let authorization = format!("Authorization: {}", scene.admin.authorization().unwrap());
    let mut slow = Vec::new();

    for _ in 0..3 {
        let event = super::path_of(&scene.admin.create_event(&scene.device, "t").await);
        let mut upload = RawConnection::open(scene.server.address()).await;
        let line = format!("POST {event}/binaries HTTP/1.1");
        let head = [&*line, "Host: x", &authorization, "Content-Length: 9000000"].join("\r\n");
        upload.send([format!("{head}\r\n\r\n").into_bytes(), bytes(600_000)].concat()).await;
        let mut download = RawConnection::open_narrow(scene.server.address()).await;
        download.send(format!("GET {} HTTP/1.1\r\nHost: x\r\n{authorization}\r\n\r\n", scene.path)).await;
        assert_eq!(download.read_at_most(1).await, b"H");
        slow.extend([upload, download]);
    }

    assert_eq!(scene.admin.get("/event/events").await.status, 200);
    assert!(download(&scene.admin, &scene.path).await == bytes(20_000_000));
}
