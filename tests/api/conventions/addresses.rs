//! Addresses of requests: without a host, with two hosts, or with an invalid host.

use super::*;

fn authorization() -> String {
    format!("Authorization: Basic {}", token("admin", ADMIN_PASSWORD))
}

/// Returns the raw response to a request with these lines.
async fn ask(server: &TestServer, lines: &[&str]) -> String {
    let mut connection = RawConnection::open(server.address()).await;
    connection.send(format!("{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"))).await;
    connection.read_to_end().await
}

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {answer}"))
}

#[tokio::test]
async fn character_that_no_text_can_hold_is_422_in_our_words() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;

    for path in [
        "/inventory/managedObjects?type=%00",
        "/inventory/managedObjects?text=a%00b",
        "/inventory/managedObjects?owner=%00",
        "/inventory/managedObjects?fragmentType=%00",
        &format!("/measurement/measurements?source={device}&valueFragmentType=%00"),
        "/alarm/alarms?type=%00",
        "/audit/auditRecords?user=%00",
    ] {
        let answer = admin.get(path).await.expect(422);
        assert!(answer.text.contains("U+0000"), "{path}: {}", answer.text);
    }
    for path in [
        "/inventory/managedObjects?query=name+eq+'%00'",
        "/event/events?fragmentType=%00&fragmentValue=x",
        "/inventory/managedObjects/%00",
        "/identity/externalIds/plat_Serial/%00",
        "/identity/externalIds/%00/x",
        "/user/main/users/%00",
        "/user/main/groupByName/a%00",
        "/tenant/options/%00/x",
        "/application/applicationsByName/%00",
        "/apps/%00/x",
    ] {
        let answer = admin.get(path).await;
        assert!([200, 404, 422].contains(&answer.status), "{path}: {} {}", answer.status, answer.text);
        assert!(!answer.text.contains("byte sequence"), "the words of PostgreSQL, {path}: {}", answer.text);
    }
    let stranger = server.stranger();
    assert_eq!(stranger.get("/inventory/managedObjects?type=%00").await.status, 401, "first authentication");
    assert_eq!(
        admin.get("/inventory/managedObjects?type=%2500").await.status,
        200,
        "a percent sign and digits"
    );
}

#[tokio::test]
async fn host_that_is_not_an_address_is_400() {
    let server = TestServer::shared().await;
    let authorization = authorization();

    for host in ["a b", "a/b", "", "a@b", "a:b", "[::1", "a,b", "\u{e4}.de"] {
        for line in ["GET /platform HTTP/1.1", "GET http://x/platform HTTP/1.1", "GET /platform HTTP/1.0"] {
            let answer = ask(&server, &[line, &format!("Host: {host}"), &authorization]).await;
            assert!(answer.split(' ').nth(1) == Some("400"), "{line} {host:?}: {answer}");
            assert_eq!(body(&answer)["error"], "undefined/validationError", "{line} {host:?}");
        }
    }
    let answer = ask(&server, &["GET http://a@b/platform HTTP/1.1", "Host: x", &authorization]).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let answer = ask(&server, &["GET /platform HTTP/1.0", &authorization]).await;
    assert!(answer.starts_with("HTTP/1.0 200 "), "clients of HTTP/1.0 name no host: {answer}");
}

#[tokio::test]
async fn address_in_the_request_line_goes_before_the_host() {
    let server = TestServer::shared().await;

    let lines = ["GET http://a.example.org:81/platform HTTP/1.1", "Host: b.example.org", &authorization()];
    let answer = ask(&server, &lines).await;

    assert_eq!(body(&answer)["self"], json!("http://a.example.org:81/platform"));
}

#[tokio::test]
async fn two_credentials_are_400_whoever_they_are_of() {
    let server = TestServer::shared().await;
    let (own, other) = (authorization(), "Authorization: Basic eDp5");

    for fields in [[&*own, other], [other, &own], [&own, &own]] {
        let answer = ask(&server, &["GET /platform HTTP/1.1", "Host: x", fields[0], "X: y", fields[1]]).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{fields:?}: {answer}");
        assert!(body(&answer)["message"].as_str().expect("text").contains("Authorization"), "{answer}");
    }
}
