//! Large lists are compressed for clients that ask for it (C-22).

use std::io::Read;

use flate2::read::GzDecoder;

use super::*;

const LARGE: &str = "/inventory/managedObjects?pageSize=40";
const SMALL: &str = "/inventory/managedObjects?pageSize=1";

/// Returns an administrator of a tenant with objects whose list is larger than 16 KiB.
async fn with_large_list() -> (TestServer, Caller) {
    let (server, admin) = TestServer::shared().await.with_admin();
    for number in 0..40 {
        let body =
            json!({"name": format!("pump {number}"), "acme_Note": "The valve was opened. ".repeat(30)});
        admin.create("/inventory/managedObjects", &body).await;
    }
    (server, admin)
}

/// Sends a request with this `Accept-Encoding`; returns the encoding of the response, its `Vary`, and its body.
async fn answer(
    admin: &Caller,
    method: &str,
    path: &str,
    accepted: &str,
) -> (Option<String>, String, Vec<u8>) {
    let request = admin.request(method, path).accepting_json().header("Accept-Encoding", accepted);
    let response = request.head().await;
    assert_eq!(response.status(), 200);
    let text = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (encoding, vary) = (text("content-encoding"), text("vary").unwrap_or_default());
    (encoding, vary, response.bytes().await.unwrap().to_vec())
}

fn unpacked(body: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(body).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn large_list_is_compressed_for_a_client_that_accepts_gzip() {
    let (_server, admin) = with_large_list().await;

    let (encoding, vary, packed) = answer(&admin, "GET", LARGE, "gzip, deflate, br").await;

    assert_eq!(encoding.as_deref(), Some("gzip"));
    assert!(vary.contains("Accept-Encoding"), "{vary}");
    let plain = admin.get(LARGE).await.expect(200);
    assert!(plain.text.len() > 16 * 1024 && packed.len() * 4 < plain.text.len(), "{} bytes", packed.len());
    assert_eq!(unpacked(&packed), plain.json());
}

#[tokio::test]
async fn large_object_is_compressed_and_keeps_its_revision() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let note = "The valve was opened. ".repeat(1000);
    let object = admin.create(OBJECTS, &json!({"acme_Note": note})).await;
    let path = format!("{OBJECTS}/{}", object["id"].as_str().unwrap());

    let (encoding, _, packed) = answer(&admin, "GET", &path, "gzip").await;

    assert_eq!(encoding.as_deref(), Some("gzip"));
    assert_eq!(unpacked(&packed)["acme_Note"], note.as_str());
    assert!(admin.get(&path).await.header("ETag").is_some());
}

#[tokio::test]
async fn other_responses_are_not_compressed() {
    let (_server, admin) = with_large_list().await;

    for (path, accepted) in [
        (LARGE, "identity"),
        (LARGE, "br"),
        (LARGE, "gzip;q=0"),
        (LARGE, "identity, gzip;q=0.5"),
        (SMALL, "gzip"),
    ] {
        let (encoding, _, body) = answer(&admin, "GET", path, accepted).await;
        assert_eq!(encoding, None, "{path} with {accepted}");
        serde_json::from_slice::<Value>(&body).unwrap();
    }
}

#[tokio::test]
async fn json_file_is_not_compressed() {
    let (_server, admin, source) = TestServer::shared().await.with_device("pump").await;
    let event = admin.create_event(&source, "acme_Log").await;
    let path = format!("/event/events/{}/binaries", event["id"].as_str().unwrap());
    let text = json!({"note": "x".repeat(40_000)}).to_string();
    admin.request("POST", &path).json(&serde_json::from_str(&text).unwrap()).send().await.expect(201);

    let request = admin.request("GET", &path).header("Accept-Encoding", "gzip");
    let response = request.head().await;

    assert_eq!(response.headers().get("content-encoding"), None);
    assert_eq!(response.bytes().await.unwrap(), text);
}

#[tokio::test]
async fn head_announces_the_length_of_the_compressed_list() {
    let (_server, admin) = with_large_list().await;

    let (_, _, packed) = answer(&admin, "GET", LARGE, "gzip").await;
    let request = admin.request("HEAD", LARGE).accepting_json().header("Accept-Encoding", "gzip");
    let response = request.head().await;

    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(response.headers()["content-length"], packed.len().to_string());
}
