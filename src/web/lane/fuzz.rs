//! Compares the head parser with actix-http: actix-http would have parsed every request that the lane accepts in the
//! same way, and it waits for more bytes whenever the lane does.
//!
//! Each property is tested with a few hundred cases, so that the suite stays fast. To search for ten minutes:
//! `LANE_FUZZ_SECONDS=600 cargo test -p platform-web --lib lane::fuzz -- --test-threads 1 --nocapture`.

use std::cell::Cell;

use actix_http::h1::{Codec, Message};
use actix_http::{ConnectionType, HttpMessage, ServiceConfig};
use actix_web::rt::System;
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseResult;
use tokio_util::codec::Decoder;

use super::consumer::is_poll;
use super::request::{Look, Outline, Verb, look};
use crate::fuzzing::Search;

const SEARCH: Search = Search { variable: "LANE_FUZZ_SECONDS", properties: 3 };

/// The index of the polls of consumers, which are the only requests without POST.
const POLL: usize = 2;

/// The longest body in these tests, in bytes.
const MOST: usize = 64;

fn looked(bytes: &[u8]) -> Look {
    let find = |verb, target: &str| match verb {
        Verb::Post => ["/a", "/notification/realtime"].iter().position(|known| *known == target),
        Verb::Get => is_poll(target).then_some(POLL),
    };
    look(bytes, find, MOST)
}

/// Lines of heads, valid and broken, chosen so that relevant combinations are frequent.
const LINES: [&[u8]; 48] = [
    b"Host: a\r\n",
    b"host: a.example.com:80\r\n",
    b"Host:a\r\n",
    b"Host : a\r\n",
    b"Host: \r\n",
    b"Content-Length: 5\r\n",
    b"content-length:5\r\n",
    b"Content-Length: 5 \r\n",
    b"Content-Length: 05\r\n",
    b"Content-Length: +5\r\n",
    b"Content-Length: -5\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 5, 5\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: 0x5\r\n",
    b"Content-Length: 65\r\n",
    b"Content_Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"transfer-encoding : chunked\r\n",
    b"Connection: close\r\n",
    b"Connection: Keep-Alive\r\n",
    b"Connection: close, te\r\n",
    b"Connection: upgrade\r\n",
    b"Upgrade: websocket\r\n",
    b"Expect: 100-continue\r\n",
    b"X-HTTP-METHOD: PUT\r\n",
    b"Accept: */*\r\n",
    b"Accept: a\tb\r\n",
    b"Authorization: Basic YTpi\r\n",
    b"X: \x80\r\n",
    b"X: a\x00b\r\n",
    b"X: a\nHost: b\r\n",
    b"X: a\r b\r\n",
    b"X: a\n",
    b" folded\r\n",
    b"\tfolded\r\n",
    b": nameless\r\n",
    b"no colon\r\n",
    b"X-Id: a:b\r\n",
    b"x-id: a\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"A: b\r\nB: c\r\nC: d\r\nD: e\r\nE: f\r\nF: g\r\nG: h\r\nH: i\r\n",
    b"I: b\r\nJ: c\r\nK: d\r\nL: e\r\nM: f\r\nN: g\r\nO: h\r\nP: i\r\n",
    b"Q: b\r\nR: c\r\nS: d\r\nT: e\r\nU: f\r\nV: g\r\nW: h\r\nY: i\r\n",
    b"Te: trailers\r\n",
];

/// Lines that the lane accepts when each occurs once.
const PLAIN: [&[u8]; 8] = [
    b"Accept: application/json\r\n",
    b"Authorization: Basic YTpi\r\n",
    b"content-type: text/plain; charset=utf-8\r\n",
    b"Connection: keep-alive\r\n",
    b"Connection: close\r\n",
    b"X-Id: a\r\n",
    b"User-Agent:  agent/1.0 (of many)\r\n",
    b"X-Forwarded-For: 192.0.2.1, 10.0.0.1\r\n",
];

const FIRST_LINES: [&[u8]; 19] = [
    b"POST /a HTTP/1.1\r\n",
    b"POST /notification/realtime HTTP/1.1\r\n",
    b"GET /notification/consumers/a/notifications?wait=30&acknowledge=7 HTTP/1.1\r\n",
    b"GET /notification/consumers/a.b-c/notifications HTTP/1.1\r\n",
    b"GET /notification/consumers/a/events HTTP/1.1\r\n",
    b"GET /notification/consumers/a%20/notifications HTTP/1.1\r\n",
    b"GET /notification/consumers/a/notifications?wait=%33 HTTP/1.1\r\n",
    b"GET /notification/consumers/a/notifications HTTP/1.0\r\n",
    b"POST /notification/realtime/ HTTP/1.1\r\n",
    b"POST /a?b HTTP/1.1\r\n",
    b"POST /a HTTP/1.0\r\n",
    b"POST /a HTTP/1.1\n",
    b"POST  /a HTTP/1.1\r\n",
    b"POST /a  HTTP/1.1\r\n",
    b"POST /a HTTP/1.1 \r\n",
    b"post /a HTTP/1.1\r\n",
    b"GET /a HTTP/1.1\r\n",
    b"\r\nPOST /a HTTP/1.1\r\n",
    b"POST http://a/a HTTP/1.1\r\n",
];

