//! Offers of an upgrade that a route does not take are ignored (C-21, RFC 9110 7.8).

use super::pair::{Pair, Sent};
use super::responses::RawResponse;
use super::sample::Sample;
use super::*;

/// The offers of clients: Java's and curl's HTTP/2, WebSockets with and without their option of `Connection`.
const OFFERS: [&[&str]; 5] = [
    &["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"],
    &["Upgrade: h2c"],
    &["Upgrade: websocket"],
    &["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="],
    &["Connection: keep-alive, Upgrade", "Upgrade: TLS/1.3, websocket"],
];

#[tokio::test]
async fn request_with_an_offer_is_served_as_without_it_and_keeps_its_connection() {
    let pair = Pair::shared().await;
    let alarm = json!({"type": "hot", "severity": "MAJOR", "status": "ACTIVE", "text": "hot",
        "time": "2020-01-01T00:00:00Z", "source": {"id": "1"}});
    let requests = [
        Sample::to("/inventory/managedObjects", r#"{"name": "pump"}"#),
        Sample::to("/alarm/alarms", alarm.to_string()),
        Sample::of("[]"),
        Sample::rows("/s", ""),
        Sample::to(REALTIME, "").line("GET /inventory/managedObjects HTTP/1.1").unmeasured(),
        Sample::to(REALTIME, "").line("GET /health/live HTTP/1.1").unmeasured(),
        Sample::to("/nowhere", "{}"),
        Sample::to("/service/nothing/x", "{}"),
        Sample::to(REALTIME, "").line(&format!("GET {REALTIME}/connect HTTP/1.1")).unmeasured(),
    ];

    for (side, request) in pair.sides().into_iter().flat_map(|side| requests.iter().map(move |r| (side, r))) {
        let plain = statuses(&side.verdict(Sent::Whole(1), &request.bytes()).await);
        for offer in OFFERS {
            let offering = offer.iter().fold(request.clone(), |request, field| request.with(field));
            let answers = side.verdict(Sent::Whole(1), &offering.bytes()).await;
            assert_eq!(statuses(&answers), plain, "{offering:?}: {answers:?}");
            assert!(answers.iter().all(|answer| answer.field("upgrade").is_none()), "{answers:?}");
            assert!(
                answers.iter().all(|answer| answer.field("connection") != Some("upgrade")),
                "{answers:?}"
            );
        }
    }
}

/// Returns the first status, and whether the connection was kept, if the response does not leave its body unread.
fn statuses(answers: &[RawResponse]) -> (u16, Option<usize>) {
    let first = &answers[0];
    (first.status(), (first.status() < 400).then_some(answers.len()))
}

#[tokio::test]
async fn sockets_are_still_opened_by_every_spelling_of_their_path() {
    let pair = Pair::shared().await;

    for side in pair.sides() {
        let admin = side.admin();
        for path in [REALTIME, "/cep/realtime", "//notification//realtime/", "/notification/realtime?a=b"] {
            let socket = Socket::open(&admin, path).await;
            drop(socket);
        }
    }
}
