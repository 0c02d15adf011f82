//! Paths: spellings of the Bayeux paths, and similar paths.

use crate::lane::pair::Pair;
use crate::lane::sample::Sample;

const SPELLINGS: [&str; 34] = [
    "/notification/realtime/",
    "/notification/realtime//",
    "//notification/realtime",
    "/notification//realtime/connect",
    "/notification/realtime/connect/",
    "/notification/realtime?x=y",
    "/notification/realtime?",
    "/notification/realtime/?x=y",
    "/cep/realtime/connect?a=b&c=%20",
    "/notification/realtime?%zz",
    "/notification/realtime?\"<>",
    "/notification/realtime#fragment",
    "/notification/realtime?x#fragment",
    "/notification/%72ealtime",
    "/notification/realtime%2Fconnect",
    "/notification%2Frealtime",
    "/notification/realtime%3Fx",
    "/notification/realtime%",
    "/notification/realtime%00",
    "/notification/./realtime",
    "/notification/realtime/.",
    "/notification/x/../realtime",
    "/notification/realtime;a=b",
    "/notification/Realtime",
    "/NOTIFICATION/REALTIME",
    "/notification/realtime/subscribe",
    "/notification/realtimes",
    "/notification/realtim",
    "/notification",
    "/cep/operations",
    "/devicecontrol/realtime",
    "/s",
    "/",
    "/unknown",
];

const FORMS: [&str; 16] = [
    "http://x/notification/realtime",
    "http://x/notification/realtime/?a=b",
    "http://x:80//notification/realtime",
    "HTTP://X/notification/realtime",
    "https://x/notification/realtime",
    "http://other.example.org/notification/realtime",
    "http://user@x/notification/realtime",
    "http:///notification/realtime",
    "http://x",
    "ftp://x/notification/realtime",
    "*",
    "x:80",
    "notification/realtime",
    "\\notification\\realtime",
    "/notification/re\u{e4}ltime",
    "/notification/realtime|",
];

#[tokio::test]
async fn spellings_of_paths_are_routed_alike() {
    let pair = Pair::shared().await;

    for path in SPELLINGS.into_iter().chain(FORMS) {
        pair.agree(Sample::to(path, "[]")).await;
        pair.agree(Sample::rows(path, "80")).await;
        pair.agree(Sample::to(path, "[]").without("Authorization")).await;
    }
}

#[tokio::test]
async fn long_addresses_are_served_or_refused_alike() {
    let pair = Pair::shared().await;

    for bytes in [200, 4000, 5000, 9000, 16_500, 65_000, 66_000, 140_000] {
        pair.agree(Sample::to(&format!("/notification/realtime?{}", "x".repeat(bytes)), "[]")).await;
    }
}

#[tokio::test]
async fn spellings_of_request_lines_are_read_alike() {
    let pair = Pair::shared().await;

    for line in [
        "POST  /notification/realtime HTTP/1.1",
        "POST /notification/realtime  HTTP/1.1",
        "POST\t/notification/realtime HTTP/1.1",
        "POST /notification/realtime HTTP/1.1 ",
        "POST /notification/realtime",
        "POST /notification/realtime ",
        "POST /notification/realtime HTTP/1.2",
        "POST /notification/realtime HTTP/2.0",
        "POST /notification/realtime HTTP/0.9",
        "POST /notification/realtime HTTP/1.10",
        "POST /notification/realtime http/1.1",
        "POST /notification/realtime HTTPS/1.1",
        "POST HTTP/1.1",
        " POST /notification/realtime HTTP/1.1",
        "POST /notification/real time HTTP/1.1",
        "POST /notification/realtime\0 HTTP/1.1",
    ] {
        pair.agree(Sample::idle().line(line)).await;
    }
}

#[tokio::test]
async fn version_1_0_is_served_and_closed_alike() {
    let pair = Pair::shared().await;
    let old = Sample::idle().line("POST /notification/realtime HTTP/1.0");

    for request in [
        old.clone(),
        old.clone().with("Connection: keep-alive"),
        old.clone().with("Connection: close"),
        old.clone().without("Host"),
        old.clone().unmeasured().body(""),
        old.clone().unmeasured().with("Transfer-Encoding: chunked").body("2\r\n[]\r\n0\r\n\r\n"),
        Sample::rows("/cep/realtime", "80").line("POST /cep/realtime HTTP/1.0"),
    ] {
        pair.agree(request).await;
    }
}
