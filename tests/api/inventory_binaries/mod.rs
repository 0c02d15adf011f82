//! Managed objects with content (I-05, I-12, V-04, V-05).

mod broken_forms;
mod lifecycle;
mod memory;
mod races;
mod ranges;
mod roles;
mod sizes;
mod sweep;

use crate::harness::prelude::*;

const BINARIES: &str = "/inventory/binaries";
const BOUNDARY: &str = "----boundary4711";

/// One part of a form: its headers and its bytes.
fn part(headers: &str, bytes: &[u8]) -> Vec<u8> {
    [format!("--{BOUNDARY}\r\n{headers}\r\n\r\n").as_bytes(), bytes, b"\r\n"].concat()
}

/// The part `object`.
fn object_part(object: &Value) -> Vec<u8> {
    part("Content-Disposition: form-data; name=\"object\"", object.to_string().as_bytes())
}

/// The part `filesize`.
fn size_part(size: &str) -> Vec<u8> {
    part("Content-Disposition: form-data; name=\"filesize\"", size.as_bytes())
}

/// The part `file`, of type `text/plain` and name `log.txt`.
fn file_part(bytes: &[u8]) -> Vec<u8> {
    let headers =
        "Content-Disposition: form-data; name=\"file\"; filename=\"log.txt\"\r\nContent-Type: text/plain";
    part(headers, bytes)
}

/// A whole form.
fn form(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), format!("--{BOUNDARY}--\r\n").into_bytes()].concat()
}

/// POST of a form that was put together by hand.
async fn post(caller: &Caller, body: Vec<u8>) -> Response {
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let request = caller.request("POST", BINARIES).accepting_json().header("Content-Type", &content_type);
    request.body(body).send().await
}

/// Stores a file and returns its object.
async fn upload(caller: &Caller, object: &Value, bytes: &[u8]) -> Value {
    let answer = post(caller, form(&[object_part(object), file_part(bytes)])).await.expect(201);
    answer.json()
}

/// Path of the content of an object.
fn content_of(object: &Value) -> String {
    format!("{BINARIES}/{}", object["id"].as_str().unwrap())
}

/// The bytes of a binary.
async fn download(caller: &Caller, path: &str) -> Vec<u8> {
    let response = caller.request("GET", path).head().await;
    assert_eq!(response.status(), 200, "GET {path}");
    response.bytes().await.unwrap().to_vec()
}

/// Returns bytes that contain every value and in which no two chunks are equal.
fn bytes(length: usize) -> Vec<u8> {
    (0..length as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Waits until no file is stored that belongs to no object.
async fn assert_no_leftovers(server: &TestServer) {
    until("uploads that were given up to go", async || {
        let unfinished = "SELECT count(*) FROM binaries WHERE tenant = $1 AND object IS NULL";
        let count: i64 = server.rows(unfinished, &[]).await[0].get(0);
        count == 0
    })
    .await;
}

/// The body of an object whose name tells it from others.
fn named(name: &str) -> Value {
    json!({"name": name, "type": "plat_Log"})
}
