//! Headers: both transports read each spelling in the same way.

use super::*;
use crate::harness::application_keys::{KEY, insert_application};
use crate::lane::pair::{Pair, Sent};
use crate::lane::sample::Sample;

#[tokio::test]
async fn types_of_bodies_are_distinguished_alike() {
    let pair = Pair::shared().await;

    for body in ["[]", "80"] {
        for content_type in [
            "application/json;charset=UTF-8",
            "application/vnd.example.platform.realtime+json",
            "text/plain",
            "TEXT/Plain ; charset=utf-8",
            "text/csv",
            "text/html",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "",
            "text/plain, application/json",
            "text/pl\u{e4}in",
        ] {
            pair.agree(Sample::of(body).instead(&format!("Content-Type: {content_type}"))).await;
        }
        pair.agree(Sample::of(body).without("Content-Type")).await;
        pair.agree(Sample::of(body).with("Content-Type: text/plain")).await;
        pair.agree(Sample::of(body).instead("Content-Type: text/csv").with("Content-Type: application/json"))
            .await;
        for x_id in ["absent", "", " ", "a,b", "\u{e4}"] {
            pair.agree(Sample::of(body).with(&format!("X-Id: {x_id}"))).await;
            pair.agree(Sample::of(body).without("Content-Type").with(&format!("x-id:{x_id}"))).await;
        }
        pair.agree(Sample::of(body).with("X-Id: a").with("X-Id: b")).await;
    }
}

