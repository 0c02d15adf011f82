//! Lists while others write, at one server, at two, and while the session moves (B-36): the list and the changes after
//! it are the table at the end, without a change that is missing or comes twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::realtime::snapshots::{snapshot, subscribe};

/// The writers. With [`ROUNDS`] of up to 370, at most 2000 events stay, which is the largest page.
const WRITERS: usize = 8;
/// The events that each writer creates.
const ROUNDS: usize = 30;
/// The sessions that begin one after the other while the writers write.
const SESSIONS: usize = 12;

/// The events that a client knows, by id. The text of an event is the number of its changes.
#[derive(Default)]
struct View {
    events: BTreeMap<String, u64>,
    has_list: bool,
    /// The changes after the list.
    changes: usize,
}

impl View {
    /// Takes a notification. Each event has one writer, so a change that is missing or comes twice shows at once.
    fn take(&mut self, notification: &Value) {
        let data = &notification["data"]["data"];
        let id = || data["id"].as_str().expect("an id").to_owned();
        let version =
            |event: &Value| event["text"].as_str().and_then(|text| text.parse().ok()).expect("a number");
        match notification["data"]["realtimeAction"].as_str().expect("an action") {
            "SNAPSHOT" => {
                assert!(!self.has_list, "a list after its marker");
                for event in data.as_array().expect("events") {
                    let id = event["id"].as_str().expect("an id").to_owned();
                    assert_eq!(self.events.insert(id, version(event)), None, "twice in the list: {event}");
                }
                return;
            }
            "SNAPSHOT_END" => {
                assert!(!std::mem::replace(&mut self.has_list, true), "two lists");
                assert_eq!(*data, json!({"count": self.events.len(), "complete": true}));
                return;
            }
            "CREATE" => assert_eq!(self.events.insert(id(), version(data)), None, "twice: {notification}"),
            "UPDATE" => {
                let before = self.events.insert(id(), version(data));
                assert_eq!(before, version(data).checked_sub(1), "missing or twice: {notification}");
            }
            "DELETE" => {
                let id = data.as_str().expect("an id");
                assert!(self.events.remove(id).is_some(), "missing or twice: {notification}");
            }
            other => panic!("{other}"),
        }
        assert!(self.has_list, "a change before the list: {notification}");
        self.changes += 1;
    }
}

/// The writes of many clients to these servers.
struct Race {
    callers: Vec<Caller>,
    device: String,
    written: AtomicUsize,
    is_over: AtomicBool,
}

impl Race {
    async fn of(servers: &[TestServer]) -> Self {
        let callers: Vec<_> = servers.iter().map(|server| server.admin()).collect();
        let device = callers[0].create_device("door").await;
        Self { callers, device, written: AtomicUsize::new(0), is_over: AtomicBool::new(false) }
    }

    async fn write(&self, writer: usize) {
        for round in 0..ROUNDS {
            let caller = |n: usize| &self.callers[(writer + n) % self.callers.len()];
            let mut event = event_of(&self.device, &format!("w{writer}"));
            event["text"] = json!("0");
            let id = caller(round).create("/event/events", &event).await["id"].as_str().unwrap().to_owned();
            let path = format!("/event/events/{id}");
            caller(round).put(&path, &json!({"text": "1"})).await.expect(200);
            caller(round + 1).put(&path, &json!({"text": "2"})).await.expect(200);
            if round % 3 == 0 {
                caller(round).delete(&path).await.expect(204);
            }
            self.written.fetch_add(3 + usize::from(round % 3 == 0), Ordering::Relaxed);
        }
    }

    async fn write_all(&self) {
        let writers = (0..WRITERS).map(|writer| self.write(writer));
        join_all(writers).await;
        self.is_over.store(true, Ordering::Release);
    }

    /// Waits until this part of all writes is done.
    async fn reach(&self, part: usize, of: usize) {
        let all = WRITERS * (ROUNDS * 3 + ROUNDS.div_ceil(3));
        let enough = async || self.written.load(Ordering::Relaxed) >= all * part / of;
        until_within(Duration::from_secs(300), "writes", enough).await;
    }

    /// Connects by these sessions in turn until all is received, and compares it with the table.
    async fn follow(&self, sessions: &[Session]) -> View {
        let (mut view, mut is_last) = (View::default(), false);
        for session in sessions.iter().cycle() {
            let is_over = self.is_over.load(Ordering::Acquire);
            let answer = session.connect_with(json!({"advice": {"timeout": 300}})).await;
            assert_eq!(reply(&answer)["successful"], true, "{answer:?}");
            notifications(&answer).iter().for_each(|notification| view.take(notification));
            let is_silent = is_over && notifications(&answer).is_empty();
            if is_silent && is_last {
                break;
            }
            is_last = is_silent;
        }
        self.compare(&view).await;
        view
    }

