use std::net::SocketAddr;

use platform_actors::event_processing::{OutboundRequest, OutboundResponse};
use platform_model::id::TenantId;
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::exchange::RESPONSE_BYTES;
use super::*;

fn asked(url: &str, method: &str) -> (OutboundRequest, oneshot::Receiver<OutboundResponse>) {
    let (answer, answered) = oneshot::channel();
    let request = OutboundRequest {
        tenant: TenantId::parse("main").unwrap(),
        url: url.into(),
        method: method.into(),
        body: None,
        authorization: None,
        content_type: None,
        headers: Vec::new(),
        source: None,
        answer,
    };
    (request, answered)
}

fn sender(allowed: &str) -> Sender {
    Sender::new(allowed.split(',').map(|host| host.parse().unwrap()).collect(), Roots::of_machine())
}

/// Reads the head and the announced bytes of the body.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    loop {
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap() == 0 {
            return String::from_utf8(text).unwrap();
        }
        text.push(byte[0]);
        let read = String::from_utf8_lossy(&text);
        let Some((head, body)) = read.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return read.into_owned();
        }
    }
}

/// Starts a server that sends one response; returns its address and the request it received.
async fn one_answer(answer: impl Into<Vec<u8>>) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, answer) = (listener.local_addr().unwrap(), answer.into());
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer_on(&mut stream, &answer).await
    });
    (address, serving)
}

async fn answer_on(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), answer: &[u8]) -> String {
    let read = read(stream).await;
    // A client that has read enough closes the connection.
    let _ = stream.write_all(answer).await;
    let _ = stream.shutdown().await;
    read
}

#[tokio::test]
async fn request_is_sent_as_specified_and_its_response_returned() {
    let (address, serving) = one_answer("HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nm\u{fc}!").await;
    let (request, answered) = asked(&format!("http://{address}/a/b?c=%20d#e"), "post");
    let request = OutboundRequest {
        body: Some("{\"a\":1}".into()),
        authorization: Some("Basic eA==".into()),
        content_type: Some("application/json".into()),
        headers: vec![("X-Id".into(), "7".into())],
        ..request
    };

    sender(&address.to_string()).send(request).await;

    assert_eq!(answered.await.unwrap(), OutboundResponse { status: 201, body: "mü!".into() });
    let sent = serving.await.unwrap();
    assert_eq!(
        sent,
        format!(
            "POST /a/b?c=%20d HTTP/1.1\r\nhost: {address}\r\nuser-agent: platform\r\nauthorization: Basic eA==\r\n\
             content-type: application/json\r\nx-id: 7\r\ncontent-length: 7\r\n\r\n{{\"a\":1}}"
        )
    );
}

#[tokio::test]
async fn redirects_are_returned_and_not_followed() {
    let (address, _serving) =
        one_answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n").await;
    let (request, answered) = asked(&format!("http://{address}"), "GET");

    sender(&address.to_string()).send(request).await;

    assert_eq!(answered.await.unwrap(), OutboundResponse { status: 302, body: String::new() });
}

#[tokio::test]
async fn response_that_is_too_long_is_an_error() {
    let answer = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(RESPONSE_BYTES + 1));
    let (address, _serving) = one_answer(answer).await;
    let (request, answered) = asked(&format!("http://{address}"), "GET");

    sender(&address.to_string()).send(request).await;

    let body = "the response 200 is longer than 1048576 bytes".to_owned();
    assert_eq!(answered.await.unwrap(), OutboundResponse { status: 0, body });
}

