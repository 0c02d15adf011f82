//! Requests over TLS get the same responses as without, with `https` links.

use rustls::version::{TLS12, TLS13};
use rustls::{ALL_VERSIONS, ProtocolVersion};

use super::client::{Encrypted, admin, offer};
use super::*;
use crate::harness::certificates::Certificates;

/// Returns scheme and authority of links in responses through a tunnel.
fn encrypted(caller: &Caller) -> String {
    caller.base().replace("http://", "https://")
}

fn links(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.starts_with("http") => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(links).collect(),
        Value::Object(members) => members.values().flat_map(links).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn request_gets_a_response_over_tls() {
    let (server, certificates) = serving().await;
    let mut connection = Encrypted::open(&server, &certificates).await;

    for _ in 0..3 {
        connection.request(&format!("GET {OBJECTS}"), &[], "").await;
        let answer = connection.read_until("\"managedObjects\"").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn every_link_of_a_response_is_https() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;
    let device = admin.create_device("pump").await;
    admin.create_device("motor").await;

    let raised = admin.post("/alarm/alarms", &alarm_of(&device, "hot")).await;
    let list = admin.read(&format!("{OBJECTS}?pageSize=1")).await;
    let root = admin.read("/platform").await;

    let base = encrypted(&admin);
    assert!(raised.header("Location").unwrap().starts_with(&base));
    assert!(list["next"].as_str().unwrap().starts_with(&base), "{list}");
    let all = [raised.json(), list, root].iter().flat_map(links).collect::<Vec<_>>();
    assert!(all.len() > 20, "{all:?}");
    for link in all {
        assert!(link.starts_with(&format!("{base}/")), "{link}");
    }
}

#[tokio::test]
async fn links_in_notifications_are_https() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;

    admin.raise_alarm(&device, "hot").await;

    let told = session.glance_until_told().await;
    let link = notifications(&told)[0]["data"]["data"]["self"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&encrypted(&admin)), "{link}");
}

#[tokio::test]
async fn links_of_a_request_without_a_host_are_https() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;

    let answer = admin.request("GET", "/platform").header("Host", "no host").send().await.expect(400);

    let info = answer.json()["info"].as_str().unwrap().to_owned();
    assert!(info.starts_with(&format!("{}/", server.base())), "{info}");
    assert!(server.base().starts_with("https://"));
}

#[tokio::test]
async fn whole_chain_of_the_file_is_sent() {
    let (server, certificates) = serving().await;

    // The client trusts the root only, so it would reject the certificate without the chain.
    let connection = Encrypted::open(&server, &certificates).await;

    assert_eq!(connection.session().peer_certificates().unwrap().len(), 2);
}

#[tokio::test]
async fn tls_1_2_and_1_3_are_served() {
    let (server, certificates) = serving().await;

    for (version, agreed) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)] {
        let offer = offer(&certificates, &[version], &[]);
        let mut connection = Encrypted::try_open(&server, offer).await.unwrap();
        connection.request("GET /platform", &[], "").await;
        let answer = connection.read_until("deviceControl").await;

        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(connection.session().protocol_version(), Some(agreed));
    }
}

/// A ClientHello of at most this version: 32 random bytes, no session, suites for both versions, no compression; then
/// the extensions for signatures and groups.
fn hello(version: [u8; 2]) -> Vec<u8> {
    let mut hello = version.to_vec();
    hello.extend([7; 32]);
    hello.extend([0, 0, 6, 0xc0, 0x13, 0xc0, 0x2b, 0, 0x2f, 1, 0]);
    hello.extend([0, 16, 0, 13, 0, 4, 0, 2, 4, 3, 0, 10, 0, 4, 0, 2, 0, 23]);
    let mut record = vec![22, 3, 1, 0, u8::try_from(hello.len() + 4).unwrap(), 1, 0, 0];
    record.push(u8::try_from(hello.len()).unwrap());
    record.extend(hello);
    record
}

