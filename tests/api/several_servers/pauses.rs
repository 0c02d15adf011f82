//! A server that was stopped for some seconds, as by a live migration, and continues (R-11).

use std::time::SystemTime;

use reqwest::Method;
use rustix::process::Signal;
use tokio::time::sleep;

use super::failures::cut_listening_connections;
use super::*;

/// The pause: longer than the interval of the sessions and the time of a ping, and shorter than a lease.
const PAUSE: Duration = Duration::from_millis(3500);

/// Sends a request, which waits in the socket of a server that does not run.
async fn send(address: &str, caller: &Caller, path: &str, body: &serde_json::Value) -> RawConnection {
    let mut connection = RawConnection::open(address.parse().unwrap()).await;
    let authorization = format!("Authorization: {}", caller.authorization().unwrap());
    let line = format!("{} {path} HTTP/1.1", Method::POST);
    // The server remembers callers by host.
    let host = format!("Host: {address}");
    let head = [&*line, &host, &authorization, "Accept: application/json", "Connection: close"];
    connection.request(&head, &body.to_string()).await;
    connection
}

#[tokio::test]
async fn paused_server_knows_the_rights_of_now_and_keeps_its_sessions() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let server = TestServer::start_on(&database, |_| {}).await;
    let device = server.admin().create_device("pump").await;
    let joe = server.user_with("joe", &["ROLE_ALARM_ADMIN"]).await;
    let mut command = Program::command_on(&database, directory.path());
    command.env("PLATFORM_SESSION_INTERVAL_MS", "2000").env("PLATFORM_DATABASE_PING_MS", "1000");
    let program = Program::serve_with(command);
    let address = program.base().strip_prefix("http://").unwrap();
    let at = |name: &str| Caller::new(program.base(), Some((name, ADMIN_PASSWORD)));
    at("joe").raise_alarm(&device, "before").await;
    let sessions: Vec<Session> = {
        let admin = at("admin");
        futures_util::future::join_all((0..20).map(async |_| admin.session().await)).await
    };

    program.signal(Signal::STOP);
    // The program is not notified of the change, so it knows only that it was paused.
    cut_listening_connections(&database).await;
    drop(joe);
    assert_eq!(server.admin().delete("/user/main/users/joe/roles/ROLE_ALARM_ADMIN").await.status, 204);
    let mut writes = Vec::new();
    for n in 0..6 {
        let alarm = alarm_of(&device, &format!("late{n}"));
        writes.push(send(address, &at("joe"), "/alarm/alarms", &alarm).await);
    }
    let mut connects = Vec::new();
    for session in &sessions {
        let connect = json!([session.message("/meta/connect", json!({"advice": {"timeout": 0}}))]);
        connects.push(send(address, &at("admin"), crate::harness::REALTIME, &connect).await);
    }
    sleep(PAUSE).await;
    program.signal(Signal::CONT);

    for mut write in writes {
        let answer = write.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    for mut connect in connects {
        let answer = connect.read_to_end().await;
        assert!(answer.contains(r#""successful":true"#), "{answer}");
    }
    program.line_with("this server did not run for a while").await;
}

#[tokio::test]
async fn response_to_a_ping_that_came_during_a_pause_is_not_missed() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let mut command = Program::command_on(&database, directory.path());
    // The ping begins before the pause and its time ends in it.
    command.env("PLATFORM_DATABASE_PING_MS", "3000");
    let program = Program::serve_with(command);
    let (blocker, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    blocker.batch_execute("BEGIN; LOCK TABLE servers IN SHARE MODE").await.unwrap();
    until("a ping that waits", async || {
        let waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'servers'::regclass \
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        !database.query(waiting, &[]).await.is_empty()
    })
    .await;

    program.signal(Signal::STOP);
    blocker.batch_execute("ROLLBACK").await.unwrap();
    sleep(PAUSE).await;
    program.signal(Signal::CONT);

    let renewed = "SELECT FROM servers WHERE leased_until > $1";
    let before =
        database.query("SELECT max(leased_until) FROM servers", &[]).await[0].get::<_, SystemTime>(0);
    until("another ping", async || !database.query(renewed, &[&before]).await.is_empty()).await;
    program.line_with("this server did not run for a while").await;
    let log = program.log();
    assert!(!log.contains("no response to a ping"), "{log}");
}
