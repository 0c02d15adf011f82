//! Data of devices: the lane creates the same objects as actix-web, and its responses are the same.

use super::pair::{Pair, Side};
use super::responses::{Conversation, RawResponse};
use super::sample::Sample;
use super::*;

const TRANSIENT: &str = "X-Platform-Processing-Mode: TRANSIENT";

fn measurement(source: &str) -> Value {
    json!({
        "source": {"id": source}, "type": "climate", "time": "2026-01-01T00:00:00.000Z",
        "climate": {"temperature": {"value": 20.5, "unit": "C"}},
    })
}

fn alarm(source: &str) -> Value {
    json!({
        "source": {"id": source}, "type": "hot", "text": "too hot", "severity": "MAJOR",
        "time": "2026-01-01T00:00:00.000Z", "status": "ACTIVE",
    })
}

fn event(source: &str) -> Value {
    json!({"source": {"id": source}, "type": "door", "text": "open", "time": "2026-01-01T00:00:00.000Z"})
}

/// Returns a request for each kind of data.
fn each(source: &str) -> [Sample; 3] {
    [
        Sample::to(MEASUREMENTS, measurement(source).to_string()),
        Sample::to(ALARMS, alarm(source).to_string()),
        Sample::to(EVENTS, event(source).to_string()),
    ]
}

#[tokio::test]
async fn data_that_is_not_stored_has_the_same_response_with_and_without_the_lane() {
    let pair = Pair::start().await;
    let device = pair.lane.admin().create_device("pump").await;
    let collection = json!({"measurements": [measurement(&device), measurement(&device)]});
    for (sample, status) in [
        (Sample::to(MEASUREMENTS, measurement(&device).to_string()), 201),
        (Sample::to(MEASUREMENTS, collection.to_string()), 201),
        (Sample::to(MEASUREMENTS, measurement(&device).to_string()).without("Accept"), 201),
        (Sample::to(MEASUREMENTS, collection.to_string()).without("Accept"), 201),
        (Sample::to(EVENTS, event(&device).to_string()).without("Accept").without("Content-Type"), 201),
        (Sample::to(MEASUREMENTS, measurement(&device).to_string()).instead("Accept: text/plain"), 406),
        (Sample::to(MEASUREMENTS, measurement("999999999").to_string()), 422),
        (Sample::to(EVENTS, event("nobody").to_string()), 422),
    ] {
        let answers = pair.agree(sample.with(TRANSIENT)).await;
        assert_eq!(answers[0].status(), status, "{answers:?}");
    }
}

#[tokio::test]
async fn refused_data_has_the_same_response_with_and_without_the_lane() {
    let pair = Pair::start().await;
    let device = pair.lane.admin().create_device("pump").await;
    let vendor = |name: &str| format!("application/vnd.example.platform.{name}+json;ver=0.9");
    for (change, status) in [
        (Box::new(|sample: Sample| sample.instead("Content-Type: text/plain")) as Box<dyn Fn(_) -> _>, 415),
        (Box::new(|sample: Sample| sample.instead("Accept: image/png")), 406),
        (Box::new(|sample: Sample| sample.body("")), 422),
        (Box::new(|sample: Sample| sample.body("{")), 400),
        (Box::new(|sample: Sample| sample.body(vec![0xFF, b'{'])), 400),
        (Box::new(|sample: Sample| sample.body("{\"source\":{}}")), 422),
        (Box::new(|sample: Sample| sample.body("[1]")), 400),
        (Box::new(|sample: Sample| sample.with("X-Platform-Processing-Mode: SOMETIMES")), 422),
        (Box::new(|sample: Sample| sample.without("Authorization")), 401),
        (
            Box::new(|sample: Sample| {
                sample.instead(&format!("Authorization: Basic {}", token("admin", "wrong")))
            }),
            401,
        ),
        (Box::new(|sample: Sample| sample.instead(&format!("Content-Type: {}", vendor("operation")))), 415),
    ] {
        for sample in each(&device) {
            let answers = pair.agree(change(sample)).await;
            assert_eq!(answers[0].status(), status, "{answers:?}");
        }
    }
}

