//! Lines and their ends: bare line feeds, folded headers, bytes that are not text.

use crate::lane::pair::{Pair, Sent};
use crate::lane::sample::Sample;

const FIELDS: [&str; 44] = [
    // Line ends within a value start another header or end the head.
    "X: a\nY: b",
    "X: a\nContent-Length: 0",
    "X: a\nTransfer-Encoding: chunked",
    "X: a\nHost: y",
    "X: a\n\nGET /health/live HTTP/1.1",
    "X: a\rY: b",
    "X: a\r\rY: b",
    "X: a\r\n\nY: b",
    "X: a\n\rY: b",
    "X: a\0b",
    "X: a\x01b",
    "X: a\x0bb",
    "X: a\x0cb",
    "X: a\x1bb",
    "X: a\x7fb",
    "X: a\tb",
    "X:\ta",
    "X: a\u{e4}\u{fffd}b",
    // Folded headers.
    "X: a\r\n b",
    "X: a\r\n\tb",
    "X: a\r\n ",
    "X: a\r\n Content-Length: 0",
    "Content-Type:\r\n text/plain",
    "X: a\n b",
    // Invalid names.
    "X : a",
    "X\t: a",
    " X: a",
    "\tX: a",
    ": a",
    " : a",
    "X",
    "X Y: a",
    "X\u{e4}: a",
    "X\0: a",
    "X(: a",
    "X/Y: a",
    "\"X\": a",
    "X!#$%&'*+-.^_`|~: a",
    "Content-Length : 2",
    "Content_Length: 0",
    "Content-Length\0: 0",
    "Authorization : Basic x",
    "GET /health/live HTTP/1.1",
    "X: a:b:c:",
];

#[tokio::test]
async fn odd_headers_are_judged_alike_wherever_they_stand() {
    let pair = Pair::shared().await;

    for field in FIELDS {
        let split_off = field.contains("\n\n") || field.contains("\r\n\n");
        for request in
            [Sample::idle().with(field), first(field), Sample::rows("/cep/realtime", "80").with(field)]
        {
            // The text before an empty line is a request without a body, or invalid; the text after it is another
            // request.
            let sent = if split_off { Sent::Part } else { Sent::Whole(1) };
            pair.agree_on(sent, |_| request.bytes()).await;
        }
    }
}

/// Returns a request that begins with this header.
fn first(field: &str) -> Sample {
    Sample::idle().line(&format!("POST /notification/realtime HTTP/1.1\r\n{field}"))
}

#[tokio::test]
async fn bare_line_feeds_end_lines_alike() {
    let pair = Pair::shared().await;
    let request = String::from_utf8(Sample::idle().bytes()).unwrap();
    let ends: Vec<usize> = request.match_indices("\r\n").map(|(at, _)| at).collect();

    pair.agree_on(Sent::Whole(1), |_| request.replace("\r\n", "\n").into_bytes()).await;
    for at in &ends {
        for end in ["\n", "\n\r\n", "\r\r\n", " \r\n", "\t\r\n", "\0\r\n"] {
            let changed = format!("{}{end}{}", &request[..*at], &request[at + 2..]);
            // An additional empty line ends the head, and the bytes after it are not a request.
            let sent = if end == "\n\r\n" { Sent::Part } else { Sent::Whole(1) };
            pair.agree_on(sent, |_| changed.clone().into_bytes()).await;
        }
        for end in ["\r", ""] {
            let changed = format!("{}{end}{}", &request[..*at], &request[at + 2..]);
            pair.agree_on(Sent::Part, |_| changed.clone().into_bytes()).await;
        }
    }
}

#[tokio::test]
async fn empty_lines_before_a_request_are_passed_over_alike() {
    let pair = Pair::shared().await;
    let request = Sample::idle().bytes();

    for (before, sent) in [
        ("\r\n", Sent::Whole(1)),
        ("\r\n\r\n", Sent::Whole(1)),
        ("\n", Sent::Whole(1)),
        ("\n\n\r\n", Sent::Whole(1)),
        (&*"\r\n".repeat(1000), Sent::Whole(1)),
        (&*"\r\n".repeat(70_000), Sent::Whole(1)),
        ("\r", Sent::Whole(1)),
        (" ", Sent::Whole(1)),
        ("\t\r\n", Sent::Whole(1)),
        ("\0", Sent::Whole(1)),
        ("\u{feff}", Sent::Whole(1)),
    ] {
        pair.agree_on(sent, |_| [before.as_bytes(), &request].concat()).await;
        // The same request on a connection that was used before.
        pair.agree_on(Sent::Whole(2), |_| [&request, before.as_bytes(), &request].concat()).await;
    }
    for nothing in ["\r\n", "\r\n\r\n\r\n", "\n"] {
        pair.agree_on(Sent::Part, |_| nothing.into()).await;
    }
}

#[tokio::test]
async fn second_host_is_refused_alike() {
    let pair = Pair::shared().await;

    for host in ["Host: x", "host: y", "Host:"] {
        let answers = pair.agree(Sample::idle().with(host)).await;
        assert_eq!((answers[0].status(), answers.len()), (400, 1), "{host}: {answers:?}");
    }
    let answers = pair.agree(Sample::idle().without("Host")).await;
    assert_eq!((answers[0].status(), answers.len()), (400, 1), "{answers:?}");
}
