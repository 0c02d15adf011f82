//! A bulk operation whose server is killed (`kill -9`) or frozen in its middle continues. No operation is created twice
//! or left out, and the ramp is not compressed (K-05, K-11).

use std::path::Path;

use rustix::process::Signal;
use time::OffsetDateTime;

use super::*;
use crate::bulk_operations::{
    BULK, LONG, assert_each_has_one, bulk_of, completed, fleet, operations, plan, shown, under_way,
};

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));

/// Starts a process on a database that survives it.
fn serve(database: &TestDatabase, directory: &Path) -> Program {
    let mut command = Program::command_on(database, directory);
    command.env("PLATFORM_BULK_LEASE_SECONDS", "2");
    Program::serve_with(command)
}

async fn kill(mut program: Program) {
    program.signal(Signal::KILL);
    program.ended_within(Duration::from_secs(5)).await;
}

/// Checks that no operation that was created after this moment was created too early.
async fn assert_no_burst(database: &TestDatabase, since: OffsetDateTime, ramp: f64) {
    let created = operations(database).await;
    let mut turns = 0;
    for (turn, created) in created.iter().filter(|created| created.at > since).enumerate() {
        let after = (created.at - since).as_seconds_f64();
        assert!(after >= ramp * turn as f64 - 0.01, "{turn}: {after}");
        turns += 1;
    }
    assert!(turns > 0, "nothing was left to do");
}

#[tokio::test]
async fn ramp_continues_without_a_burst_when_the_server_starts_again() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let program = serve(&database, directory.path());
    let group = fleet(&database, 30).await;
    let link = plan(&Caller::new(program.base(), ADMIN), &bulk_of(&group, 0.2)).await;
    let path = link.replace(program.base(), "");
    under_way(&database, 5).await;

    kill(program).await;
    let killed = OffsetDateTime::now_utc();
    let restarted = serve(&database, directory.path());

    completed(&Caller::new(restarted.base(), ADMIN), &path).await;
    assert_each_has_one(&database, 30).await;
    assert_no_burst(&database, killed, 0.2).await;
}

#[tokio::test]
async fn kill_9_at_many_moments_repeats_nothing_and_leaves_nothing_out() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let group = fleet(&database, 20_000).await;
    let mut program = serve(&database, directory.path());
    // Steps with many operations follow each other, so that most kills hit one.
    let link = plan(&Caller::new(program.base(), ADMIN), &bulk_of(&group, 0.0)).await;
    let path = link.replace(program.base(), "");

    for _ in 0..5 {
        let before = database.count("operations").await;
        under_way(&database, (before + 300).min(20_000)).await;
        kill(program).await;
        program = serve(&database, directory.path());
    }

    let done = completed(&Caller::new(program.base(), ADMIN), &path).await;
    assert_eq!(done["progress"]["pending"], 20_000);
    assert_each_has_one(&database, 20_000).await;
}

#[tokio::test]
async fn acknowledged_one_starts_although_the_server_was_killed_before_its_time() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let group = fleet(&database, 5).await;
    let program = serve(&database, directory.path());
    let mut body = bulk_of(&group, 0.0);
    body["startDate"] = shown(OffsetDateTime::now_utc() + time::Duration::seconds(1));
    let link = plan(&Caller::new(program.base(), ADMIN), &body).await;
    let path = link.replace(program.base(), "");

    kill(program).await;
    let restarted = serve(&database, directory.path());

    completed(&Caller::new(restarted.base(), ADMIN), &path).await;
    assert_each_has_one(&database, 5).await;
}

#[tokio::test]
async fn other_server_continues_when_the_one_at_work_is_killed() {
    let (database, directories) = (TestDatabase::create().await, [scratch(), scratch()]);
    let killed = serve(&database, directories[0].path());
    let other = serve(&database, directories[1].path());
    let group = fleet(&database, 60).await;
    let link = plan(&Caller::new(killed.base(), ADMIN), &bulk_of(&group, 0.05)).await;
    let path = link.replace(killed.base(), "");
    under_way(&database, 10).await;

    kill(killed).await;
    let since = OffsetDateTime::now_utc();

    completed(&Caller::new(other.base(), ADMIN), &path).await;
    assert_each_has_one(&database, 60).await;
    assert_no_burst(&database, since, 0.05).await;
}