#[tokio::test]
async fn clients_that_accept_nothing_or_anything_get_the_same_response() {
    for compatible in [false, true] {
        let pair = Pair::start_with(|settings| settings.client_compatibility = compatible).await;
        for request in [
            Sample::idle(),
            Sample::of(r#"[{"channel":"/meta/handshake"}]"#),
            Sample::of("{"),
            Sample::rows("/cep/realtime", "80"),
            Sample::rows("/cep/realtime/connect", "81,x,/alarms/*"),
        ] {
            pair.agree(request.clone().without("Accept")).await;
            for accept in ["*/*", "", "text/html", "application/json;q=0", "a, b", "\u{e4}"] {
                pair.agree(request.clone().instead(&format!("Accept: {accept}"))).await;
            }
            pair.agree(request.clone().with("Accept: text/html")).await;
            pair.agree(request.without("Accept").with("ACCEPT:")).await;
        }
    }
}

#[tokio::test]
async fn connect_without_accept_gets_the_same_response() {
    let pair = Pair::shared().await;

    for advice in ["{}", r#"{"timeout":0}"#] {
        let answers = pair.agree_on(Sent::Whole(1), |side| {
            let client = &side.client;
            let connect =
                format!(r#"[{{"channel":"/meta/connect","clientId":"{client}","advice":{advice}}}]"#);
            Sample::of(connect).without("Accept").bytes()
        });
        assert_eq!(&*answers.await[0].body, "", "{advice}");
    }
}

#[tokio::test]
async fn connections_end_or_continue_alike() {
    let pair = Pair::shared().await;

    for connection in [
        "close",
        "Close",
        "CLOSE",
        "close, x",
        "Close, x",
        "x, close",
        "x,close",
        "keep-alive",
        "Keep-Alive, close",
        "close, keep-alive",
        "upgrade",
        "upgrade, close",
        "Upgrade, HTTP2-Settings",
        "x-id",
        "content-length",
        "",
        ",",
        "\"close\"",
        "clos\u{e9}",
        "close\t",
    ] {
        let field = format!("Connection: {connection}");
        pair.agree(Sample::idle().with(&field)).await;
        pair.agree(Sample::of("{").with(&field)).await;
        pair.agree(Sample::rows("/cep/realtime", "80").with(&field)).await;
        pair.agree(Sample::idle().without("Authorization").with(&field)).await;
    }
    pair.agree(Sample::idle().with("Connection: keep-alive").with("Connection: close")).await;
    pair.agree(Sample::idle().with("Connection: close").with("Connection: keep-alive")).await;
    pair.agree(Sample::idle().with("Keep-Alive: timeout=5, max=1")).await;
    pair.agree(Sample::idle().with("Proxy-Connection: close")).await;
}

#[tokio::test]
async fn names_of_headers_are_read_in_any_case() {
    let pair = Pair::shared().await;
    let request = String::from_utf8(Sample::idle().bytes()).unwrap();
    let (line, rest) = request.split_once("\r\n").unwrap();

    for text in [rest.to_ascii_lowercase(), rest.to_ascii_uppercase()] {
        // The values keep their case, because the credentials would otherwise change.
        let fields = rest.lines().zip(text.lines()).map(|(as_was, changed)| match as_was.split_once(':') {
            Some((name, value)) => format!("{}:{value}\r\n", &changed[..name.len()]),
            None => format!("{as_was}\r\n"),
        });
        let bytes = format!("{line}\r\n{}", fields.collect::<String>()).trim_end().to_owned();
        let answers = pair.agree_on(Sent::Whole(1), |_| bytes.clone().into_bytes()).await;
        assert_eq!((answers[0].status(), answers.len()), (200, 3), "{bytes}");
    }
}

#[tokio::test]
async fn headers_that_mean_nothing_here_change_nothing() {
    let pair = Pair::shared().await;

    for field in [
        "Accept-Encoding: gzip, br",
        "Accept-Language: de",
        "Content-Encoding: gzip",
        "Content-Encoding: identity",
        "Cookie: authorization=x; a=b",
        "If-None-Match: *",
        "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
        "Range: bytes=0-0",
        "TE: trailers",
        "Trailer: X",
        "Via: 1.1 x",
        "Forwarded: for=192.0.2.1;proto=https;host=y",
        "Max-Forwards: 0",
        "User-Agent: \u{e4}\u{f6}\u{fc}",
        "X-Platform-Processing-Mode: CEP",
        "X-Platform-Processing-Mode: nonsense",
        "X-Platform-System-Of-Units: nonsense",
        "DNT: 1",
        "X: ",
        "X:",
        "X:y",
        "X:\ty\t",
    ] {
        let answers = pair.agree(Sample::idle().with(field)).await;
        // The body of a refused coding is not read, so the connection closes.
        let count = if field == "Content-Encoding: gzip" { 1 } else { 3 };
        assert_eq!(answers.len(), count, "{field}: {answers:?}");
        pair.agree(Sample::rows("/cep/realtime", "80").with(field)).await;
    }
}

#[tokio::test]
async fn keys_of_applications_mean_the_same() {
    let pair = Pair::shared().await;
    insert_application(pair.lane.server.database(), "main", "cockpit", "k-cockpit").await;

    for key in ["k-cockpit", "unknown", "", "schl\u{fc}ssel", &"k".repeat(3000)] {
        let field = format!("{KEY}: {key}");
        pair.agree(Sample::idle().with(&field)).await;
        pair.agree(Sample::idle().without("Authorization").with(&field)).await;
        pair.agree(Sample::idle().with(&field).with(&field)).await;
    }
}

#[tokio::test]
async fn causes_of_errors_are_the_same_for_developers() {
    let pair = Pair::start_with(|settings| {
        settings.debug_errors = true;
        settings.limits.bayeux_bytes = 2048;
    })
    .await;

    for request in [
        Sample::of("{"),
        Sample::of("[1,"),
        Sample::of(" ".repeat(2049)),
        Sample::idle().without("Authorization"),
        Sample::idle().instead("Authorization: Basic x"),
        Sample::to("/notification/unknown", "[]"),
        Sample::idle().line("PUT /notification/realtime HTTP/1.1"),
        Sample::rows("/cep/realtime", " ".repeat(2049)),
    ] {
        pair.agree(request).await;
    }
}

#[tokio::test]
async fn request_that_trickles_gets_the_same_response_as_one_that_comes_at_once() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let mut connection = RawConnection::open(side.address).await;
        for byte in Sample::idle().closing().bytes() {
            connection.send([byte]).await;
            tokio::task::yield_now().await;
        }
        let came = connection.read_to_end().await;
        assert!(came.starts_with("HTTP/1.1 200 ") && came.ends_with("\r\n\r\n[]"), "{came}");
    }
}
