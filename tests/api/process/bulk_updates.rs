//! `kill -9` in the middle of a bulk update of alarms: the update continues, and changes nothing twice.

use std::path::Path;

use rustix::process::Signal;
use tempfile::TempDir;

use super::*;
use crate::harness::bulk_updates::{count_of, fill};

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));
const ALARMS: i64 = 12_000;
/// The time that a bulk update may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// The status of the response to a PUT; `None` if there was no response.
type Asked = tokio::task::JoinHandle<Option<u16>>;

/// Starts a process on a database that survives it.
fn serve(database: &TestDatabase, directory: &Path) -> Program {
    let mut command = Program::command_on(database, directory);
    command.env("PLATFORM_BULK_LEASE_SECONDS", "2");
    Program::serve_with(command)
}

/// Starts to clear all alarms, and sends the process a signal in the middle.
async fn begin_and_signal(database: &TestDatabase, program: &Program, signal: Signal) -> Asked {
    let admin = Caller::new(program.base(), ADMIN);
    let devices = [admin.create_device("pump").await, admin.create_device("motor").await];
    fill(database, &devices, ALARMS).await;
    let asked = tokio::spawn(async move {
        let request = admin.request("PUT", "/alarm/alarms?resolved=false");
        request.json(&json!({"status": "CLEARED"})).try_send().await.map(|answer| answer.status)
    });
    until("the middle of the bulk update", async || count_of(database, "CLEARED").await > 1000).await;
    program.signal(signal);
    asked
}

/// Starts to clear all alarms, and kills the process in the middle.
async fn kill_in_the_middle(database: &TestDatabase, mut program: Program) {
    let asked = begin_and_signal(database, &program, Signal::KILL).await;
    program.ended_within(Duration::from_secs(5)).await;
    // The server may have been killed before it could respond.
    assert!([None, Some(202)].contains(&asked.await.unwrap()));
}

async fn assert_everything_is_changed_once(database: &TestDatabase) {
    until_within(PATIENCE, "the end of the bulk update", async || {
        database.count("bulk_alarm_updates").await == 0
    })
    .await;
    assert_eq!(count_of(database, "CLEARED").await, ALARMS);
    let statement =
        "SELECT count(DISTINCT source), count(*), min(user_name), max(user_name) FROM audit_records";
    let row = &database.query(statement, &[]).await[0];
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (ALARMS, ALARMS));
    assert_eq!((row.get::<_, &str>(2), row.get::<_, &str>(3)), ("admin", "admin"));
    let statement = "SELECT count(*) FROM alarms WHERE revision <> 1";
    assert_eq!(database.query(statement, &[]).await[0].get::<_, i64>(0), 0);
}

#[tokio::test]
async fn bulk_update_continues_when_the_server_starts_again() {
    let (database, directory): (_, TempDir) = (TestDatabase::create().await, scratch());
    kill_in_the_middle(&database, serve(&database, directory.path())).await;
    assert!(count_of(&database, "CLEARED").await < ALARMS, "it was not in the middle");

    let _restarted = serve(&database, directory.path());

    assert_everything_is_changed_once(&database).await;
}

#[tokio::test]
async fn other_server_continues_with_the_bulk_update_of_one_that_was_killed() {
    let (database, directories) = (TestDatabase::create().await, [scratch(), scratch()]);
    let killed = serve(&database, directories[0].path());
    let _other = serve(&database, directories[1].path());

    kill_in_the_middle(&database, killed).await;

    assert_everything_is_changed_once(&database).await;
}

#[tokio::test]
async fn process_that_wakes_up_after_it_was_replaced_changes_nothing_more() {
    let (database, directories) = (TestDatabase::create().await, [scratch(), scratch()]);
    let frozen = serve(&database, directories[0].path());
    let other = serve(&database, directories[1].path());
    let asked = begin_and_signal(&database, &frozen, Signal::STOP).await;
    // A transaction that is left open delays the others only for a while.
    until_within(PATIENCE, "the end of the bulk update", async || {
        database.count("bulk_alarm_updates").await == 0
    })
    .await;
    assert_everything_is_changed_once(&database).await;
    let admin = Caller::new(other.base(), ADMIN);
    let opened = admin.request("PUT", "/alarm/alarms?resolved=true").json(&json!({"status": "ACTIVE"}));
    assert!([200, 202].contains(&opened.send().await.status));

    frozen.signal(Signal::CONT);

    frozen.line_with("was taken over by another process").await;
    until_within(PATIENCE, "the end of the second bulk update", async || {
        database.count("bulk_alarm_updates").await == 0
    })
    .await;
    assert_eq!(count_of(&database, "ACTIVE").await, ALARMS);
    assert_eq!(database.count("audit_records").await, 2 * ALARMS);
    drop(asked);
}
