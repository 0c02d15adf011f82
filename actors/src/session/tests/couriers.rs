//! From the hub to sessions by way of couriers, and waking in time.

use std::sync::mpsc;

use super::*;
use crate::hub::HasListeners;
use crate::tenant::{NewSession, StartSession};

const CHANNEL: Channel = Channel { resource: Resource::Alarms, id: ManagedObjectId(7) };

impl Bench {
    /// A further session of the bench's tenant.
    async fn begin(&self, courier: &Addr<Courier>, interval: Option<Duration>) -> Addr<SessionActor> {
        let new = NewSession { interval, ..new_session() };
        let start = StartSession { new, courier: courier.clone() };
        let client = self.tenant.send(start).await.expect("alive").expect("as many as wished");
        self.sessions.find(&client).expect("just begun")
    }

    fn publish(&self, alarm: i64) {
        let (event, links) = (Event::AlarmDeleted(AlarmId(alarm)), Links::new("http://h"));
        self.hub.do_send(Publish { source: CHANNEL.id, event, links });
    }
}

async fn subscribe(session: &Addr<SessionActor>, patterns: Vec<Pattern>) {
    let subscribe = Subscribe { user: USER.into(), patterns, templates: None };
    assert_eq!(session.send(subscribe).await.expect("alive"), Subscribed::Done);
}

/// The alarms that a session is told of, as many as are asked for.
async fn told(session: &Addr<SessionActor>, count: usize) -> Vec<i64> {
    let mut alarms = Vec::new();
    while alarms.len() < count {
        let (connect, answer) = new_connect();
        session.do_send(connect);
        let answer = answer.await.expect("answered");
        assert_eq!(answer.error, None);
        alarms.extend(texts(&answer).into_iter().map(|text| {
            let told: serde_json::Value = serde_json::from_str(text).expect("JSON");
            told["data"]["data"].as_str().and_then(|id| id.parse::<i64>().ok()).expect("an id")
        }));
    }
    alarms
}

fn courier_of(thread: &Arbiter) -> Addr<Courier> {
    let (tell, courier) = mpsc::channel();
    thread.spawn_fn(move || tell.send(Courier::here()).expect("awaited"));
    courier.recv().expect("the thread runs")
}

#[actix::test]
async fn sessions_on_several_threads_are_told_in_the_order_of_what_was_published() {
    let bench = start(Limits::default());
    let threads = [Arbiter::new(), Arbiter::new()];
    let mut sessions = Vec::new();
    for thread in &threads {
        for _ in 0..3 {
            let session = bench.begin(&courier_of(thread), None).await;
            subscribe(&session, vec![Pattern::Exact(CHANNEL)]).await;
            sessions.push(session);
        }
    }

    (0..500).for_each(|alarm| bench.publish(alarm));

    for session in &sessions {
        assert_eq!(told(session, 500).await, Vec::from_iter(0..500));
    }
    threads.iter().for_each(|thread| assert!(thread.stop()));
}

#[actix::test]
async fn session_that_listens_in_several_ways_is_told_once() {
    let bench = start(Limits::default());
    let other = bench.begin(&Courier::here(), None).await;
    subscribe(&other, vec![Pattern::All(Resource::Alarms)]).await;
    subscribe(&bench.session, vec![Pattern::All(Resource::Alarms), Pattern::Exact(CHANNEL)]).await;

    (1..=2).for_each(|alarm| bench.publish(alarm));

    settle().await;
    assert_eq!((told(&bench.session, 1).await, told(&other, 1).await), (vec![1, 2], vec![1, 2]));
}

#[actix::test]
async fn what_is_told_to_a_session_that_ended_meanwhile_reaches_nobody_else() {
    let bench = start(Limits::default());
    let listener = bench.begin(&Courier::here(), None).await;
    for session in [&bench.session, &listener] {
        subscribe(session, vec![Pattern::Exact(CHANNEL)]).await;
    }

    bench.session.do_send(End);
    bench.publish(1);
    let newcomer = bench.begin(&Courier::here(), None).await;
    subscribe(&newcomer, vec![Pattern::Exact(CHANNEL)]).await;
    bench.publish(2);

    settle().await;
    assert!(!bench.lives());
    assert_eq!((told(&listener, 1).await, told(&newcomer, 1).await), (vec![1, 2], vec![2]));
}

#[actix::test]
async fn sessions_are_woken_each_in_its_time() {
    let bench = start(Limits::default());
    let mut sessions = Vec::new();
    for seconds in [300, 100, 200] {
        sessions.push(bench.begin(&Courier::here(), Some(Duration::from_secs(seconds))).await);
    }
    let mut living = Vec::new();

    for _ in 0..3 {
        pass(Duration::from_secs(101)).await;
        living.push(sessions.iter().map(Addr::connected).collect::<Vec<_>>());
    }

    assert_eq!(living, [[true, false, true], [true, false, false], [false, false, false]]);
}

#[derive(Message)]
#[rtype(result = "()")]
struct Fail;

impl Handler<Fail> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Fail, _: &mut Self::Context) {
        panic!("as the test wants it");
    }
}

#[actix::test]
async fn session_that_fails_is_forgotten_like_one_that_ends() {
    let bench = start(Limits::default());
    subscribe(&bench.session, vec![Pattern::Exact(CHANNEL)]).await;

    bench.session.do_send(Fail);

    settle().await;
    assert!(!bench.lives() && bench.sessions.is_empty());
    assert!(!bench.hub.send(HasListeners(Pattern::Exact(CHANNEL))).await.expect("alive"));
}

#[actix::test]
async fn subscription_while_a_connect_is_held_leaves_it_its_time() {
    let bench = start(Limits::default());
    let mut answer = bench.connect();
    settle().await;

    subscribe(&bench.session, vec![Pattern::Exact(CHANNEL)]).await;

    pass(Duration::from_secs(1000)).await;
    assert!(answer.try_recv().is_err() && bench.lives());
}

#[actix::test]
async fn socket_gets_at_once_what_a_courier_brings() {
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
async fn session_whose_queue_a_courier_overfills_ends() {
    let bench = start(Limits { queued_notifications: 2, ..Limits::default() });
    subscribe(&bench.session, vec![Pattern::Exact(CHANNEL)]).await;

    (1..=5).for_each(|alarm| bench.publish(alarm));
    settle().await;

    assert!(!bench.lives() && bench.sessions.is_empty());
}

#[actix::test]
async fn sessions_end_with_their_courier() {
    let bench = start(Limits::default());
    let answer = bench.connect();
    settle().await;

    Courier::here().do_send(Fail);

    assert_eq!(answer.await.expect("answered").error, Some(error::UNKNOWN_CLIENT));
}

impl Handler<Fail> for Courier {
    type Result = ();

    fn handle(&mut self, _: Fail, _: &mut Self::Context) {
        panic!("as the test wants it");
    }
}
