//! Forms: one part, or the parts `object` and `file` (V-04).

use super::*;

const BOUNDARY: &str = "----boundary4711";

fn part(headers: &str, bytes: &[u8]) -> Vec<u8> {
    [format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {headers}\r\n\r\n").as_bytes(), bytes, b"\r\n"]
        .concat()
}

fn form(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), format!("--{BOUNDARY}--\r\n").into_bytes()].concat()
}

async fn post(scene: &Scene, body: Vec<u8>) -> Response {
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let request = scene.admin.request("POST", &scene.path).accepting_json();
    request.header("Content-Type", &content_type).body(body).send().await
}

#[tokio::test]
async fn file_of_a_form_is_returned_with_its_name() {
    let scene = Scene::set().await;
    let content = bytes(600_000);
    let file = part("name=\"file\"; filename=\"boot.log\"\r\nContent-Type: text/x-log", &content);

    let answer = post(&scene, form(&[file])).await;

    let link = format!("{}{}", scene.server.base(), scene.path);
    let expected = json!({"self": link, "type": "text/x-log", "name": "boot.log", "source": scene.event_id(),
        "length": 600_000});
    assert_eq!((answer.status, answer.json()), (201, expected));
    let response = scene.admin.request("GET", &scene.path).head().await;
    assert_eq!(response.headers()["Content-Disposition"], "attachment; filename=\"boot.log\"");
    assert!(response.bytes().await.unwrap() == content);
    let marker = json!({"type": "text/x-log", "name": "boot.log", "length": 600_000});
    assert_eq!(scene.markers().await.0, marker);
}

#[tokio::test]
async fn name_and_type_come_from_the_part_else_from_the_object_else_from_defaults() {
    let scene = Scene::set().await;
    let object = |text: &str| part("name=\"object\"", text.as_bytes());
    let plain = || part("name=\"upload\"", b"x");

    for (parts, name, type_) in [
        (vec![part("name=\"upload\"; filename=\"a.txt\"", b"x")], "a.txt", "application/octet-stream"),
        (vec![plain()], "upload", "application/octet-stream"),
        (vec![object(r#"{"name":"b.txt","type":"text/b"}"#), plain()], "b.txt", "text/b"),
        (vec![plain(), object(r#"{"name":"b.txt","type":"text/b"}"#)], "b.txt", "text/b"),
        (
            vec![
                object(r#"{"name":"b","type":"text/b"}"#),
                part("name=\"file\"; filename=\"c\"\r\nContent-Type: text/c", b"x"),
            ],
            "c",
            "text/c",
        ),
        (
            vec![object("{}"), part("name=\"file\"; filename=\"../../etc/passwd\"", b"x")],
            "passwd",
            "application/octet-stream",
        ),
        (vec![part("name=\"object\"; filename=\"o\"", b"x")], "o", "application/octet-stream"),
    ] {
        let answer = post(&scene, form(&parts)).await.expect(201);
        assert_eq!((&answer.json()["name"], &answer.json()["type"]), (&json!(name), &json!(type_)));
        scene.admin.delete(&scene.path).await;
    }
}

#[tokio::test]
async fn wrong_forms_are_refused_and_leave_nothing() {
    let scene = Scene::set().await;
    let file = || part("name=\"file\"; filename=\"a\"", b"x");
    let object = |text: &str| part("name=\"object\"", text.as_bytes());

    for (body, status) in [
        (form(&[]), 422),
        (form(&[object("{}")]), 422),
        (form(&[file(), file()]), 422),
        (form(&[object("{}"), object("{}"), file()]), 422),
        (form(&[object("{"), file()]), 400),
        (form(&[file(), object("[]")]), 400),
        (form(&[file(), object(r#"{"name":7}"#)]), 422),
        (form(&[file(), object(&format!("{{\"name\":\"{}\"}}", "x".repeat(70_000)))]), 413),
        (b"no form at all".to_vec(), 400),
        (file(), 400),
        (Vec::new(), 400),
    ] {
        post(&scene, body).await.expect(status);
    }
    let request = scene.admin.request("POST", &scene.path).header("Content-Type", "multipart/form-data");
    assert_eq!(request.body(form(&[file()])).send().await.status, 400, "no boundary");
    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.server.count("binary_chunks").await, 0);
    assert_eq!(scene.admin.get(&scene.path).await.status, 404);
}

#[tokio::test]
async fn form_over_an_existing_file_is_409_before_its_bytes() {
    let scene = Scene::set().await;
    super::send(&scene.admin, "POST", &scene.path, "first").await;

    let mut connection = RawConnection::open(scene.server.address()).await;
    let authorization = format!("Authorization: {}", scene.admin.authorization().unwrap());
    let content_type = format!("Content-Type: multipart/form-data; boundary={BOUNDARY}");
    let line = format!("POST {} HTTP/1.1", scene.path);
    let head = [&*line, "Host: x", &authorization, &content_type, "Content-Length: 4000000"].join("\r\n");
    connection.send(format!("{head}\r\n\r\n")).await;

    let answer = connection.read_until("\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 409"), "{answer}");
    assert_eq!(download(&scene.admin, &scene.path).await, b"first");
}
