//! Large heads and heads with many lines: the limits are those of the common transport.

use crate::lane::pair::{Pair, Sent};
use crate::lane::sample::Sample;

/// Sizes around those of the buffers of the lane and of actix-http, and around the maximum that actix-http accepts.
const SIZES: [usize; 18] = [
    600, 900, 1100, 1900, 2100, 4000, 4200, 8100, 8300, 16_000, 16_700, 32_000, 65_400, 66_000, 120_000,
    131_000, 132_000, 200_000,
];

#[tokio::test]
async fn large_headers_are_taken_or_refused_alike() {
    let pair = Pair::shared().await;

    for size in SIZES {
        for request in [
            Sample::idle().with(&format!("X: {}", "x".repeat(size))),
            Sample::idle().with(&format!("{}: x", "x".repeat(size))),
            Sample::rows("/cep/realtime", "80").with(&format!("Cookie: {}", "a=b; ".repeat(size / 5))),
        ] {
            pair.agree(request).await;
        }
    }
}

#[tokio::test]
async fn head_is_taken_up_to_the_same_byte() {
    let pair = Pair::shared().await;
    let without = Sample::idle().with("X: ").head().len();

    for limit in [1024, 2048, 4096, 8192, 16_384, 131_072] {
        for size in limit - 2..=limit + 2 {
            let request = Sample::idle().with(&format!("X: {}", "x".repeat(size - without)));
            assert_eq!(request.head().len(), size);
            let answers = pair.agree(request).await;
            assert!(size > 130_000 || answers[0].status() == 200, "{size}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn floods_of_headers_are_taken_or_refused_alike() {
    let pair = Pair::shared().await;
    let few = Sample::idle().head().lines().count() - 2;

    for count in [16, 30, 31, 32, 33, 63, 64, 65, 90, 95, 96, 97, 98, 128, 500, 5000] {
        let flood = (few..count).fold(Sample::idle(), |request, n| request.with(&format!("X-{n}: {n}")));
        let same = (few..count).fold(Sample::rows("/cep/realtime", "80"), |request, _| request.with("X: y"));
        let answers = pair.agree(flood).await;
        assert_eq!(answers[0].status(), if count <= 96 { 200 } else { 431 }, "{count}: {answers:?}");
        pair.agree(same).await;
    }
}

#[tokio::test]
async fn head_without_an_end_is_refused_alike() {
    let pair = Pair::shared().await;
    let start = Sample::idle().head().trim_end().to_owned();

    for size in [0, 1000, 10_000, 100_000] {
        let head = format!("{start}\r\nX: {}", "x".repeat(size));
        pair.agree_on(Sent::Part, |_| head.clone().into_bytes()).await;
    }
    for size in [140_000, 300_000] {
        for rest in ["x".repeat(size), "x\r\nX: ".repeat(size / 6), "\r\n ".repeat(size / 3)] {
            let head = format!("{start}\r\nX: {rest}");
            pair.agree_on(Sent::Whole(1), |_| head.clone().into_bytes()).await;
        }
    }
}

#[tokio::test]
async fn line_without_an_end_is_refused_alike() {
    let pair = Pair::shared().await;

    for start in ["", "POST /", "POST /notification/realtime?", "POST /notification/realtime HTTP/1.1"] {
        for size in [0, 1000, 10_000] {
            let line = format!("{start}{}", "x".repeat(size));
            pair.agree_on(Sent::Part, |_| line.clone().into_bytes()).await;
        }
    }
    for start in ["POST /", "POST /notification/realtime?"] {
        let line = format!("{start}{}", "x".repeat(140_000));
        pair.agree_on(Sent::Whole(1), |_| line.clone().into_bytes()).await;
    }
}
