//! The end of a request: ambiguous lengths are interpreted in one way by both transports.

use crate::lane::pair::{Pair, Sent};
use crate::lane::sample::Sample;

/// A request in the body of another one, which must never get a response.
const SMUGGLED: &str = "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// Values of `Content-Length` before a body of two bytes.
const WORDS: [&str; 40] = [
    "2",
    "02",
    "0002",
    "00000000000000000000000000000000000002",
    " 2",
    "2 ",
    "\t2\t",
    "+2",
    "-2",
    "-0",
    "+0",
    "2.0",
    "2e0",
    "0x2",
    "2x",
    "x2",
    "two",
    "\"2\"",
    "2 2",
    "2\t2",
    "2,",
    ",2",
    "2,2",
    "2, 2",
    "2, 3",
    "2;2",
    "",
    " ",
    ",",
    "_2",
    "2_0",
    "\u{662}",
    "\u{ff12}",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551618",
    "9223372036854775808",
    "99999999999999999999999999999999999999999999",
    "1_0",
    "0b10",
];

#[tokio::test]
async fn spellings_of_a_length_are_judged_alike() {
    let pair = Pair::shared().await;

    for word in WORDS {
        for name in ["Content-Length: ", "content-length:", "CONTENT-LENGTH: "] {
            let request = Sample::idle().unmeasured().with(&format!("{name}{word}")).bytes();
            // The server does not wait for a body that was announced and is not sent.
            let answers = pair.agree_on(sent(word), |_| request.clone()).await;
            assert!(answers.len() <= 3, "{word:?}: {answers:?}");
        }
    }
}

/// Returns whether exactly the two bytes are announced.
fn sent(word: &str) -> Sent {
    match word.trim().parse::<u64>() {
        Ok(3..) if !word.starts_with('+') => Sent::Part,
        _ => Sent::Whole(1),
    }
}

