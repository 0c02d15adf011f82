//! Sessions under a paused clock. No database is used, so the tests may advance the time.

use std::time::Duration;

use actix::prelude::*;
use platform_model::id::ManagedObjectId;
use platform_model::realtime::bayeux::{
    Channel, GroupChannel, GroupForm, Pattern, Reconnect, Resource, error,
};
use tokio::sync::oneshot;

use super::*;
use crate::hub::Publish;
use crate::session::dispatcher::SessionDispatcher;
use bench::*;
use sockets::SlowSocket;

mod bench;
mod cost;
mod dispatchers;
mod filters;
mod module_channels;
mod responding;
mod same_thread;
mod sockets;
mod starting;

#[actix::test]
async fn notification_completes_a_parked_connect() {
    let bench = start(Limits::default());
    let answer = bench.connect();

    bench.notify("1");

    assert_eq!(texts(&answer.await.expect("a response")), ["1"]);
}

#[actix::test]
async fn notifications_between_connects_wait_for_the_next() {
    let bench = start(Limits::default());
    bench.notify("1");
    bench.notify("2");
    pass(Duration::from_secs(9)).await;

    let answer = bench.connect().await.expect("a response");

    assert_eq!(texts(&answer), ["1", "2"]);
}

#[actix::test]
async fn session_lives_10_seconds_after_its_last_connect_and_not_much_longer() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    bench.notify("1");
    answer.await.expect("a response");

    pass(Duration::from_secs(10)).await;
    let after_10_seconds = bench.lives();
    pass(Duration::from_secs(1)).await;

    assert!(after_10_seconds && !bench.lives());
}

#[actix::test]
async fn held_connect_keeps_the_session_alive_and_gets_an_empty_response_in_time() {
    let bench = start(Limits::default());
    let mut answer = bench.connect();
    pass(Duration::from_millis(5_399_000)).await;
    assert!(answer.try_recv().is_err() && bench.lives());

    pass(Duration::from_secs(2)).await;

    let answer = answer.await.expect("a response");
    assert!(texts(&answer).is_empty() && answer.error.is_none() && answer.advice.is_none());
}

#[actix::test]
async fn client_may_shorten_the_hold_time_and_lengthen_the_interval() {
    let bench = start(Limits::default());
    let answer = bench.connect_with(|connect| {
        (connect.hold, connect.interval) = (Duration::from_secs(2), Some(Duration::from_secs(60)));
    });

    pass(Duration::from_secs(2)).await;
    answer.await.expect("a response");
    pass(Duration::from_secs(55)).await;

    assert!(bench.lives());
}

#[actix::test]
async fn advice_of_a_connect_reply_is_about_the_next_connect() {
    let bench = start(Limits::default());

    let answer = bench.connect_with(|connect| (connect.hold, connect.advised) = (Duration::ZERO, Some(HOLD)));

    let advice = answer.await.expect("a response").advice.expect("the client requested it");
    assert_eq!((advice.reconnect, advice.timeout), (Reconnect::Retry, Some(HOLD)));
}

#[actix::test]
async fn newer_connect_takes_over_and_the_older_gets_an_empty_response() {
    let bench = start(Limits::default());
    let older = bench.connect();
    let newer = bench.connect();

    bench.notify("1");

    let older = older.await.expect("a response");
    assert!(texts(&older).is_empty() && older.error.is_none() && older.advice.is_none());
    assert_eq!(texts(&newer.await.expect("a response")), ["1"]);
}

impl Bench {
    fn resume(&self, connect: u32, hold: Duration) -> oneshot::Receiver<ConnectResponse> {
        let (reply_to, answer) = oneshot::channel();
        self.session.do_send(ResumeConnect { connect, acknowledged: None, hold, advised: HOLD, reply_to });
        answer
    }
}

#[actix::test]
async fn connect_that_is_resumed_is_held_for_the_rest_of_its_time() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    bench.notify("1");
    let connect = answer.await.expect("a response").connect;

    let mut again = bench.resume(connect, Duration::from_secs(60));
    pass(Duration::from_secs(59)).await;
    assert!(again.try_recv().is_err() && bench.lives(), "held longer than a session lives without");
    pass(Duration::from_secs(2)).await;

    let timed_out = again.await.expect("a response");
    assert!(texts(&timed_out).is_empty() && timed_out.advice.is_some());
    bench.notify("2");
    let resumed = bench.resume(connect, Duration::from_secs(60)).await.expect("a response");
    assert_eq!((texts(&resumed), resumed.connect), (vec!["2"], connect));
}

#[actix::test]
async fn resumed_connect_does_not_replace_a_newer_one() {
    let bench = start(Limits::default());
    let older = bench.connect();
    bench.notify("1");
    let connect = older.await.expect("a response").connect;
    let newer = bench.connect();

    let older = bench.resume(connect, Duration::from_secs(60)).await.expect("a response");
    bench.notify("2");

    assert!(texts(&older).is_empty() && older.error.is_none() && older.advice.is_none());
    assert_eq!(texts(&newer.await.expect("a response")), ["2"]);
}