#[tokio::test]
async fn forbidden_requests_return_the_reason() {
    for (url, method, why) in [
        (
            "http://other.example.com/",
            "GET",
            "not sent: the host 'other.example.com' is not allowed by the operator",
        ),
        ("http://localhost:81/", "GET", "not sent: the host 'localhost:81' is not allowed by the operator"),
        ("ftp://localhost/", "GET", "not sent: 'ftp://localhost/' does not begin with http:// or https://"),
        ("/a", "GET", "not sent: '/a' does not begin with http:// or https://"),
        (
            "http://me:secret@localhost/",
            "GET",
            "not sent: a URL must not contain a user; use the column 'authorization'",
        ),
        ("http://local host/", "GET", "not sent: 'http://local host/' is no URL"),
        ("", "GET", "not sent: '' is no URL"),
        (
            "http://localhost/",
            "TRACE",
            "not sent: the method 'TRACE' is not one of GET, POST, PUT, PATCH, DELETE, HEAD",
        ),
    ] {
        let (request, answered) = asked(url, method);
        sender("localhost").send(request).await;
        assert_eq!(answered.await.unwrap(), OutboundResponse { status: 0, body: why.into() }, "{url}");
    }
}

#[tokio::test]
async fn modules_cannot_set_headers_that_frame_a_message() {
    for (name, text, why) in [
        ("Host", "x", "not sent: the header 'Host' is set by the server"),
        ("Transfer-Encoding", "chunked", "not sent: the header 'Transfer-Encoding' is set by the server"),
        ("a b", "x", "not sent: 'a b' is no header"),
        ("X-A", "a\r\nX-B: b", "not sent: the value of 'X-A' is not allowed in a header"),
    ] {
        let (request, answered) = asked("http://localhost/", "GET");
        let request = OutboundRequest { headers: vec![(name.into(), text.into())], ..request };
        sender("localhost").send(request).await;
        assert_eq!(answered.await.unwrap(), OutboundResponse { status: 0, body: why.into() }, "{name}");
    }
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (request, answered) = asked(&format!("http://{address}"), "GET");

    sender(&address.to_string()).send(request).await;

    let response = answered.await.unwrap();
    assert_eq!(response.status, 0);
    assert!(response.body.contains("cannot be reached"), "{}", response.body);
}

#[tokio::test]
async fn https_requires_a_trusted_certificate() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(mut stream) = acceptor.accept(stream).await {
                answer_on(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            }
        }
    });
    let known = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(known.path(), made.cert.pem()).unwrap();
    let allowed = vec![format!("localhost:{port}").parse().unwrap()];

    for (roots, status) in [(Roots::of_file(known.path().to_owned()), 200), (Roots::of_machine(), 0)] {
        let (request, answered) = asked(&format!("https://localhost:{port}/"), "GET");
        Sender::new(allowed.clone(), roots).send(request).await;
        let response = answered.await.unwrap();
        assert_eq!(response.status, status, "{}", response.body);
    }
}

#[tokio::test]
async fn tenant_with_many_requests_delays_only_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap();
    let (address, _serving) = one_answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let mut sender = sender(&format!("{silent},{address}"));
    let mut under_way = JoinSet::new();
    let mut held = Vec::new();
    for _ in 0..CONCURRENT_PER_TENANT + WAITING_PER_TENANT {
        let (request, answered) = asked(&format!("http://{silent}"), "GET");
        under_way.spawn(sender.send(request));
        held.push(answered);
    }
    let mut connections = Vec::new();
    for _ in 0..CONCURRENT_PER_TENANT {
        connections.push(listener.accept().await.unwrap());
    }
    // All requests have been polled when the waiting ones are counted.
    while sender.turns_of(&TenantId::parse("main").unwrap()).waiting.available_permits() > 0 {
        tokio::task::yield_now().await;
    }

    let (beyond, refused) = asked(&format!("http://{silent}"), "GET");
    sender.send(beyond).await;
    let (of_another, answered) = asked(&format!("http://{address}"), "GET");
    sender.send(OutboundRequest { tenant: TenantId::parse("other").unwrap(), ..of_another }).await;

    assert_eq!(refused.await.unwrap().body, "not sent: 256 requests wait already");
    assert_eq!(answered.await.unwrap().status, 200);
}
