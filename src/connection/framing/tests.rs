//! Compares the boundaries of requests with those that actix-http finds.

use actix_http::h1::{Codec, Message, MessageType};
use actix_http::{ConnectionType, ServiceConfig};
use actix_web::rt::System;
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tokio_util::codec::Decoder;

use super::*;
use crate::fuzzing::Search;

const SEARCH: Search = Search { variable: "FRAMING_FUZZ_SECONDS", properties: 1 };

/// The pieces of requests, valid and broken.
const PIECES: [&[u8]; 46] = [
    b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive, upgrade\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nConnection: close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: \x80close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\n\r\n",
    b"CONNECT x:80 HTTP/1.1\r\nHost: h\r\n\r\n",
    b"CONNECT x:80 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n[]",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n[]",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]",
    b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n[]",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\t02 \r\n\r\n[]",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +2\r\n\r\n[]",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[]",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\nConnection: close\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nUpgrade: websocket\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
    b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"2\r\n[]\r\n0\r\n\r\n",
    b"0\r\n\r\n",
    b"2;a=b\r\n[]\r\n",
    b"0A \t\r\n0123456789\r\n",
    b"0\r\nX: y\r\nZ: y\r\n\r\n",
    b"0;\x01\r\n\r\n",
    b"x\r\n[]\r\n",
    b"2\n[]\n",
    b"2\r\n[]0\r\n\r\n",
    b"fffffffffffffffff\r\n",
    b"-1\r\n",
    b"[]",
    b"\r\n",
    b"\0",
    b"GET / HTTP/1.1\r\nHost: h\r\n",
    b"GET / HTTP/2.0\r\n\r\n",
    b"GET  /",
    b"POST / HTTP/1.1\nHost: h\nContent-Length: 2\n\n[]",
    b"Connection: close\r\n\r\n",
];

/// Generates several pieces in sequence, possibly with one byte changed, and the positions at which they are cut.
fn inputs() -> impl Strategy<Value = (Vec<u8>, Vec<Index>)> {
    let bytes = vec(select(&PIECES[..]), 1..6).prop_map(|pieces| pieces.concat());
    (bytes, vec((any::<Index>(), any::<u8>()), 0..2), vec(any::<Index>(), 0..4)).prop_map(
        |(mut bytes, changes, cuts)| {
            changes.into_iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = byte);
            (bytes, cuts)
        },
    )
}

/// Returns the bytes that pass when the input arrives in these pieces.
fn passed(bytes: &[u8], cuts: &[usize]) -> (Vec<u8>, Requests) {
    let mut cuts = [cuts, &[0, bytes.len()]].concat();
    cuts.sort_unstable();
    let (mut passed, mut requests) = (Vec::new(), Requests::new());
    for cut in cuts.windows(2) {
        let piece = &bytes[cut[0]..cut[1]];
        match requests.follow(piece) {
            Passing::First(count) => passed.extend_from_slice(&piece[..count]),
            Passing::Instead(other) => passed.extend(other),
        }
    }
    (passed, requests)
}

/// The state in which actix-http finishes a sequence of bytes.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    /// It waits for more bytes, in a head or elsewhere.
    InHead,
    Waits,
    /// It has read the last request, with this number of bytes unread.
    Last(usize),
    /// It passes all following bytes unchanged.
    Stream,
    Refused,
    /// A chunk is invalid.
    Broken,
}

fn read(bytes: &[u8], config: &ServiceConfig) -> Read {
    let (mut codec, mut rest) = (Codec::new(config.clone()), BytesMut::from(bytes));
    let (mut is_last, mut in_body) = (false, false);
    loop {
        match codec.decode(&mut rest) {
            Ok(None) if in_body || rest.is_empty() => return Read::Waits,
            Ok(None) => return Read::InHead,
            Err(_) if in_body => return Read::Broken,
            Err(_) => return Read::Refused,
            Ok(Some(Message::Chunk(Some(_)))) => {}
            Ok(Some(Message::Chunk(None))) => in_body = false,
            Ok(Some(Message::Item(request))) => {
                let head = request.head();
                let keeps = head.connection_type() == ConnectionType::KeepAlive;
                is_last = match head.version {
                    actix_http::Version::HTTP_10 => !keeps,
                    _ => head.connection_type() == ConnectionType::Close,
                };
                match codec.message_type() {
                    MessageType::Stream => return Read::Stream,
                    MessageType::Payload => in_body = true,
                    MessageType::None => {}
                }
            }
        }
        if is_last && !in_body {
            return Read::Last(rest.len());
        }
    }
}

#[test]
fn what_passes_is_what_actix_reads_up_to_the_last_request() {
    System::new().block_on(async {
        let config = ServiceConfig::default();
        SEARCH.check(&inputs(), |(bytes, cuts)| {
            let cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            let (passed, requests) = passed(&bytes, &cuts);
            let shown = bytes.escape_ascii().to_string();
            prop_assert!(bytes.starts_with(&passed), "{shown}");
            let read = read(&bytes, &config);
            match read {
                // actix-http does not read beyond a request that it rejected.
                Read::Refused => return Ok(()),
                Read::Broken => prop_assert!(requests.are_broken(), "{}", shown),
                _ => prop_assert!(!requests.are_broken(), "{}: {:?}", shown, read),
            }
            match read {
                Read::Last(behind) => prop_assert_eq!(passed.len(), bytes.len() - behind, "{}", shown),
                Read::InHead => prop_assert_eq!([&passed[..], &requests.incomplete_head].concat(), bytes),
                Read::Waits | Read::Stream => prop_assert_eq!(passed, bytes),
                Read::Refused | Read::Broken => {}
            }
            Ok(())
        });
    });
}

#[test]
fn chunk_that_is_none_ends_a_body_where_it_stands() {
    let head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (good, bad) in [("2\r\n[]\r\n", "x"), ("", "-1\r\n"), ("1\r\n[", "]"), ("fffffffffffffffff", "f")] {
        let (passed, requests) = passed(&[&head[..], good.as_bytes(), bad.as_bytes()].concat(), &[]);
        // The size of the last chunk overflows at its last digit or before.
        assert!(requests.are_broken() && passed.len() <= head.len() + good.len(), "{good}{bad}");
        assert!(passed.starts_with(head), "{good}{bad}");
    }
}

#[test]
fn request_with_a_target_that_is_too_long_is_replaced_as_soon_as_that_is_known() {
    let before = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    for length in [TARGET_BYTES + 1, 100_000, 300_000] {
        for behind in ["", " HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"] {
            let bytes = [&before[..], b"GET /", "a".repeat(length).as_bytes(), behind.as_bytes()].concat();
            let (passed, _) = passed(&bytes, &[7, length / 2]);
            let passed = String::from_utf8(passed).expect("text");
            assert!(passed.contains(&format!("GET {OVERLONG} HTTP/1.1\r\n")), "{length}: {passed:.200}");
            assert_eq!(passed.matches("HTTP/1.1").count(), 2, "{length}: {passed:.200}");
        }
    }
    let most = [b"GET /", "a".repeat(TARGET_BYTES - 1).as_bytes(), b" HTTP/1.1\r\nHost: h\r\n\r\n"].concat();
    assert_eq!(Requests::new().follow(&most), Passing::First(most.len()));
}