#[tokio::test]
async fn second_length_is_refused_alike_whatever_it_says() {
    let pair = Pair::shared().await;

    for first in ["Content-Length: 2", "content-length: 0", "Content-Length: 70"] {
        for second in [
            "Content-Length: 2",
            "Content-Length: 0",
            "CONTENT-LENGTH: 3",
            "Content-Length: x",
            "Content-Length:",
        ] {
            let body = format!("[]{SMUGGLED}");
            let request = Sample::of(body).unmeasured().with(first).with("X: y").with(second);
            let answers = pair.agree(request).await;
            assert_eq!((answers[0].status(), answers.len()), (400, 1), "{first} {second}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn length_beside_chunks_is_refused_alike() {
    let pair = Pair::shared().await;
    let chunked = format!("2\r\n[]\r\n0\r\n\r\n{SMUGGLED}");

    for encoding in [
        "chunked",
        "Chunked",
        "identity",
        "gzip, chunked",
        "chunked, identity",
        "xchunked",
        "",
        "chunked ",
        "\tchunked",
    ] {
        for length in ["2", "12", "0", "x"] {
            let (te, cl) = (format!("Transfer-Encoding: {encoding}"), format!("Content-Length: {length}"));
            for fields in [[&te, &cl], [&cl, &te]] {
                let request =
                    fields.into_iter().fold(Sample::of(&*chunked).unmeasured(), |s, field| s.with(field));
                let answers = pair.agree(request).await;
                assert_eq!((answers[0].status(), answers.len()), (400, 1), "{fields:?}: {answers:?}");
            }
        }
    }
}

#[tokio::test]
async fn encodings_of_a_body_are_judged_alike() {
    let pair = Pair::shared().await;

    for fields in [
        &["Transfer-Encoding: chunked"][..],
        &["Transfer-Encoding: CHUNKED"],
        &["transfer-encoding:chunked"],
        &["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        &["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        &["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
        &["Transfer-Encoding: chunked, chunked"],
        &["Transfer-Encoding: identity, chunked"],
        &["Transfer-Encoding: chunked;q=1"],
        &["Transfer-Encoding: \"chunked\""],
        &["Transfer-Encoding: gzip"],
        &["Transfer-Encoding: identity"],
        &["Transfer-Encoding: "],
        &["Transfer-Encoding: chun\u{212a}ed"],
        &["Transfer-Encoding : chunked"],
        &["Transfer_Encoding: chunked", "Content-Length: 12"],
        &["X-Transfer-Encoding: chunked", "Content-Length: 12"],
    ] {
        let request = Sample::of("2\r\n[]\r\n0\r\n\r\n").unmeasured();
        pair.agree(fields.iter().fold(request, |request, field| request.with(field))).await;
    }
}

#[tokio::test]
async fn chunks_are_read_alike() {
    let pair = Pair::shared().await;

    for (chunks, sent) in [
        ("2\r\n[]\r\n0\r\n\r\n", Sent::Whole(1)),
        ("1\r\n[\r\n1\r\n]\r\n0\r\n\r\n", Sent::Whole(1)),
        ("2;x=y\r\n[]\r\n0\r\n\r\n", Sent::Whole(1)),
        ("2\r\n[]\r\n0\r\nX: y\r\n\r\n", Sent::Whole(1)),
        ("0\r\n\r\n", Sent::Whole(1)),
        ("02\r\n[]\r\n00\r\n\r\n", Sent::Whole(1)),
        ("x\r\n[]\r\n0\r\n\r\n", Sent::Whole(1)),
        ("-2\r\n[]\r\n0\r\n\r\n", Sent::Whole(1)),
        ("2\n[]\n0\n\n", Sent::Whole(1)),
        ("2\r\n[]0\r\n\r\n", Sent::Whole(1)),
        ("fffffffffffffffff\r\n[]", Sent::Whole(1)),
        ("2\r\n[]\r\n", Sent::Part),
        ("2\r\n[", Sent::Part),
        ("", Sent::Part),
    ] {
        for start in [Sample::idle(), Sample::rows("/cep/realtime", "80")] {
            let request = start.unmeasured().with("Transfer-Encoding: chunked").body(chunks);
            pair.agree_on(sent, |_| request.bytes()).await;
        }
    }
}

#[tokio::test]
async fn chunk_that_is_none_is_400_with_the_body_of_errors() {
    let pair = Pair::shared().await;

    for (n, chunks) in
        ["x\r\n[]\r\n0\r\n\r\n", "-2\r\n[]", "2\n[]\n0\n\n", "2\r\n[]0\r\n\r\n", "fffffffffffffffff\r\n[]"]
            .into_iter()
            .enumerate()
    {
        for (path, tenant) in [("/notification/realtime", "a"), ("/inventory/managedObjects", "b")] {
            let request = Sample::to(path, chunks).unmeasured().with("Transfer-Encoding: chunked");
            // The password was not verified for this host yet, so this request takes longer.
            let new = request.clone().instead(&format!("Host: {tenant}{n}.example.org"));
            for (request, status) in
                [(request.clone(), 400), (new, 400), (request.without("Authorization"), 401)]
            {
                let answers = pair.agree(request).await;
                assert_eq!((answers.len(), answers[0].status()), (1, status), "{chunks:?}: {answers:?}");
                assert!(answers[0].body.contains(r#""message":"#), "{chunks:?}: {answers:?}");
            }
        }
    }
}

#[tokio::test]
async fn address_that_is_too_long_is_414_with_the_body_of_errors() {
    let pair = Pair::shared().await;

    for length in [65_535, 70_000, 120_000, 300_000] {
        for start in ["POST /notification/realtime", "GET /inventory/managedObjects"] {
            let line = format!("{start}?a={} HTTP/1.1", "a".repeat(length));
            let answers = pair.agree(Sample::idle().line(&line)).await;
            assert_eq!((answers.len(), answers[0].status()), (1, 414), "{length}: {answers:?}");
            assert!(answers[0].body.contains("general/URI Too Long"), "{length}: {answers:?}");
        }
    }
    let line = format!("POST /notification/realtime?a={} HTTP/1.1", "a".repeat(65_000));
    assert_eq!(pair.agree(Sample::idle().line(&line)).await[0].status(), 200);
}

#[tokio::test]
async fn what_is_behind_a_body_is_the_next_request() {
    let pair = Pair::shared().await;
    let whole = String::from_utf8(Sample::idle().bytes()).unwrap();

    for (behind, count) in [
        (SMUGGLED.to_owned(), 2),
        (format!("\r\n{SMUGGLED}"), 2),
        (format!("\r\n\r\n\r\n{SMUGGLED}"), 2),
        (format!("\n{SMUGGLED}"), 2),
        (format!(" {SMUGGLED}"), 2),
        (whole.clone(), 2),
        (format!("\r\n{whole}{whole}"), 3),
        (format!("{whole} {whole}"), 3),
    ] {
        let request = Sample::of(format!("[]{behind}")).unmeasured().with("Content-Length: 2");
        pair.agree_on(Sent::Whole(count), |_| request.bytes()).await;
    }
    // The bytes after the announced length are read as a request and are not a valid one.
    for behind in ["x", " []", "\r\n\r\nx\r\n\r\n", "\0\0\0\0"] {
        pair.agree_on(Sent::PartBehindAnother, |_| behind.into()).await;
    }
}

#[tokio::test]
async fn request_within_a_body_is_a_body() {
    let pair = Pair::shared().await;

    for body in [SMUGGLED.to_owned(), format!("[]{SMUGGLED}"), format!("[]\r\n\r\n{SMUGGLED}{SMUGGLED}")] {
        let json = pair.agree(Sample::of(&*body)).await;
        let rows = pair.agree(Sample::rows("/cep/realtime", &*body)).await;
        assert_eq!((json.len(), rows.len()), (3, 3), "{body:?}: {json:?} {rows:?}");
    }
}

#[tokio::test]
async fn incomplete_body_is_rejected() {
    let pair = Pair::shared().await;
    let before =
        pair.lane.message("/meta/subscribe", serde_json::json!({"subscription": "/alarms/*"})).to_string();

    for (length, body) in [(3, "[]"), (100, "[]"), (1, ""), (1_000_000, "[]"), (1000, &*before)] {
        for request in [Sample::of(body), Sample::rows("/cep/realtime", body)] {
            let request = request.unmeasured().with(&format!("Content-Length: {length}"));
            let answers = pair.agree_on(Sent::Part, |_| request.bytes()).await;
            assert!(answers.iter().all(|answer| answer.status() >= 400), "{length} {body:?}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn request_without_any_length_has_no_body() {
    let pair = Pair::shared().await;

    for request in [Sample::idle(), Sample::rows("/cep/realtime", "80")] {
        let nothing = request.clone().unmeasured().body("");
        pair.agree(nothing.clone()).await;
        pair.agree_on(Sent::Whole(2), |_| [nothing.bytes(), SMUGGLED.into()].concat()).await;
        pair.agree_on(Sent::Part, |_| request.clone().unmeasured().bytes()).await;
    }
}