#[tokio::test]
async fn tls_1_1_is_refused_by_an_alert() {
    let (server, _certificates) = serving().await;

    let mut connection = RawConnection::open(server.address()).await;
    connection.send(hello([3, 3])).await;
    assert_eq!(connection.read_at_most(1).await, [22], "the same hello of TLS 1.2 is answered");

    let mut connection = RawConnection::open(server.address()).await;
    connection.send(hello([3, 2])).await;
    let mut came = Vec::new();
    while let piece @ [_, ..] = connection.read_at_most(64).await.as_slice() {
        came.extend_from_slice(piece);
    }
    assert_eq!((came[0], came[5], came[6]), (21, 2, 70), "a fatal alert, protocol_version: {came:?}");
}

#[tokio::test]
async fn http_1_1_is_agreed_and_nothing_else_is_offered() {
    let (server, certificates) = serving().await;

    let both = offer(&certificates, ALL_VERSIONS, &["h2", "http/1.1"]);
    let connection = Encrypted::try_open(&server, both).await.unwrap();
    assert_eq!(connection.session().alpn_protocol(), Some(&b"http/1.1"[..]));
    assert!(Encrypted::try_open(&server, offer(&certificates, ALL_VERSIONS, &["h2"])).await.is_err());
}

#[tokio::test]
async fn plain_http_gets_an_explanation_and_the_connection_ends() {
    let (server, _certificates) = serving().await;

    for request in [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /s HTTP/1.1\r\nContent-Length: 99\r\n\r\nhalf",
        "nonsense",
    ] {
        let mut connection = RawConnection::open(server.address()).await;
        connection.send(request).await;
        let answer = connection.read_until("HTTPS is served here").await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        while !connection.read_at_most(64).await.is_empty() {}
    }
}

#[tokio::test]
async fn large_body_arrives_whole_in_both_directions() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;
    let large: String = (0..400_000).map(|n| char::from(b'a' + (n % 23) as u8)).collect();

    let created = admin.create(OBJECTS, &json!({"name": "large", "large": large})).await;
    let read = admin.read(&format!("{OBJECTS}/{}", created["id"].as_str().unwrap())).await;

    assert!(read["large"] == json!(large), "{} characters came back", read["large"].as_str().unwrap().len());
}

#[tokio::test]
async fn websocket_over_tls_is_notified_of_an_alarm() {
    let (server, certificates) = serving().await;
    let admin = admin(&server, &certificates).await;
    let device = admin.create_device("pump").await;
    let (mut socket, client) = Socket::listen(&admin, "/alarms/*").await;
    socket.send(json!([connect(&client)]).to_string()).await;

    for n in 0..20 {
        let kind = format!("type {n}");
        admin.raise_alarm(&device, &kind).await;
        loop {
            let message = socket.message().await;
            if message["channel"] == json!(format!("/alarms/{device}")) {
                assert_eq!(message["data"]["data"]["type"], json!(kind));
                break;
            }
        }
    }
}

#[tokio::test]
async fn command_line_trusts_the_authorities_of_the_machine_and_no_other() {
    let (server, certificates) = serving().await;
    let directory = scratch_with_data();
    let list = |authorities: &std::path::Path| {
        let mut command = Program::command(directory.path(), &["device", "list", "-o", "json"]);
        command.env("SSL_CERT_FILE", authorities).env_remove("SSL_CERT_DIR");
        command.env("PLATFORM_URL", format!("https://localhost:{}", server.address().port()));
        command.env("PLATFORM_USER", "main/admin").env("PLATFORM_PASSWORD", ADMIN_PASSWORD);
        run(command, "")
    };

    let trusted = list(&certificates.root_file());
    assert_eq!(
        String::from_utf8_lossy(&trusted.stdout),
        "[]\n",
        "{}",
        String::from_utf8_lossy(&trusted.stderr)
    );
    let refused = list(&Certificates::new().root_file());
    assert_eq!(refused.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("certificate"));
}