#[actix::test]
async fn dropped_connect_keeps_its_batch() {
    let bench = start(Limits::default());
    drop(bench.connect());
    bench.notify("1");
    bench.notify("2");

    let answer = bench.connect().await.expect("a response");

    assert_eq!(texts(&answer), ["1", "2"]);
}

#[actix::test]
async fn unwritten_batch_returns_before_newer_ones() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    bench.notify("1");
    let unwritten = answer.await.expect("a response").delivery;
    bench.notify("2");

    bench.session.do_send(Abandoned { unwritten: Some(unwritten) });

    assert_eq!(texts(&bench.connect().await.expect("a response")), ["1", "2"]);
}

#[actix::test]
async fn abandoned_connect_starts_the_interval_of_the_session() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    pass(Duration::from_secs(100)).await;
    drop(answer);

    bench.session.do_send(Abandoned { unwritten: None });

    pass(Duration::from_secs(10)).await;
    assert!(bench.lives());
    pass(Duration::from_secs(1)).await;
    assert!(!bench.lives());
}

#[actix::test]
async fn session_lives_while_its_response_is_written_and_its_interval_after_that() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    bench.notify("1");
    answer.await.expect("a response");

    bench.session.do_send(Writing);
    pass(Duration::from_secs(100)).await;
    let while_it_is_written = bench.lives();
    bench.session.do_send(Written);
    pass(Duration::from_secs(9)).await;
    let within_the_interval = bench.lives();
    pass(Duration::from_secs(2)).await;

    assert!(while_it_is_written && within_the_interval && !bench.lives());
}

#[actix::test]
async fn full_queue_ends_the_session() {
    let bench = start(Limits { queued_notifications: 2, ..Limits::default() });

    (0..3).for_each(|n| bench.notify(&n.to_string()));
    settle().await;

    assert!(!bench.lives());
}

#[actix::test]
async fn foreign_user_receives_unknown_client() {
    let bench = start(Limits::default());

    let answer = bench.connect_with(|connect| connect.user = "eve".into());

    assert_eq!(answer.await.expect("a response").error.as_deref(), Some(error::UNKNOWN_CLIENT));
}

#[actix::test]
async fn unacknowledged_batch_is_sent_again_at_once() {
    let bench = start_acknowledging();
    bench.notify("1");
    let first = bench
        .connect_with(|connect| connect.acknowledged = Some(AcknowledgedTo::Batch(-1)))
        .await
        .expect("a response");
    bench.notify("2");

    let again = bench
        .connect_with(|connect| connect.acknowledged = Some(AcknowledgedTo::Batch(-1)))
        .await
        .expect("a response");

    assert_eq!((texts(&first), texts(&again)), (vec!["1"], vec!["1", "2"]));
    assert!(again.delivery.batch > first.delivery.batch);
}

#[actix::test]
async fn stopping_server_sends_empty_responses_with_the_advice_to_come_back_later() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    let interval = Duration::from_secs(3);

    bench.session.do_send(Release { interval });

    let advice = answer.await.expect("a response").advice.expect("given");
    assert_eq!((advice.reconnect, advice.interval), (Reconnect::Retry, Some(interval)));
}

async fn publish_to(pattern: Pattern) -> ConnectResponse {
    let bench = start(Limits::default());
    let subscribe = Subscribe { user: USER.into(), patterns: vec![pattern], filter: None, templates: None };
    assert_eq!(bench.session.send(subscribe).await.expect("alive"), Subscribed::Done);
    bench.hub.publish(Publish::deletion_of_alarm(1, ManagedObjectId(7)));
    bench.connect().await.expect("a response")
}

#[actix::test]
async fn family_that_cannot_be_looked_up_ends_its_sessions_instead_of_leaving_a_gap() {
    let family = Channel { resource: Resource::Alarms, id: ManagedObjectId(6) };
    let answer = publish_to(Pattern::WithChildren(family)).await;
    assert_eq!(answer.error.as_deref(), Some(error::UNKNOWN_CLIENT));
}

#[actix::test]
async fn group_whose_members_cannot_be_read_ends_its_sessions_instead_of_leaving_a_gap() {
    let (resource, group, form) = (Resource::Alarms, ManagedObjectId(6), GroupForm::Word);
    let group = GroupChannel { resource, group, form };
    let answer = publish_to(Pattern::Group(group)).await;
    assert_eq!(answer.error.as_deref(), Some(error::UNKNOWN_CLIENT));
}

#[actix::test]
async fn ancestors_are_not_read_without_subscriptions_to_families() {
    let answer = publish_to(Pattern::All(Resource::Alarms)).await;
    assert_eq!(texts(&answer).len(), 1);
}
