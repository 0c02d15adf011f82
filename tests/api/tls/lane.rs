//! The fast lane over TLS: the same responses as without TLS, whatever a record contains.

use platform_front::config::Settings;

use super::client::tunnel;
use super::*;
use crate::harness::certificates::Certificates;
use crate::lane::pair::{Pair, Sent, Side};
use crate::lane::responses::Conversation;
use crate::lane::sample::Sample;

/// Two servers behind TLS; clients talk to them through tunnels.
async fn pair(certificates: &Certificates, change: impl Fn(&mut Settings)) -> Pair {
    let start = async |fast_lane| {
        let server = server_with(certificates, |settings| {
            change(settings);
            settings.fast_lane = fast_lane;
        });
        let server = server.await;
        let base = tunnel(&server, certificates).await;
        let address = base.strip_prefix("http://").unwrap().parse().unwrap();
        Side::new(server, address).await
    };
    Pair { lane: start(true).await, alone: start(false).await }
}

#[tokio::test]
async fn requests_get_the_same_response() {
    let certificates = Certificates::new();
    let pair = pair(&certificates, |settings| settings.limits.bayeux_bytes = 100_000).await;

    for request in [
        Sample::idle(),
        Sample::idle().closing(),
        Sample::of("{"),
        Sample::of(format!("[{}]", " ".repeat(99_998))),
        Sample::of(" ".repeat(100_001)),
        Sample::rows("/cep/realtime/connect", "81,x,/alarms/*"),
        Sample::idle().without("Authorization"),
        Sample::idle().without("Host"),
        Sample::idle().with("X: a\nY: b"),
        Sample::idle().with("Content-Length: 2"),
        Sample::idle().with(&format!("X: {}", "x".repeat(40_000))),
        Sample::idle().unmeasured().with("Transfer-Encoding: chunked").body("2\r\n[]\r\n0\r\n\r\n"),
        Sample::idle().with("Expect: 100-continue"),
        Sample::of("").unmeasured().line("GET /health/live HTTP/1.1"),
    ] {
        pair.agree(request).await;
    }
    for count in [2, 16, 40] {
        let answers = pair.agree_on(Sent::Whole(count), |_| Sample::of("[{}]").bytes().repeat(count)).await;
        assert_eq!(answers.len(), count + 2);
    }
    for part in
        [&b"P"[..], b"POST /notification/realtime HTTP/1.1\r\n", b"\0\0", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        pair.agree_on(Sent::Part, |_| part.to_vec()).await;
    }
}

#[tokio::test]
async fn request_is_understood_in_whatever_records_it_comes() {
    let certificates = Certificates::new();
    let pair = pair(&certificates, |_| {}).await;
    let request = Sample::of(r#"[{"id":1,"channel":"/meta/connect","clientId":"x"}]"#).bytes();

    for side in pair.sides() {
        let mut conversations = Vec::new();
        for at in (0..request.len()).step_by(3) {
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(&request[..at]).await;
            conversations.push((at, conversation));
        }
        side.has_seen_all().await;
        for (at, mut conversation) in conversations {
            let answer = conversation.ask(&request[at..]).await;
            assert!(answer.body.contains(r#""id":1,"#), "cut at {at}: {answer:?}");
            assert_eq!(conversation.ask(Sample::idle()).await.body, "[]", "cut at {at}");
        }
    }
}

#[tokio::test]
async fn held_polls_and_requests_behind_them_get_responses_in_order() {
    let certificates = Certificates::new();

    for keep_alive in [Duration::from_millis(20), Duration::from_secs(600)] {
        let pair = pair(&certificates, |settings| settings.limits.keep_alive = keep_alive).await;
        for side in pair.sides() {
            let poll = Side::connect(&side.client, json!({"timeout": 100})).bytes();
            let mut conversation = Conversation::open(side.address).await;
            for behind in
                [Sample::idle(), Sample::of("").line("GET /health/live HTTP/1.1"), Sample::idle().closing()]
            {
                conversation.send([poll.clone(), behind.bytes()].concat()).await;
                let (held, answer) =
                    (conversation.answer().await.unwrap(), conversation.answer().await.unwrap());
                assert!(held.body.contains(r#""channel":"/meta/connect""#), "{held:?}");
                assert_eq!(answer.status(), 200);
            }
            assert!(conversation.answer().await.is_none());
        }
    }
}
