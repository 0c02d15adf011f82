//! Requests that are refused before their body has arrived: the client gets the response although it is still sending
//! (C-07b).

use std::time::{Duration, Instant};

use platform_front::config::Settings;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::pair::{Pair, Side};
use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use crate::harness::within;

const INVENTORY: &str = "/inventory/managedObjects";
const FILES: &str = "/inventory/binaries";
/// The header of a caller that does not exist.
pub(super) const GUESS: &str = "Authorization: Basic eDp5";
/// The bytes of a body that fill all buffers of a connection.
const LARGE: usize = 8 << 20;
/// The time within which a client that does not end its request is disconnected. It depends on no machine, because the
/// tests set a pause of a second.
const BOUND: Duration = Duration::from_secs(60);

/// Returns requests that are refused by their head, with their statuses.
pub(super) async fn refused(side: &Side) -> Vec<(Sample, u16)> {
    let admin = side.admin();
    let device = admin.create_device("pump").await;
    let event = admin.create_event(&device, "log").await;
    let event = event["id"].as_str().unwrap();
    let to_event = format!("/event/events/{event}/binaries");
    let to = |path: &str| Sample::to(path, "").instead("Content-Type: application/octet-stream");
    let name = format!("reader-{}", side.address.port());
    let reader = side.server.user_with(&name, &["ROLE_INVENTORY_READ"]).await;
    let reader = format!("Authorization: {}", reader.authorization().unwrap());
    assert_eq!(admin.request("POST", &to_event).body("a file").send().await.status, 201);
    vec![
        (to(FILES).without("Authorization"), 401),
        (to("/alarm/alarms").instead(GUESS), 401),
        (to(&to_event).instead(&reader), 403),
        (to("/nowhere"), 404),
        (to("/service/nothing/upload"), 404),
        (to("/event/events/7777777/binaries"), 404),
        (to("/devicecontrol/operations/1/diagnosis"), 405),
        (to(&to_event), 409),
        (to(INVENTORY).instead("Content-Encoding: gzip"), 415),
        (to(FILES).instead("Content-Type: text/plain"), 415),
        (to(INVENTORY).instead("Content-Type: application/json"), 413),
    ]
}

fn announcing(request: &Sample, length: usize) -> String {
    request.clone().unmeasured().with(&format!("Content-Length: {length}")).head()
}

/// Sends bytes and fails if the server has closed the connection.
pub(super) async fn send_all(
    conversation: Conversation,
    pieces: impl Iterator<Item = &[u8]>,
    pause: Duration,
) -> RawResponse {
    let mut stream = conversation.into_stream();
    for piece in pieces {
        let sent = within(BOUND, "room for a piece", stream.write_all(piece)).await;
        sent.expect("the server reads on");
        sleep(pause).await;
    }
    let answer = Conversation::over(crate::harness::RawConnection::accepted(stream)).answer().await;
    answer.expect("a response before the end")
}

pub(super) async fn pair() -> Pair {
    let change = |settings: &mut Settings| {
        settings.limits.body_pause = Duration::from_secs(1);
        settings.limits.body_bytes = 65_536;
    };
    Pair::start_with(change).await
}

