//! Delivery from the hub to sessions through dispatchers, and timers.

use platform_model::realtime::trace::record::EndReason;
use std::sync::mpsc;

use super::*;

const CHANNEL: Channel = Channel { resource: Resource::Alarms, id: ManagedObjectId(7) };

impl Bench {
    /// Starts a further session of the bench's tenant.
    fn start_session(
        &self,
        dispatcher: &Addr<SessionDispatcher>,
        interval: Option<Duration>,
    ) -> Addr<SessionActor> {
        let new = NewSession { interval, ..new_session() };
        let started = self.environment.start_session(new, &[], dispatcher).expect("the tenant has no limits");
        let client = started.expect("as many as wished");
        self.sessions.find(&client).expect("just begun")
    }

    /// Holds a connect of a further session.
    fn connect_of(&self, session: &Addr<SessionActor>) -> oneshot::Receiver<ConnectResponse> {
        let (connect, answer) = new_connect();
        session.do_send(connect);
        answer
    }

    fn publish(&self, alarm: i64) {
        self.hub.publish(Publish::deletion_of_alarm(alarm, CHANNEL.id));
    }
}

async fn subscribe(session: &Addr<SessionActor>, patterns: Vec<Pattern>) {
    let subscribe = Subscribe { user: USER.into(), patterns, filter: None, templates: None };
    assert_eq!(session.send(subscribe).await.expect("alive"), Subscribed::Done);
}

/// Connects until the session has received this many alarms, and returns their ids.
async fn received_alarms(session: &Addr<SessionActor>, count: usize) -> Vec<i64> {
    let mut alarms = Vec::new();
    while alarms.len() < count {
        let (connect, answer) = new_connect();
        session.do_send(connect);
        let answer = answer.await.expect("a response");
        assert_eq!(answer.error, None);
        alarms.extend(texts(&answer).into_iter().map(|text| {
            let notification: serde_json::Value = serde_json::from_str(text).expect("JSON");
            notification["data"]["data"].as_str().and_then(|id| id.parse::<i64>().ok()).expect("an id")
        }));
    }
    alarms
}

fn dispatcher_of(thread: &Arbiter) -> Addr<SessionDispatcher> {
    let (sender, dispatcher) = mpsc::channel();
    thread.spawn_fn(move || sender.send(SessionDispatcher::here()).expect("awaited"));
    dispatcher.recv().expect("the thread runs")
}

#[actix::test]
async fn sessions_on_several_threads_receive_notifications_in_the_order_of_publication() {
    let bench = start(Limits::default());
    let threads = [Arbiter::new(), Arbiter::new()];
    let mut sessions = Vec::new();
    for thread in &threads {
        for _ in 0..3 {
            let session = bench.start_session(&dispatcher_of(thread), None);
            subscribe(&session, vec![Pattern::Exact(CHANNEL)]).await;
            sessions.push(session);
        }
    }

    (0..500).for_each(|alarm| bench.publish(alarm));

    for session in &sessions {
        assert_eq!(received_alarms(session, 500).await, Vec::from_iter(0..500));
    }
    threads.iter().for_each(|thread| assert!(thread.stop()));
}

#[actix::test]
async fn session_with_overlapping_subscriptions_receives_a_notification_once() {
    let bench = start(Limits::default());
    let other = bench.start_session(&SessionDispatcher::here(), None);
    subscribe(&other, vec![Pattern::All(Resource::Alarms)]).await;
    subscribe(&bench.session, vec![Pattern::All(Resource::Alarms), Pattern::Exact(CHANNEL)]).await;

    (1..=2).for_each(|alarm| bench.publish(alarm));

    settle().await;
    assert_eq!(
        (received_alarms(&bench.session, 1).await, received_alarms(&other, 1).await),
        (vec![1, 2], vec![1, 2])
    );
}

#[actix::test]
async fn notification_for_an_ended_session_reaches_no_other_session() {
    let bench = start(Limits::default());
    let listener = bench.start_session(&SessionDispatcher::here(), None);
    for session in [&bench.session, &listener] {
        subscribe(session, vec![Pattern::Exact(CHANNEL)]).await;
    }

    bench.session.do_send(EndSession(EndReason::Gap));
    bench.publish(1);
    let newcomer = bench.start_session(&SessionDispatcher::here(), None);
    subscribe(&newcomer, vec![Pattern::Exact(CHANNEL)]).await;
    bench.publish(2);

    settle().await;
    assert!(!bench.lives());
    assert_eq!(
        (received_alarms(&listener, 1).await, received_alarms(&newcomer, 1).await),
        (vec![1, 2], vec![2])
    );
}

