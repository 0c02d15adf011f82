//! Several servers on one database: each session receives the writes of every server, once and in order.

mod advice;
mod agents;
mod balancer;
mod bulk_work;
mod colleagues;
mod deletions;
mod failures;
mod filters;
mod guesses;
mod interest;
mod modules;
mod not_now;
mod notifications;
mod one_address;
mod pauses;
mod sessions;
mod signatures;
mod snapshots;
mod stops;
mod writers;

use platform_store::realtime::servers::{State, list_servers, set_state};

use crate::harness::prelude::*;

/// Returns the received notifications: action and id, or the whole data if it is only an id.
pub(crate) async fn received(session: &Session, count: usize) -> Vec<String> {
    let shown = |notification: &Value| {
        let data = &notification["data"]["data"];
        let id = data["id"].as_str().or(data.as_str()).unwrap_or("none");
        format!("{} {id}", notification["data"]["realtimeAction"].as_str().unwrap_or("none"))
    };
    session.receive(count).await.iter().map(shown).collect()
}

/// Two servers with one session each on the same channel.
pub(crate) struct Pair {
    pub(crate) callers: [Caller; 2],
    pub(crate) sessions: [Session; 2],
    pub(crate) servers: [TestServer; 2],
}

impl Pair {
    pub(crate) async fn listening(channel: &str) -> Self {
        let servers = TestServer::start_two().await;
        let callers = [servers[0].admin(), servers[1].admin()];
        let sessions = [callers[0].listen(channel).await, callers[1].listen(channel).await];
        Self { callers, sessions, servers }
    }

    /// Asserts that both sessions receive exactly these notifications, in this order.
    pub(crate) async fn both_receive(&self, expected: &[String]) {
        for session in &self.sessions {
            assert_eq!(received(session, expected.len()).await, expected);
            assert!(notifications(&session.glance().await).is_empty(), "nothing comes twice");
        }
    }
}

pub(crate) fn id(object: &Value) -> String {
    object["id"].as_str().unwrap().to_owned()
}

/// Returns the ids of the alarms in a response, which must be successful.
pub(crate) fn told(answer: &[Value]) -> Vec<String> {
    assert_eq!(reply(answer)["successful"], true, "{answer:?}");
    notifications(answer).iter().map(|told| id(&told["data"]["data"])).collect()
}

/// Drains a server or ends its draining, as an operator does.
pub(crate) async fn set_state_of(server: &TestServer, state: State) {
    let database = server.database().open();
    let port = server.address().port().to_string();
    let listed = list_servers(&database).await.unwrap();
    let slot = listed.into_iter().find_map(|server| server.address.ends_with(&port).then_some(server.slot));
    set_state(&database, slot.expect("the server holds a slot"), state).await.unwrap();
}
