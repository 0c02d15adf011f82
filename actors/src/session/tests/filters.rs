//! Subscriptions with filters, from the hub to sessions (B-35).

use platform_model::realtime::filter::NotificationFilter;
use platform_model::realtime::trace::record::EndReason;

use super::*;

async fn subscribe(session: &Addr<SessionActor>, patterns: Vec<Pattern>, filter: Option<&str>) -> Subscribed {
    let filter = filter.map(|text| NotificationFilter::compile(text).expect("a filter"));
    let subscribe = Subscribe { user: USER.into(), patterns, filter, templates: None };
    session.send(subscribe).await.expect("alive")
}

fn publish(bench: &Bench, source: i64, alarm: i64) {
    bench.hub.publish(Publish::deletion_of_alarm(alarm, ManagedObjectId(source)));
}

fn exact(id: i64) -> Pattern {
    Pattern::Exact(Channel { resource: Resource::Alarms, id: ManagedObjectId(id) })
}

/// Publishes deletions of the alarms 1 to 9, and returns which of them the session receives.
async fn received(bench: &Bench) -> Vec<String> {
    (1..=9).for_each(|alarm| publish(bench, 7, alarm));
    bench.notify(r#"{"data":{"data":"end"}}"#);
    settle().await;
    let answer = bench.connect().await.expect("a response");
    let id = |text: &str| {
        let message: serde_json::Value = serde_json::from_str(text).expect("JSON");
        message["data"]["data"].as_str().expect("an id").to_owned()
    };
    let mut ids: Vec<String> = texts(&answer).into_iter().map(id).collect();
    assert_eq!(ids.pop().as_deref(), Some("end"));
    ids
}

#[actix::test]
async fn later_filter_replaces_the_earlier_one_and_none_removes_it() {
    let bench = start(Limits::default());
    let all = || vec![Pattern::All(Resource::Alarms)];
    for (filter, expected) in [
        (Some("id le 2"), vec!["1", "2"]),
        (Some("id ge 9"), vec!["9"]),
        (None, vec!["1", "2", "3", "4", "5", "6", "7", "8", "9"]),
        (Some("id eq 5"), vec!["5"]),
    ] {
        assert_eq!(subscribe(&bench.session, all(), filter).await, Subscribed::Done);
        assert_eq!(received(&bench).await, expected, "{filter:?}");
    }
    let leave = Unsubscribe { user: USER.into(), patterns: all() };
    assert_eq!(bench.session.send(leave).await.expect("alive"), Subscribed::Done);
    assert_eq!(received(&bench).await, Vec::<String>::new());
    assert!(!bench.hub.has_listeners(&Pattern::All(Resource::Alarms)));
}

#[actix::test]
async fn session_receives_what_any_of_its_subscriptions_matches_once() {
    let bench = start(Limits::default());
    subscribe(&bench.session, vec![Pattern::All(Resource::Alarms)], Some("id le 3")).await;
    subscribe(&bench.session, vec![exact(7)], Some("id ge 2 and id le 4")).await;
    subscribe(&bench.session, vec![exact(8)], Some("id eq 9")).await;
    assert_eq!(received(&bench).await, ["1", "2", "3", "4"]);
    // Without a filter, one subscription is enough for everything.
    subscribe(&bench.session, vec![exact(7)], None).await;
    assert_eq!(received(&bench).await.len(), 9);
}

#[actix::test]
async fn session_that_ends_leaves_no_filter_in_the_hub() {
    let bench = start(Limits::default());
    subscribe(&bench.session, vec![exact(7), exact(8)], Some("id eq 1")).await;
    assert!(bench.hub.has_listeners(&exact(8)));
    bench.session.do_send(crate::session::EndSession(EndReason::Gap));
    settle().await;
    assert!(!bench.hub.has_listeners(&exact(7)) && !bench.hub.has_listeners(&exact(8)));
}

#[actix::test]
async fn channel_has_a_bounded_number_of_filters_which_all_sessions_share() {
    let bench = start(Limits::default());
    let dispatcher = SessionDispatcher::here();
    let with = async |filter: Option<String>| {
        let started = bench.environment.start_session(new_session(), &[], &dispatcher).expect("no limits");
        let session = bench.sessions.find(&started.expect("as many as wished")).expect("just begun");
        subscribe(&session, vec![exact(7)], filter.as_deref()).await
    };
    for n in 0..1000 {
        assert_eq!(with(Some(format!("id eq {n}"))).await, Subscribed::Done);
    }
    assert_eq!(with(Some("id eq 1000".into())).await, Subscribed::TooMany);
    assert_eq!(with(Some("id eq 7".into())).await, Subscribed::Done);
    assert_eq!(with(None).await, Subscribed::Done);
    let elsewhere = subscribe(&bench.session, vec![exact(8)], Some("id eq 1000")).await;
    assert_eq!(elsewhere, Subscribed::Done);
}