#[tokio::test]
async fn process_that_wakes_up_after_it_was_replaced_creates_nothing_more() {
    let (database, directories) = (TestDatabase::create().await, [scratch(), scratch()]);
    let frozen = serve(&database, directories[0].path());
    let other = serve(&database, directories[1].path());
    let group = fleet(&database, 400).await;
    let link = plan(&Caller::new(frozen.base(), ADMIN), &bulk_of(&group, 0.02)).await;
    let path = link.replace(frozen.base(), "");
    under_way(&database, 20).await;

    frozen.signal(Signal::STOP);
    // A transaction that is left open delays the other server only for a while.
    let taken = "SELECT fence > 1 FROM bulk_operations";
    until_within(LONG, "the other server", async || database.query(taken, &[]).await[0].get::<_, bool>(0))
        .await;
    frozen.signal(Signal::CONT);

    until_within(LONG, "the end of the replaced run", async || {
        frozen.log().contains("was taken over by another process")
    })
    .await;
    let done = completed(&Caller::new(other.base(), ADMIN), &path).await;
    assert_eq!(done["progress"]["pending"], 400);
    assert_each_has_one(&database, 400).await;
}

#[tokio::test]
async fn orderly_stop_leaves_the_rest_to_the_next_start_at_once() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let mut program = serve(&database, directory.path());
    let group = fleet(&database, 30).await;
    let link = plan(&Caller::new(program.base(), ADMIN), &bulk_of(&group, 0.2)).await;
    let path = link.replace(program.base(), "");
    under_way(&database, 3).await;

    program.signal(Signal::TERM);
    assert!(program.ended_within(Duration::from_secs(30)).await.success());
    let held = "SELECT count(*) FROM bulk_operations WHERE leased_until > now()";
    assert_eq!(database.query(held, &[]).await[0].get::<_, i64>(0), 0);
    let stopped = OffsetDateTime::now_utc();
    let restarted = serve(&database, directory.path());

    completed(&Caller::new(restarted.base(), ADMIN), &path).await;
    assert_each_has_one(&database, 30).await;
    assert_no_burst(&database, stopped, 0.2).await;
}

#[tokio::test]
async fn change_is_whole_or_absent_when_the_server_is_killed_meanwhile() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let group = fleet(&database, 5000).await;
    let mut program = serve(&database, directory.path());
    plan(&Caller::new(program.base(), ADMIN), &bulk_of(&group, 0.001)).await;

    for _ in 0..3 {
        let admin = Caller::new(program.base(), ADMIN);
        let listed = admin.read(BULK).await;
        let link = format!("{BULK}/{}", listed["bulkOperations"][0]["id"].as_str().unwrap());
        let before = database.count("operations").await;
        under_way(&database, before + 20).await;
        let put = tokio::spawn(async move {
            admin.request("PUT", &link).json(&json!({"creationRamp": 0.001})).try_send().await
        });
        until_within(LONG, "the beginning of the change", async || {
            let active = "SELECT pg_stat_activity.query FROM pg_stat_activity WHERE state = 'active'";
            put.is_finished() || !database.query(active, &[]).await.is_empty()
        })
        .await;
        kill(program).await;
        put.await.unwrap();
        program = serve(&database, directory.path());
    }

    let admin = Caller::new(program.base(), ADMIN);
    let listed = admin.read(BULK).await;
    let [last] = listed["bulkOperations"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    let done = completed(&admin, &format!("{BULK}/{}", last["id"].as_str().unwrap())).await;
    assert_eq!((&done["status"], &done["progress"]["pending"]), (&json!("COMPLETED"), &json!(5000)));
    let twice =
        "SELECT count(*) FROM (SELECT FROM operations GROUP BY bulk_operation, device HAVING count(*) > 1) x";
    assert_eq!(database.query(twice, &[]).await[0].get::<_, i64>(0), 0);
}
