//! Tests of polls on the thread of their session, to which the session responds with a call.

use platform_model::realtime::trace::record::EndReason;
use std::cell::RefCell;
use std::rc::Rc;

use super::*;

/// A connection that holds a poll until it has the response.
#[derive(Default)]
struct HoldingConnection {
    held: RefCell<Option<u32>>,
    response: RefCell<Option<ConnectResponse>>,
}

impl PollConnection for HoldingConnection {
    fn respond(&self, poll: u32, response: ConnectResponse) -> Result<(), ConnectResponse> {
        if *self.held.borrow() != Some(poll) {
            return Err(response);
        }
        *self.held.borrow_mut() = None;
        *self.response.borrow_mut() = Some(response);
        Ok(())
    }

    fn holds(&self, poll: u32) -> bool {
        *self.held.borrow() == Some(poll)
    }
}

impl HoldingConnection {
    fn texts(&self) -> Vec<String> {
        let response = self.response.borrow();
        response.as_ref().map(texts).unwrap_or_default().into_iter().map(str::to_owned).collect()
    }
}

/// Holds a poll with this number at a new connection.
fn hold(bench: &Bench, number: u32) -> Rc<HoldingConnection> {
    let connection = Rc::new(HoldingConnection { held: Some(number).into(), ..HoldingConnection::default() });
    let (connect, _) = new_connect();
    let connect = connect.with_reply_to(|_| PollHere { connection: connection.clone(), number });
    let session = bench.sessions.find_here(bench.client).expect("it runs on this thread");
    assert!(session.connect(connect), "the session waits for nothing");
    connection
}

#[actix::test]
async fn connection_is_called_with_the_response_and_with_no_second_one() {
    let bench = start(Limits::default());
    settle().await;
    let connection = hold(&bench, 1);

    bench.notify("first");
    bench.notify("second");
    settle().await;

    assert_eq!(connection.texts(), ["first"]);
    let next = hold(&bench, 2);
    assert_eq!(next.texts(), ["second"], "the response came within the call");
}

#[actix::test]
async fn notification_for_a_poll_that_is_over_waits_for_the_next_connect() {
    let bench = start(Limits::default());
    settle().await;
    let over = hold(&bench, 1);
    *over.held.borrow_mut() = None;

    bench.notify("kept");
    settle().await;

    assert!(over.texts().is_empty());
    assert_eq!(hold(&bench, 2).texts(), ["kept"]);
}

#[actix::test]
async fn connect_does_not_overtake_notifications_that_another_transport_returns() {
    let bench = start(Limits::default());
    let mut answer = bench.connect();
    settle().await;
    bench.notify("first");
    settle().await;
    let unwritten = answer.try_recv().expect("a response").delivery;
    bench.notify("second");
    settle().await;

    bench.session.do_send(Abandoned { unwritten: Some(unwritten) });
    let connection = hold(&bench, 1);

    assert_eq!(connection.texts(), ["first", "second"]);
}

#[actix::test]
async fn newer_connect_ends_the_poll_and_gets_the_end_of_the_session() {
    let bench = start(Limits::default());
    settle().await;
    let older = hold(&bench, 1);
    let newer = hold(&bench, 2);
    assert!(older.response.borrow().as_ref().is_some_and(|response| response.error.is_none()));
    assert!(newer.holds(2));

    bench.session.do_send(EndSession(EndReason::Gap));
    settle().await;

    let told = newer.response.borrow().as_ref().and_then(|response| response.error.clone());
    assert_eq!(told.as_deref(), Some(error::UNKNOWN_CLIENT));
    assert!(bench.sessions.find_here(bench.client).is_none());
}
