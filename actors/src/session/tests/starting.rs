//! Tests of sessions that start on several threads at the same time.

use platform_model::realtime::trace::record::EndReason;
use std::sync::Barrier;
use std::thread;

use platform_store::realtime::announcements::Holders;

use super::*;
use crate::session::starting::ArrivingSession;
use crate::session_moves::ArrivalSource;

const THREADS: usize = 8;

/// Calls the function on several threads at the same time, and returns the results.
fn on_all_threads<T: Send>(call: impl Fn() -> T + Sync) -> Vec<T> {
    let together = Barrier::new(THREADS);
    thread::scope(|scope| {
        let start = || {
            together.wait();
            call()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[actix::test]
async fn handshakes_on_several_threads_keep_to_the_limit_of_sessions_of_a_user() {
    let most = 100;
    let bench = start(Limits { sessions_per_user: Some(most), ..Limits::default() });
    let dispatcher = SessionDispatcher::here();
    let handshake = || bench.environment.start_session(new_session(), &[], &dispatcher).expect("no quota");

    let started = on_all_threads(|| (0..most).filter_map(|_| handshake()).count());

    assert_eq!(started.iter().sum::<usize>(), most, "{started:?}");
}

#[actix::test]
async fn session_that_several_threads_take_over_starts_once() {
    let bench = start(Limits::default());
    let dispatcher = SessionDispatcher::here();
    for n in 100..200 {
        let client = ClientId::from_bits(n);
        let take = || {
            let arriving = ArrivingSession { client, user: USER.into(), source: ArrivalSource::elsewhere() };
            bench.environment.take_session(arriving, &dispatcher).expect("it arrives or is here")
        };

        let taken = on_all_threads(take);

        assert!(taken.iter().all(|session| *session == taken[0]), "session {n} started twice");
    }
}

#[actix::test]
async fn session_that_ended_is_no_longer_listed_and_does_not_count() {
    let bench = start(Limits { sessions_per_user: Some(1), ..Limits::default() });
    let dispatcher = SessionDispatcher::here();
    let handshake = || bench.environment.start_session(new_session(), &[], &dispatcher).expect("no quota");
    let client = handshake().expect("the first one");
    assert_eq!(handshake(), None);

    let session = bench.sessions.find(&client).expect("just begun");
    session.do_send(EndSession(EndReason::Gap));
    while session.connected() {
        tokio::task::yield_now().await;
    }

    assert_eq!(bench.environment.of_users.lock().list(&Holders::Everybody), []);
    assert!(handshake().is_some());
}
