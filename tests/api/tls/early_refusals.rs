//! Requests that are refused before their body has arrived, over TLS (C-07b).

use tokio::time::sleep;

use super::client::Encrypted;
use super::*;
use crate::harness::certificates::Certificates;

/// A body of 4 MB in one go, and 100 kB on a slow line: the number of pieces, their bytes, and the pause between them.
const WAYS: [(usize, usize, Duration); 2] =
    [(64, 64 << 10, Duration::ZERO), (25, 4000, Duration::from_millis(5))];

#[tokio::test]
async fn refusal_reaches_a_client_that_is_still_sending() {
    let certificates = Certificates::new();
    let caller = Caller::new("https://localhost", Some(("admin", ADMIN_PASSWORD)));
    let authorization = format!("Authorization: {}\r\n", caller.authorization().unwrap());

    for fast_lane in [true, false] {
        let server = server_with(&certificates, |settings| settings.fast_lane = fast_lane).await;
        for (target, authorization, status) in [
            ("/inventory/binaries", "", 401),
            ("/nowhere", &*authorization, 404),
            ("/service/nothing/x", &authorization, 404),
            ("/devicecontrol/operations/1/diagnosis", &authorization, 405),
            ("/inventory/binaries", &authorization, 415),
        ] {
            for (pieces, bytes, pause) in WAYS {
                let mut client = Encrypted::open(&server, &certificates).await;
                let (length, piece) = (pieces * bytes, "x".repeat(bytes));
                let head = format!("POST {target} HTTP/1.1\r\nHost: localhost\r\n{authorization}");
                client
                    .send(&format!("{head}Content-Type: text/plain\r\nContent-Length: {length}\r\n\r\n"))
                    .await;
                for _ in 0..pieces {
                    client.send(&piece).await;
                    sleep(pause).await;
                }
                let answer = client.read_until("errors#error_reporting").await;
                assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
            }
        }
    }
}
