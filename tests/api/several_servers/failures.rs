//! Cut connections, killed and paused servers: a session either receives every notification or is ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::Signal;

use super::*;

/// The beginning of the statement that a listening connection sends regularly.
const LISTENING: &str = "%SELECT EXISTS (SELECT FROM publication_servers%";

/// Cuts the listening connections of all servers and returns their number.
pub(super) async fn cut_listening_connections(database: &TestDatabase) -> u64 {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND query LIKE $1 AND pid <> pg_backend_pid()";
    database.execute(cut, &[&LISTENING]).await
}

/// Receives alarms until the one with id `last`, and returns their ids; `None` if the session was ended.
async fn heard_until(session: &Session, last: &str) -> Option<Vec<String>> {
    let (mut heard, begun): (Vec<String>, _) = (Vec::new(), Instant::now());
    while heard.last().is_none_or(|id| id != last) {
        let answer = session.connect_with(json!({"advice": {"timeout": 2000}})).await;
        if reply(&answer)["successful"] != json!(true) {
            assert_eq!(reply(&answer)["advice"]["reconnect"], "handshake", "{answer:?}");
            return None;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{last} does not come: {heard:?}");
        heard.extend(notifications(&answer).iter().map(|told| id(&told["data"]["data"])));
    }
    Some(heard)
}

async fn raise(caller: &Caller, device: &str, kinds: std::ops::Range<usize>) -> Vec<String> {
    let mut raised = Vec::new();
    for n in kinds {
        raised.push(id(&caller.raise_alarm(device, &format!("t{n}")).await));
    }
    raised
}

#[tokio::test]
async fn session_of_a_lone_server_misses_nothing_when_the_listening_connection_is_cut() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let session = admin.listen("/alarms/*").await;
    let mut raised = raise(&admin, &device, 0..3).await;

    until("a listening connection", async || cut_listening_connections(server.database()).await > 0).await;
    // Only the listening connection was cut, so writes still succeed.
    let begun = Instant::now();
    for n in 3.. {
        raised.extend(raise(&admin, &device, n..n + 1).await);
        admin.get("/user/currentUser").await.expect(200);
        if begun.elapsed() > Duration::from_secs(2) {
            break;
        }
    }

    assert_eq!(heard_until(&session, raised.last().unwrap()).await, Some(raised));
}

#[tokio::test]
async fn session_receives_everything_or_ends_when_listening_connections_are_cut() {
    let [a, b] = TestServer::start_two().await;
    let device = a.admin().create_device("pump").await;
    for round in 0..3 {
        let sessions = [a.admin().listen("/alarms/*").await, b.admin().listen("/alarms/*").await];
        let mut raised = raise(&b.admin(), &device, round * 20..round * 20 + 5).await;
        until("a listening connection", async || cut_listening_connections(a.database()).await > 0).await;
        for n in round * 20 + 5..round * 20 + 20 {
            let alarm = eventually("an alarm that is stored", async || {
                let body = crate::harness::alarm_of(&device, &format!("t{n}"));
                let answer = b.admin().post("/alarm/alarms", &body).await;
                (answer.status == 201).then(|| answer.json())
            });
            raised.push(id(&alarm.await));
        }
        for session in &sessions {
            if let Some(heard) = heard_until(session, raised.last().unwrap()).await {
                assert_eq!(heard, raised);
            }
        }
    }
}

#[tokio::test]
async fn client_that_moves_while_listening_connections_are_cut_soon_knows_whether_its_session_lives() {
    let at_once = json!({"connectionType": "long-polling", "advice": {"timeout": 0}});
    for _ in 0..3 {
        // A server rejects subscriptions for a moment after its connection was cut, so each round starts new servers.
        let [a, b] = TestServer::start_two().await;
        let sessions = (0..20).map(async |_| a.admin().listen("/alarms/*").await.client);
        let clients = join_all(sessions).await;
        // The requests of one server and the responses of the other are lost with the connections.
        let ((), longest) = tokio::join!(
            until("a listening connection", async || cut_listening_connections(a.database()).await > 0),
            join_all(clients.iter().map(async |client| {
                let begun = Instant::now();
                let message = b.admin().resume(client).message("/meta/connect", at_once.clone());
                let status = b.admin().bayeux(REALTIME, &json!([message])).await.status;
                // A server that lost its connection a moment ago may ask the client to try again.
                assert!([200, 503].contains(&status), "{status}");
                begun.elapsed()
            }))
        );
        let longest = longest.into_iter().max().expect("there are clients");
        assert!(longest < Duration::from_secs(4), "{longest:?}");
    }
}