#[actix::test]
async fn each_session_is_woken_when_its_own_interval_ends() {
    let bench = start(Limits::default());
    let mut sessions = Vec::new();
    for seconds in [300, 100, 200] {
        sessions.push(bench.start_session(&SessionDispatcher::here(), Some(Duration::from_secs(seconds))));
    }
    let mut task = Vec::new();

    for _ in 0..3 {
        pass(Duration::from_secs(101)).await;
        task.push(sessions.iter().map(Addr::connected).collect::<Vec<_>>());
    }

    assert_eq!(task, [[true, false, true], [true, false, false], [false, false, false]]);
}

#[derive(Message)]
#[rtype(result = "()")]
struct Fail;

impl Handler<Fail> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Fail, _: &mut Self::Context) {
        panic!("the test requests this panic");
    }
}

#[actix::test]
async fn session_that_panics_is_removed_like_one_that_ends() {
    let bench = start(Limits::default());
    subscribe(&bench.session, vec![Pattern::Exact(CHANNEL)]).await;

    bench.session.do_send(Fail);

    settle().await;
    assert!(!bench.lives() && bench.sessions.is_empty());
    assert!(!bench.hub.has_listeners(&Pattern::Exact(CHANNEL)));
}

#[actix::test]
async fn subscription_does_not_shorten_a_held_connect() {
    let bench = start(Limits::default());
    let mut answer = bench.connect();
    settle().await;

    subscribe(&bench.session, vec![Pattern::Exact(CHANNEL)]).await;

    pass(Duration::from_secs(1000)).await;
    assert!(answer.try_recv().is_err() && bench.lives());
}

#[actix::test]
async fn socket_receives_dispatched_notifications_at_once() {
    let bench = start(Limits::default());
    subscribe(&bench.session, vec![Pattern::Exact(CHANNEL)]).await;
    let socket = SlowSocket::that_reads();
    bench.attach(&socket).await;

    for alarm in 1..=3 {
        bench.publish(alarm);
        settle().await;
    }

    assert_eq!(sockets::received(&socket).await.len(), 3);
}

#[actix::test]
async fn session_ends_when_a_dispatcher_overfills_its_queue() {
    let bench = start(Limits { queued_notifications: 2, ..Limits::default() });
    subscribe(&bench.session, vec![Pattern::Exact(CHANNEL)]).await;

    (1..=5).for_each(|alarm| bench.publish(alarm));
    settle().await;

    assert!(!bench.lives() && bench.sessions.is_empty());
}

#[actix::test]
async fn sessions_end_with_their_dispatcher() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    settle().await;

    SessionDispatcher::here().do_send(Fail);

    assert_eq!(answer.await.expect("a response").error.as_deref(), Some(error::UNKNOWN_CLIENT));
}

impl Handler<Fail> for SessionDispatcher {
    type Result = ();

    fn handle(&mut self, _: Fail, _: &mut Self::Context) {
        panic!("the test requests this panic");
    }
}

#[actix::test]
async fn broadcast_to_many_sessions_lets_other_tasks_run_and_keeps_the_order() {
    let bench = start(Limits::default());
    let mut sessions = Vec::new();
    for _ in 0..400 {
        let session = bench.start_session(&SessionDispatcher::here(), None);
        subscribe(&session, vec![Pattern::Exact(CHANNEL)]).await;
        sessions.push(session);
    }
    let mut held: Vec<_> = sessions.iter().map(|session| bench.connect_of(session)).collect();
    settle().await;

    (1..=2).for_each(|alarm| bench.publish(alarm));
    let (mut answered, mut steps) = (0, Vec::new());
    while answered < sessions.len() {
        tokio::task::yield_now().await;
        let before = held.len();
        held.retain_mut(|answer| answer.try_recv().is_err());
        answered += before - held.len();
        steps.push(answered);
        assert!(steps.len() < 100_000, "only {answered} sessions have received something");
    }

    assert!(steps.iter().any(|answered| (1..400).contains(answered)), "{steps:?}");
    for session in &sessions {
        assert_eq!(received_alarms(session, 1).await, [2]);
    }
}
