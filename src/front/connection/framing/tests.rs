//! Compares the boundaries of requests with those that actix-http finds.

use actix_http::h1::{Codec, Message, MessageType};
use actix_http::{ConnectionType, ServiceConfig};
use actix_rt::System;
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tokio_util::codec::Decoder;

use super::*;
use crate::fuzzing::Search;

const SEARCH: Search = Search { variable: "FRAMING_FUZZ_SECONDS", properties: 1 };

/// The pieces of requests, valid and broken.
const PIECES: [&[u8]; 52] = [
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
    b"GET /K\xc3\xbcche HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET /a?b={\"c\"}|^`#d HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\nHost: h\r\n\r\n",
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
    let (mut passed, mut requests) = (Vec::new(), Requests::new(takes_upgrades));
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

fn takes_upgrades(target: &str) -> bool {
    target == "/socket"
}

/// Returns whether a request of these bytes may have an offer of an upgrade, which does not pass.
fn may_offer(bytes: &[u8]) -> bool {
    bytes.to_ascii_lowercase().windows(7).any(|word| word == b"upgrade")
}

#[test]
fn what_passes_is_what_actix_reads_up_to_the_last_request() {
    System::new().block_on(async {
        let config = ServiceConfig::default();
        SEARCH.check(&inputs(), |(bytes, cuts)| {
            let cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            let (passed, requests) = passed(&bytes, &cuts);
            let shown = bytes.escape_ascii().to_string();
            prop_assert_ne!(read(&passed, &config), Read::Refused, "{}", shown);
            if may_offer(&bytes) {
                return Ok(());
            }
            let read = read(&bytes, &config);
            prop_assert_eq!(read == Read::Refused, requests.flaw().is_some(), "{}: {:?}", shown, requests);
            prop_assert_eq!(read == Read::Broken, requests.are_broken(), "{}: {:?}", shown, read);
            if read != Read::Refused {
                prop_assert!(bytes.starts_with(&passed), "{shown}");
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
fn offers_of_an_upgrade_pass_only_to_paths_that_take_them() {
    let request = |line: &str, headers: &str| format!("{line} HTTP/1.1\r\nHost: h\r\n{headers}\r\n");
    let socket = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    for (line, headers, rest) in [
        ("GET /socket", socket, socket),
        ("GET /socket", "Upgrade: h2c\r\n", ""),
        ("GET /", socket, ""),
        ("GET /", "Upgrade:websocket\r\nA: b\r\n", "A: b\r\n"),
        (
            "GET /",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\nA: b\r\n",
            "A: b\r\n",
        ),
        ("GET /", "Connection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n", "connection: keep-alive\r\n"),
        ("GET /", "connection: upgrade\r\n", ""),
        ("GET /socket", "Connection: close\r\n", "Connection: close\r\n"),
    ] {
        let (passed, _) = passed(request(line, headers).as_bytes(), &[]);
        assert_eq!(String::from_utf8(passed).unwrap(), request(line, rest), "{headers}");
    }
    let behind = "POST /socket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n[]";
    let (passed, requests) = passed(format!("{behind}{behind}").as_bytes(), &[30, 99]);
    let expected = "POST /socket HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n[]";
    assert_eq!(String::from_utf8(passed).unwrap(), format!("{expected}{expected}"));
    assert!(!requests.are_incomplete(), "{requests:?}");
}

#[test]
fn flaw_of_a_head_is_named() {
    let host = "Host: h\r\n";
    let many = "A: b\r\n".repeat(HEADERS);
    let long = format!("{}: b\r\n", "a".repeat(70_000));
    for (line, headers, flaw) in [
        ("GET /K\u{fc}che HTTP/1.1", host, Flaw::Target),
        ("GET /a b HTTP/1.1", host, Flaw::Target),
        ("GET /?a=\"b\" HTTP/1.1", host, Flaw::Target),
        ("GET /<a> HTTP/1.1", host, Flaw::Target),
        ("GET / HTTP/2.0", host, Flaw::Version),
        ("GET / HTTP/1.2", host, Flaw::Version),
        ("PRI * HTTP/2.0", "", Flaw::Version),
        ("X\0", host, Flaw::RequestLine),
        ("\u{16}\u{3}\u{1}", "", Flaw::RequestLine),
        ("GET / HTTP/1.1", "", Flaw::NoHost),
        ("GET / HTTP/1.1", "Host: h\r\nHost: h\r\n", Flaw::SeveralHosts),
        ("GET / HTTP/1.1", "Host: h\r\nA: b\r\n c\r\n", Flaw::FoldedHeader),
        ("GET / HTTP/1.1", "Host: h\r\nA : b\r\n", Flaw::Header),
        ("GET / HTTP/1.1", "Host: h\r\nA: \0\r\n", Flaw::Header),
        ("GET / HTTP/1.1", &many.replace("A: b\r\nA: b\r\n", "Host: h\r\nA: b\r\nA: b\r\n"), Flaw::LongHead),
        ("GET / HTTP/1.1", &long, Flaw::LongHead),
        ("POST / HTTP/1.1", "Host: h\r\nContent-Length: x\r\n", Flaw::ContentLength),
        ("POST / HTTP/1.1", "Host: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n", Flaw::ContentLength),
        ("POST / HTTP/1.0", host, Flaw::ContentLength),
        ("POST / HTTP/1.1", "Host: h\r\nTransfer-Encoding: gzip\r\n", Flaw::TransferEncoding),
    ] {
        let bytes = format!("{line}\r\n{headers}\r\n");
        let (passed, requests) = passed(bytes.as_bytes(), &[]);
        let shown: String = bytes.chars().take(90).collect();
        assert_eq!(requests.flaw(), Some(flaw), "{shown:?}");
        assert!(passed.starts_with(format!("GET {REPLACED} HTTP/1.1\r\n").as_bytes()), "{shown:?}");
    }
    let endless = format!("GET / HTTP/1.1\r\nHost: h\r\n{}", "A: b\r\n".repeat(20)) + &"a".repeat(HEAD_BYTES);
    assert_eq!(passed(endless.as_bytes(), &[9]).1.flaw(), Some(Flaw::LongHead));
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
            assert!(passed.contains(&format!("GET {REPLACED} HTTP/1.1\r\n")), "{length}: {passed:.200}");
            assert_eq!(passed.matches("HTTP/1.1").count(), 2, "{length}: {passed:.200}");
        }
    }
    let most = [b"GET /", "a".repeat(TARGET_BYTES - 1).as_bytes(), b" HTTP/1.1\r\nHost: h\r\n\r\n"].concat();
    assert_eq!(Requests::new(takes_upgrades).follow(&most), Passing::First(most.len()));
}