/// Returns whether both have the same status and the same names of headers.
fn are_alike(one: &RawResponse, other: &RawResponse) -> bool {
    let names = |answer: &RawResponse| {
        let mut names: Vec<_> =
            answer.fields.iter().filter_map(|field| Some(field.split_once(':')?.0.to_owned())).collect();
        names.sort_unstable();
        names
    };
    one.line == other.line && names(one) == names(other)
}

#[tokio::test]
async fn stored_data_is_found_afterwards_and_its_response_has_the_same_headers() {
    let pair = Pair::start().await;
    let device = pair.lane.admin().create_device("pump").await;

    for (at, name) in ["measurements", "alarms", "events"].into_iter().enumerate() {
        let mut answers = Vec::new();
        for side in pair.sides() {
            let mut conversation = Conversation::open(side.address).await;
            // Each connection is used again after its first request.
            for round in 0..3 {
                let sample = each(&device)[at].clone();
                let sample = if round == 1 { sample.without("Accept") } else { sample };
                let answer = conversation.ask(sample).await;
                assert_eq!(answer.status(), 201, "{answer:?}");
                assert_eq!(answer.body.is_empty(), round == 1, "{answer:?}");
                assert_eq!(answer.field("x-request-id").map(str::len), Some(16), "{answer:?}");
                answers.push(answer);
            }
        }
        for round in 0..3 {
            assert!(are_alike(&answers[round], &answers[round + 3]), "{answers:?}");
        }
        let location = answers[0].field("location").unwrap();
        let path = location.strip_prefix("http://x").expect("the host of the request");
        let found = pair.alone.admin().get(path).await.expect(200).json();
        assert_eq!(found["source"]["id"], device, "{found}");
        assert!(path.contains(name), "{path}");
    }
}

#[tokio::test]
async fn polls_on_connections_that_also_send_data_are_notified() {
    for side in Pair::start().await.sides() {
        let device = side.admin().create_device("pump").await;
        for channel in ["/measurements/", "/alarms/", "/events/"] {
            let channel = format!("{channel}{device}");
            assert_eq!(side.admin().resume(&side.client).subscribe(&channel).await["successful"], true);
        }
        let mut conversation = Conversation::open(side.address).await;
        for sample in each(&device) {
            assert_eq!(conversation.ask(sample).await.status(), 201);
        }

        let mut told = Vec::new();
        while told.len() < 3 {
            let answer = conversation.ask(Side::connect(&side.client, json!({}))).await;
            let messages: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
            told.extend_from_slice(notifications(&messages));
        }
        for (at, kind) in ["climate", "hot", "door"].into_iter().enumerate() {
            assert_eq!(told[at]["data"]["data"]["type"], kind, "{told:?}");
        }
    }
}

#[tokio::test]
async fn request_keeps_the_id_that_a_proxy_gave_it() {
    for side in Pair::start().await.sides() {
        let device = side.admin().create_device("pump").await;
        for sample in each(&device) {
            let mut conversation = Conversation::open(side.address).await;
            let answer = conversation.ask(sample.with("X-Request-Id: from-the-proxy")).await;
            assert_eq!(answer.field("x-request-id"), Some("from-the-proxy"), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn large_data_is_left_to_actix_and_stored_too() {
    let pair = Pair::start().await;
    let device = pair.lane.admin().create_device("pump").await;

    for bytes in [3 << 10, 5 << 10, 63 << 10, 65 << 10, 200 << 10] {
        let mut event = event(&device);
        event["note"] = json!("x".repeat(bytes));
        for sample in
            [Sample::to(EVENTS, event.to_string()), Sample::to(EVENTS, event.to_string()).without("Accept")]
        {
            for side in pair.sides() {
                let mut conversation = Conversation::open(side.address).await;
                let answer = conversation.ask(sample.clone()).await;
                assert_eq!(answer.status(), 201, "{bytes}: {answer:?}");
                assert_eq!(conversation.ask(sample.clone()).await.status(), 201);
            }
        }
    }
    let alarm = alarm_of(&device, "after it");
    assert_eq!(pair.lane.admin().create(ALARMS, &alarm).await["type"], "after it");
}