/// Generates requests that are plain except for a few lines.
fn requests() -> impl Strategy<Value = Vec<u8>> {
    let line = || prop_oneof![6 => select(&PLAIN[..]), 1 => select(&LINES[..])];
    let lines = vec(line(), 0..5);
    let required = prop_oneof![4 => Just(&b"Host: h\r\nContent-Length: 5\r\n"[..]), 1 => Just(&b""[..])];
    let body = prop_oneof![3 => Just(b"12345".to_vec()), 1 => vec(any::<u8>(), 0..MOST)];
    let first = prop_oneof![2 => select(&FIRST_LINES[..2]), 1 => select(&FIRST_LINES[..])];
    (first, required, lines, body).prop_map(|(first, required, lines, body)| {
        let head = [first, required].into_iter().chain(lines).chain([&b"\r\n"[..]]);
        head.flatten().copied().chain(body).collect()
    })
}

/// Generates the same requests, most of them with bytes changed, removed or inserted.
fn mutilated() -> impl Strategy<Value = Vec<u8>> {
    (requests(), vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 0..3)).prop_map(
        |(mut bytes, changes)| {
            for (at, byte, how) in changes {
                let at = at.index(bytes.len());
                match how {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    _ if bytes.len() > 1 => drop(bytes.remove(at)),
                    _ => {}
                }
            }
            bytes
        },
    )
}

/// Searches for bytes that violate a property. The codec of actix-http needs a runtime.
fn check(cases: &impl Strategy<Value = Vec<u8>>, property: impl Fn(&[u8], &ServiceConfig) -> TestCaseResult) {
    System::new().block_on(async {
        let (config, taken) = (ServiceConfig::default(), Cell::new(0));
        SEARCH.check(cases, |bytes| {
            taken.set(taken.get() + u32::from(matches!(looked(&bytes), Look::Head(_))));
            property(&bytes, &config)
                .map_err(|error| TestCaseError::fail(format!("{error}: {}", bytes.escape_ascii())))
        });
        assert!(taken.get() > 10, "{} requests of the lane among the cases", taken.get());
    });
}

/// Asserts that actix-http parses the same request from these bytes and leaves the same rest.
fn agrees(outline: &Outline, bytes: &[u8], config: &ServiceConfig) -> TestCaseResult {
    let (mut codec, mut rest) = (Codec::new(config.clone()), BytesMut::from(bytes));
    let decoded = codec.decode(&mut rest);
    let Ok(Some(Message::Item(request))) = decoded else {
        return Err(TestCaseError::fail(format!("actix-http reads no request: {decoded:?}")));
    };
    prop_assert_eq!(request.method().as_str(), if outline.path == POLL { "GET" } else { "POST" });
    prop_assert_eq!(request.version(), actix_http::Version::HTTP_11);
    prop_assert_eq!(request.head().connection_type() == ConnectionType::Close, outline.closes);
    prop_assert!(!request.head().expect() && !request.upgrade() && !request.chunked()?);
    let headers: Vec<_> = request.headers().iter().collect();
    prop_assert_eq!(headers.len(), outline.names(bytes).count());
    for (name, value) in headers {
        prop_assert_eq!(outline.value(name, bytes), Some(value.as_bytes()));
    }
    prop_assert_eq!(&rest[..], &bytes[outline.body..]);
    let length = outline.end - outline.body;
    if length > 0 && rest.len() >= length {
        let chunk = codec.decode(&mut rest);
        let Ok(Some(Message::Chunk(Some(chunk)))) = chunk else {
            return Err(TestCaseError::fail(format!("actix-http reads no body: {chunk:?}")));
        };
        prop_assert_eq!(&chunk[..], &bytes[outline.body..outline.end]);
        prop_assert_eq!(&rest[..], &bytes[outline.end..]);
    }
    Ok(())
}

fn is_read_alike(bytes: &[u8], config: &ServiceConfig) -> TestCaseResult {
    match looked(bytes) {
        Look::Head(outline) => agrees(&outline, bytes, config),
        Look::Incomplete => {
            let waits = matches!(Codec::new(config.clone()).decode(&mut BytesMut::from(bytes)), Ok(None));
            prop_assert!(waits, "actix-http does not wait");
            Ok(())
        }
        Look::Foreign => Ok(()),
    }
}

#[test]
fn request_of_the_lane_is_read_alike_by_actix() {
    check(&requests(), is_read_alike);
}

#[test]
fn mutilated_request_of_the_lane_is_read_alike_by_actix() {
    check(&mutilated(), is_read_alike);
}

#[test]
fn part_of_a_request_is_waited_for_and_nothing_else_becomes_of_it() {
    check(&mutilated(), |bytes, config| {
        let whole = looked(bytes);
        for length in 0..bytes.len() {
            let part = looked(&bytes[..length]);
            is_read_alike(&bytes[..length], config)?;
            match (&whole, part) {
                (Look::Head(whole), Look::Head(part)) => prop_assert_eq!(part.end, whole.end),
                (Look::Head(whole), Look::Incomplete) => prop_assert!(length < whole.body),
                (Look::Head(_), Look::Foreign) => prop_assert!(false, "given away at {}", length),
                (_, Look::Head(_)) => prop_assert!(false, "taken at {}", length),
                (_, Look::Incomplete | Look::Foreign) => {}
            }
        }
        Ok(())
    });
}