    async fn compare(&self, view: &View) {
        let page = self.callers[0].read("/event/events?pageSize=2000").await;
        let row = |event: &Value| {
            (event["id"].as_str().unwrap().to_owned(), event["text"].as_str().unwrap().parse().unwrap())
        };
        let table: BTreeMap<String, u64> = page["events"].as_array().unwrap().iter().map(row).collect();
        assert!(view.events == table, "{} in the view, {} in the table", view.events.len(), table.len());
    }

    /// Subscribes with a list when a part of the writes is done.
    async fn begin(&self, part: usize, server: usize, more: Value) -> Session {
        self.reach(part, SESSIONS + 1).await;
        let session = self.callers[server % self.callers.len()].session_with(more).await;
        let reply = subscribe(&session, "/events/*", "events", "pageSize=2000").await;
        assert_eq!(reply["successful"], true, "{reply}");
        session
    }
}

/// Runs the writers, and sessions that begin in between.
async fn race(servers: &[TestServer]) {
    let race = Race::of(servers).await;
    let sessions = (0..SESSIONS).map(async |n| {
        let session = race.begin(n, n, json!({})).await;
        race.follow(&[session]).await.changes
    });
    let ((), changes) = tokio::join!(race.write_all(), join_all(sessions));
    assert!(changes.windows(2).all(|pair| pair[0] >= pair[1].saturating_sub(WRITERS * 4)), "{changes:?}");
    assert!(changes[0] > changes[SESSIONS - 1], "the sessions began in between: {changes:?}");
}

#[tokio::test]
async fn list_and_changes_are_the_table_at_one_server() {
    race(&[TestServer::start().await]).await;
}

#[tokio::test]
async fn list_and_changes_are_the_table_at_two_servers() {
    race(&TestServer::start_two().await).await;
}

#[tokio::test]
async fn list_and_changes_are_the_table_while_the_session_moves() {
    let servers = TestServer::start_two().await;
    let race = Race::of(&servers).await;
    let sessions = (0..SESSIONS).map(async |n| {
        race.reach(n, SESSIONS + 1).await;
        let at_a = race.callers[0].session().await;
        let at_b = race.callers[1].resume(&at_a.client);
        let subscribing = async {
            let reply = subscribe(&at_a, "/events/*", "events", "pageSize=2000").await;
            assert_eq!(reply["successful"], true, "{reply}");
        };
        // The connects pull the session away from the server that reads the list.
        let both = [at_b, at_a.clone()];
        let ((), view) = tokio::join!(subscribing, race.follow(&both));
        view.changes
    });
    let ((), changes) = tokio::join!(race.write_all(), join_all(sessions));
    assert!(changes[0] > 0, "{changes:?}");
}

/// Follows the events over a socket, until the one that is created behind all others comes.
async fn follow_by_socket(race: &Race, part: usize) -> View {
    race.reach(part, SESSIONS + 1).await;
    let (mut socket, client) = Socket::session(&race.callers[0]).await;
    let mut message = snapshot("/events/*", "events", "pageSize=2000");
    message["channel"] = json!("/meta/subscribe");
    message["clientId"] = json!(client);
    assert_eq!(socket.ask(message).await["successful"], true);
    socket.send(json!([connect(&client)]).to_string()).await;
    let mut view = View::default();
    loop {
        let message = socket.message().await;
        match message["channel"].as_str() {
            Some("/meta/connect") => socket.send(json!([connect(&client)]).to_string()).await,
            _ if message["data"]["data"]["type"] == "last" => return view,
            _ => view.take(&message),
        }
    }
}

#[tokio::test]
async fn lists_and_changes_are_the_table_over_sockets() {
    let servers = [TestServer::start().await];
    let race = Race::of(&servers).await;
    let writing = async {
        race.write_all().await;
        race.callers[0].create_event(&race.device, "last").await
    };
    let following = join_all((0..SESSIONS).map(|part| follow_by_socket(&race, part)));
    let (last, views) = tokio::join!(writing, following);
    race.callers[0].delete(&format!("/event/events/{}", id(&last))).await.expect(204);
    for view in views {
        race.compare(&view).await;
    }
}