#[tokio::test]
async fn refusal_reaches_a_client_that_sends_everything_before_it_reads() {
    let (pair, body) = (pair().await, vec![b'x'; LARGE]);

    for side in pair.sides() {
        for (request, status) in refused(side).await {
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(announcing(&request, LARGE)).await;
            let answer = send_all(conversation, body.chunks(1 << 20), Duration::ZERO).await;
            assert_eq!(answer.status(), status, "{request:?}: {answer:?}");
            assert!(!answer.keeps_alive(), "{request:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn refusal_reaches_a_client_on_a_slow_line() {
    let (pair, body) = (pair().await, vec![b'x'; 100_000]);

    for side in pair.sides() {
        for (request, status) in refused(side).await.into_iter().filter(|(_, status)| *status != 413) {
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(announcing(&request, body.len())).await;
            let answer = send_all(conversation, body.chunks(5000), Duration::from_millis(5)).await;
            assert_eq!(answer.status(), status, "{request:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn refusal_reaches_a_client_that_goes_on_after_a_pause() {
    let (pair, body) = (pair().await, vec![b'x'; 50_000]);

    for side in pair.sides() {
        for request in [Sample::to(INVENTORY, "").instead("Content-Type: application/json"), Sample::of("")] {
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(announcing(&request, body.len())).await;
            let stream = conversation.into_stream();
            within(BOUND, "the refusal", stream.peek(&mut [0])).await.unwrap();
            let conversation = Conversation::over(crate::harness::RawConnection::accepted(stream));
            let answer = send_all(conversation, body.chunks(5000), Duration::from_millis(5)).await;
            assert_eq!(answer.status(), 408, "{request:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn client_that_waits_for_the_end_gets_it_with_the_response() {
    let pair = pair().await;

    for side in pair.sides() {
        for (request, status) in refused(side).await {
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(announcing(&request, LARGE)).await;
            let answers = conversation.rest().await;
            assert_eq!((answers.len(), answers[0].status()), (1, status), "{request:?}: {answers:?}");
        }
    }
}

/// Sends bytes one by one until the server has closed the connection. A byte that arrives after that causes a
/// reset.
async fn drip(conversation: Conversation, byte: &[u8]) {
    let mut stream = conversation.into_stream();
    while stream.write_all(byte).await.is_ok() {
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn client_that_drips_behind_a_refusal_is_disconnected() {
    let pair = pair().await;

    for side in pair.sides() {
        let length = announcing(&Sample::to("/nowhere", ""), 1 << 40);
        let chunked = Sample::to("/nowhere", "").unmeasured().with("Transfer-Encoding: chunked").head();
        for (head, byte) in [(length, "x"), (chunked + "ffffffff\r\n", "x"), ("nonsense\r\n\r\n".into(), "x")]
        {
            let mut conversation = Conversation::open(side.address).await;
            let answer = conversation.ask(head.clone()).await;
            assert!([400, 404].contains(&answer.status()), "{answer:?}");
            within(BOUND, "the end of a dripping client", drip(conversation, byte.as_bytes())).await;
        }
    }
}

#[tokio::test]
async fn stop_does_not_wait_for_clients_that_send_behind_a_refusal() {
    let long = |settings: &mut Settings| settings.limits.body_pause = Duration::from_secs(3600);
    let Pair { lane, alone } = Pair::start_with(long).await;

    for side in [lane, alone] {
        let mut conversation = Conversation::open(side.address).await;
        let refused = conversation.ask(announcing(&Sample::to("/nowhere", ""), LARGE)).await;
        assert_eq!(refused.status(), 404);

        let begun = Instant::now();
        side.server.stop().await;

        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        drop(conversation);
    }
}

#[tokio::test]
async fn client_is_asked_for_its_body_only_if_the_body_will_be_read() {
    let pair = pair().await;

    for side in pair.sides() {
        for (request, status) in refused(side).await {
            let mut conversation = Conversation::open(side.address).await;
            let head = announcing(&request.with("Expect: 100-continue"), LARGE);
            conversation.send(head.clone()).await;
            let answers = conversation.rest().await;
            assert_eq!(answers.iter().map(RawResponse::status).collect::<Vec<_>>(), [status], "{head}");
        }
        let body = json!({"name": "a pump"}).to_string();
        for request in [Sample::to(INVENTORY, body.clone()), Sample::of("[]")] {
            let mut conversation = Conversation::open(side.address).await;
            for _ in 0..2 {
                let expected = request.clone().with("Expect: 100-continue");
                let (head, body) = (expected.head(), &expected.bytes()[expected.head().len()..]);
                assert_eq!(conversation.ask(head).await.status(), 100);
                let answer = conversation.ask(body).await;
                assert!([200, 201].contains(&answer.status()) && answer.keeps_alive(), "{answer:?}");
            }
        }
    }
}