#[tokio::test]
async fn sessions_elsewhere_receive_everything_that_a_killed_server_acknowledged() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let server = TestServer::start_on(&database, |_| {}).await;
    let device = server.admin().create_device("pump").await;
    let session = server.admin().listen("/alarms/*").await;
    for round in 0..3 {
        let program = Program::serve_with(Program::command_on(&database, directory.path()));
        let other = Caller::new(program.base(), Some(("admin", crate::harness::ADMIN_PASSWORD)));
        let stored = Arc::new(AtomicUsize::new(0));
        let writing = tokio::spawn({
            let (device, stored) = (device.clone(), stored.clone());
            async move {
                let mut acknowledged = Vec::new();
                for n in 0.. {
                    let body = crate::harness::alarm_of(&device, &format!("r{round}n{n}"));
                    match other.request("POST", "/alarm/alarms").json(&body).try_send().await {
                        Some(answer) if answer.status == 201 => acknowledged.push(id(&answer.json())),
                        _ => break,
                    }
                    stored.store(acknowledged.len(), Ordering::Relaxed);
                }
                acknowledged
            }
        });
        until("writes of the other server", async || stored.load(Ordering::Relaxed) >= 20).await;
        program.signal(Signal::KILL);
        let acknowledged = writing.await.unwrap();
        drop(program);

        let last = id(&server.admin().raise_alarm(&device, &format!("r{round}last")).await);
        let heard = heard_until(&session, &last).await.expect("the session goes on");
        let missing: Vec<_> = acknowledged.iter().filter(|id| !heard.contains(id)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        // One more write may be committed than acknowledged.
        assert!(heard.len() <= acknowledged.len() + 2, "{heard:?}, {acknowledged:?}");
    }
}

#[tokio::test]
async fn sessions_of_a_server_that_was_paused_until_it_counted_as_dead_end() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let server = TestServer::start_on(&database, |_| {}).await;
    let device = server.admin().create_device("pump").await;
    let own = server.admin().listen("/alarms/*").await;
    let program = Program::serve_with(Program::command_on(&database, directory.path()));
    let there = Caller::new(program.base(), Some(("admin", crate::harness::ADMIN_PASSWORD)));
    let session = there.listen("/alarms/*").await;
    raise(&server.admin(), &device, 0..1).await;
    session.receive(1).await;
    own.receive(1).await;
    let newest = "SELECT token FROM servers WHERE incarnation = (SELECT max(incarnation) FROM servers)";
    let token: String = database.query(newest, &[]).await[0].get(0);

    program.signal(Signal::STOP);
    let long_ended = "UPDATE servers SET leased_until = now() - interval '1 minute' \
        WHERE incarnation = (SELECT max(incarnation) FROM servers)";
    assert_eq!(database.execute(long_ended, &[]).await, 1);
    until("a server that counts as dead", async || {
        let alive = database.query("SELECT FROM publication_servers", &[]).await;
        alive.len() == 1
    })
    .await;
    let missed = raise(&server.admin(), &device, 1..2).await;
    // A server that hangs reads no notifications, and would fill PostgreSQL's queue of them.
    until("the end of the connections of the server that hangs", async || {
        let connected = "SELECT FROM pg_stat_activity WHERE right(application_name, 16) = $1";
        database.query(connected, &[&token]).await.is_empty()
    })
    .await;
    program.signal(Signal::CONT);
    // It forgets remembered callers and connects to PostgreSQL again, so it is unavailable for a moment.
    until("a server that is back", async || there.get("/alarm/alarms").await.status == 200).await;

    let last = missed.last().unwrap();
    assert_eq!(heard_until(&session, last).await, None);
    assert_eq!(heard_until(&own, last).await, Some(missed.clone()));
    let again = there.listen("/alarms/*").await;
    let raised = raise(&server.admin(), &device, 2..3).await;
    assert_eq!(heard_until(&again, &raised[0]).await, Some(raised.clone()));
}
