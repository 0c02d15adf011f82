//! Temporary intervals are taken back (B-09a), and every response of an acknowledging session has a number (B-22b).

use platform_model::realtime::bayeux::Advice;
use platform_store::tenancy::tenant_limits::Counted as Held;

use super::*;

const LATER: Duration = Duration::from_secs(3);

/// The advice that takes an interval back.
fn at_once() -> Option<Advice> {
    Some(Advice::retry(Duration::ZERO, Limits::default().connect_timeout))
}

async fn release(bench: &Bench, interval: Duration) -> ConnectResponse {
    let answer = bench.connect();
    bench.session.do_send(Release { interval });
    answer.await.expect("a response")
}

#[actix::test]
async fn interval_of_a_stop_is_taken_back_by_the_next_response_alone() {
    let bench = start(Limits::default());
    let released = release(&bench, LATER).await;
    assert_eq!(released.advice.and_then(|advice| advice.interval), Some(LATER));

    let mut advices = Vec::new();
    for n in 0..3 {
        bench.notify(&n.to_string());
        let answer = bench.connect().await.expect("a response");
        assert_eq!(texts(&answer).len(), 1);
        advices.push((answer.advice, answer.restores_interval));
    }

    assert_eq!(advices, [(at_once(), true), (None, false), (None, false)]);
}

#[actix::test]
async fn session_whose_client_was_advised_nothing_gets_no_advice() {
    let bench = start(Limits::default());
    release(&bench, Duration::ZERO).await;
    bench.notify("1");
    assert_eq!(bench.connect().await.expect("a response").advice, None);
}

#[actix::test]
async fn interval_is_taken_back_again_if_nobody_read_that_it_was() {
    let bench = start(Limits::default());
    release(&bench, LATER).await;
    // A newer connect replaces one whose client may be gone.
    let (replaced, answer) = (bench.connect(), bench.connect());
    assert_eq!(replaced.await.expect("a response").advice, at_once());
    bench.notify("1");
    let answer = answer.await.expect("a response");
    assert_eq!(answer.advice, at_once());
    // The connection broke before it was written.
    bench.session.do_send(Abandoned { unwritten: Some(answer.delivery) });

    assert_eq!(bench.connect().await.expect("a response").advice, at_once());

    bench.notify("2");
    assert_eq!(bench.connect().await.expect("a response").advice, None);
}

#[actix::test]
async fn interval_beyond_the_quota_is_taken_back() {
    let bench = start(Limits { tenant_held_polls: Some(1), ..Limits::default() });
    let of_tenant = &bench.environment.of_tenant;
    // Another session of the tenant holds a poll.
    of_tenant.add(Held::HeldPolls);
    let refused = bench.connect().await.expect("a response");
    assert!(refused.advice.and_then(|advice| advice.interval) > Some(Duration::ZERO), "{refused:?}");
    of_tenant.subtract(Held::HeldPolls);

    let answer = bench.connect();
    bench.notify("1");

    assert_eq!(answer.await.expect("a response").advice, at_once());
}

#[actix::test]
async fn every_response_of_an_acknowledging_session_has_a_number() {
    let bench = start_acknowledging();
    let replaced = bench.connect();
    let stopped = bench.connect();
    bench.session.do_send(Release { interval: LATER });
    bench.notify("1");
    let delivered = bench.connect();
    let left = bench.connect_with(|connect| connect.acknowledged = Some(AcknowledgedTo::Batch(1)));
    settle().await;
    assert!(bench.session.send(Disconnect { user: USER.into() }).await.expect("it lives"));

    let mut numbers = Vec::new();
    for answer in [replaced, stopped, delivered, left] {
        numbers.push(answer.await.expect("a response").delivery.batch);
    }

    assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(1)]);
}

#[actix::test]
async fn unwritten_response_that_repeats_a_number_loses_no_batch() {
    let bench = start_acknowledging();
    bench.notify("1");
    let first = bench.connect().await.expect("a response");
    // A client that acknowledges nothing is held, and its connection breaks while the server stops.
    let stopped = release(&bench, LATER).await;
    assert_eq!((stopped.delivery.batch, texts(&stopped).len()), (first.delivery.batch, 0));
    bench.session.do_send(Abandoned { unwritten: Some(stopped.delivery) });

    let again = bench
        .connect_with(|connect| connect.acknowledged = Some(AcknowledgedTo::Batch(-1)))
        .await
        .expect("a response");

    assert_eq!(texts(&again), ["1"]);
}
