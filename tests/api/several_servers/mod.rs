//! Several servers on one database: each session hears what any server writes, once and in order.

mod agents;
mod balancer;
mod bulk_work;
mod deletions;
mod failures;
mod guesses;
mod interest;
mod modules;
mod notifications;
mod sessions;
mod stops;

use platform_store::Database;
use platform_store::servers::{State, list_servers, set_state};
use serde_json::Value;

use crate::harness::{Caller, Session, TestDatabase, TestServer, notifications, reply};

/// What a session has received: action and id, or the whole text where the data is only an id.
pub(crate) async fn received(session: &Session, count: usize) -> Vec<String> {
    let shown = |notification: &Value| {
        let data = &notification["data"]["data"];
        let id = data["id"].as_str().or(data.as_str()).unwrap_or("none");
        format!("{} {id}", notification["data"]["realtimeAction"].as_str().unwrap_or("none"))
    };
    session.receive(count).await.iter().map(shown).collect()
}

/// Two servers, and a session on this channel at each.
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

    /// Expects that both sessions receive exactly this, in this order.
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

/// The ids of the alarms in a response that has to be successful.
pub(crate) fn told(answer: &[Value]) -> Vec<String> {
    assert_eq!(reply(answer)["successful"], true, "{answer:?}");
    notifications(answer).iter().map(|told| id(&told["data"]["data"])).collect()
}

/// Opens a database as a command does.
pub(crate) fn store_of(database: &TestDatabase) -> Database {
    let connections = platform_store::Connections { reads: 1, devices: 1 };
    Database::new(database.url(), connections, &platform_model::limits::Limits::default()).unwrap()
}

/// Lets a server drain, or take new clients again, as an operator does.
pub(crate) async fn set_state_of(server: &TestServer, state: State) {
    let database = store_of(server.database());
    let port = server.address().port().to_string();
    let listed = list_servers(&database).await.unwrap();
    let slot = listed.into_iter().find_map(|server| server.address.ends_with(&port).then_some(server.slot));
    set_state(&database, slot.expect("the server holds a slot"), state).await.unwrap();
}
