//! While the last rows of a tenant are copied, PostgreSQL rejects its writes. A move that is killed at any step is
//! completed by the same command, or undone.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::Signal;

use super::deployments::register;
use super::every_table::{empty, filled};
use super::moved::DISTORT;
use super::*;
use crate::harness::csv;
use crate::harness::operations::{OPERATIONS, create_agent};
use crate::harness::tenants::{create_tenant, management};

/// Starts a move and returns it when it has printed a step.
fn until_step(mut command: Command, step: &str) -> std::process::Child {
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.as_mut().unwrap()).lines();
    let found = lines.find_map(|line| line.ok().filter(|line| line.contains(step)));
    assert!(found.is_some(), "the move ended before {step:?}");
    running
}

#[tokio::test]
async fn moving_tenant_rejects_every_write_and_others_are_stored() {
    let (scratch, source, target) = (scratch(), TestServer::start().await, TestServer::start().await);
    let boss = create_tenant(&source, "acme").await;
    let other = create_tenant(&source, "other").await;
    let (pump, valve) = (create_agent(&boss, "pump").await, other.create_device("valve").await);
    let device = source.caller("acme/device_sn-7", &register(&source, &boss, "sn-7").await);
    let session = boss.listen("/alarms/*").await;
    // The fence waits at this table, whose place is behind those of the writes below.
    let (mut client, connection) =
        tokio_postgres::connect(source.database().url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let writer = client.transaction().await.unwrap();
    writer.batch_execute("LOCK TABLE user_tokens, second_factors IN ROW EXCLUSIVE MODE").await.unwrap();
    let mut command = moving(source.database(), target.database(), scratch.path(), &["acme"]);
    let mut running = command.stdout(Stdio::null()).spawn().unwrap();
    let time = "2026-03-05T00:00:00Z";
    let event = |device: &str| json!({"source": {"id": device}, "type": "x", "time": time, "text": "x"});
    let mut stored = 0;
    let rejected = async || {
        let status = boss.post(EVENTS, &event(&pump)).await.status;
        stored += i64::from(status == 201);
        status == 503
    };
    until("the fence", rejected).await;
    let held = session.hold().await;

    let measurement = json!({"source": {"id": pump}, "type": "x", "time": time, "x": {"y": {"value": 1}}});
    let mut record = event(&pump);
    record["activity"] = json!("x");
    record["severity"] = json!("warning");
    let user = json!({"userName": "joe", "email": "joe@example.com", "password": "joes-secret"});
    for (path, body) in [
        (ALARMS, alarm_of(&pump, "leak")),
        (MEASUREMENTS, measurement),
        (OBJECTS, json!({"name": "valve"})),
        (OPERATIONS, json!({"deviceId": pump, "x": {}})),
        ("/user/acme/users", user),
        ("/tenant/options", json!({"category": "a", "key": "b", "value": "c"})),
        ("/retention/retentions", json!({"dataType": "ALARM", "maximumAge": 30})),
        ("/audit/auditRecords", record),
        ("/devicecontrol/newDeviceRequests", json!({"id": "sn"})),
    ] {
        let response = boss.post(path, &body).await;
        let is_left = path.ends_with("newDeviceRequests");
        let expected = if is_left { (201, None) } else { (503, Some("2")) };
        assert_eq!((response.status, response.header("retry-after")), expected, "{path}: {}", response.text);
        assert!(
            is_left || response.text.contains("'acme' is moving to another deployment"),
            "{}",
            response.text
        );
    }
    let renamed = boss.put(&format!("{OBJECTS}/{pump}"), &json!({"name": "new"})).await;
    assert_eq!(renamed.status, 503, "{}", renamed.text);
    assert_eq!(boss.delete(&format!("{OBJECTS}/{pump}")).await.status, 503);
    let rows = csv::request(&device, "100,valve,acme_Valve\n").send().await;
    assert_eq!((rows.status, &*rows.text), (200, "50,1,503\n"));
    boss.get(&format!("{OBJECTS}/{pump}")).await.expect(200);
    management(&source).put("/tenant/tenants/acme", &json!({"company": "x"})).await.expect(503);
    // Writes of others are in the same transactions.
    let (mine, theirs) = (event(&pump), event(&valve));
    for _ in 0..5 {
        let (mine, theirs) = tokio::join!(boss.post(EVENTS, &mine), other.post(EVENTS, &theirs));
        assert_eq!((mine.status, theirs.status), (503, 201), "{} {}", mine.text, theirs.text);
    }
    let fenced = "SELECT count(DISTINCT tgrelid) FROM pg_trigger WHERE tgname = 'moving_insert_acme'";
    assert!(source.database().query(fenced, &[]).await[0].get::<_, i64>(0) > 40);

    writer.rollback().await.unwrap();
    assert!(running.wait().unwrap().success());
    assert_eq!(target.database().count("events WHERE tenant = 'acme'").await, stored);
    drop(held);
}

#[tokio::test]
async fn writes_are_accepted_after_a_failed_move_although_a_backup_reads_the_tables() {
    let (scratch, source, target) = (scratch(), filled().await, empty().await);
    let (mut client, connection) =
        tokio_postgres::connect(source.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let backup = client.transaction().await.unwrap();
    backup.batch_execute("LOCK TABLE alarms, measurements IN ACCESS SHARE MODE").await.unwrap();
    target.run_script(DISTORT).await;
    let command = || moving(&source, &target, scratch.path(), &["t7"]);

    refuse(command(), "the table events has 1 rows with the digest");

    let in_use = "SELECT count(*) FILTER (WHERE tgenabled <> 'D'), count(*) > 0 FROM pg_trigger \
        WHERE tgname LIKE 'moving%'";
    let rows = source.query(in_use, &[]).await;
    assert_eq!((rows[0].get::<_, i64>(0), rows[0].get::<_, bool>(1)), (0, true));
    source.run_script("UPDATE alarms SET text = 'new' WHERE tenant = 't7'; DELETE FROM measurements").await;
    target.run_script("DROP TRIGGER distort ON events").await;
    succeed(command());
    assert_eq!(target.count("alarms WHERE tenant = 't7' AND text = 'new'").await, 1);
    let rows = source.query(in_use, &[]).await;
    assert_eq!((rows[0].get::<_, i64>(0), rows[0].get::<_, bool>(1)), (0, true));
}

#[tokio::test]
async fn fence_stands_until_a_paused_server_knows_that_the_tenant_has_moved() {
    let (scratch, source, target) = (scratch(), filled().await, empty().await);
    let server = Program::serve_with(Program::command_on(&source, scratch.path()));
    let command = || moving(&source, &target, scratch.path(), &["t7"]);
    server.signal(Signal::STOP);
    let is_over = "SELECT 1 FROM servers WHERE leased_until > now()";
    until("the end of its lease", async || source.query(is_over, &[]).await.is_empty()).await;

    refuse(command(), "t7 is at the target, and its writes are rejected here");

    let fenced =
        async || source.count("pg_trigger WHERE tgname LIKE 'moving%' AND tgenabled <> 'D'").await > 0;
    assert!(fenced().await);
    refuse(command(), "these servers do not respond");
    assert!(fenced().await);
    server.signal(Signal::CONT);
    let responds = async || run(command(), "").status.success();
    until("the move", responds).await;
    assert!(!fenced().await);
    assert_eq!(target.count("alarms WHERE tenant = 't7'").await, 1);
}

#[tokio::test]
async fn move_that_is_killed_at_any_step_is_completed_or_undone() {
    let (scratch, source, target) = (scratch(), TestServer::start().await, TestServer::start().await);
    let directory = scratch.path();
    for (number, step) in
        ["are copied", "meanwhile", "are rejected", "the same ones", "at the target"].iter().enumerate()
    {
        for undo in [false, true] {
            let tenant = format!("t{number}{undo}");
            let boss = create_tenant(&source, &tenant).await;
            let pump = boss.create_device("pump").await;
            boss.raise_alarm(&pump, "before").await;
            let command = |more: &[&str]| {
                moving(source.database(), target.database(), directory, &[&[&*tenant], more].concat())
            };

            let mut killed = until_step(command(&[]), step);
            killed.kill().unwrap();
            killed.wait().unwrap();
            let written = boss.post(ALARMS, &alarm_of(&pump, "after")).await.status;

            // The doctor names the tenant as soon as the connection of the command has ended.
            let named = async || {
                let said = run(on(source.database(), directory, &["doctor"], &[]), "").stdout;
                let fences = source.database().count("pg_trigger WHERE tgname LIKE 'moving_insert%'").await;
                let is_named = String::from_utf8(said).unwrap().contains(&format!("interrupted: {tenant}"));
                is_named == (fences > 0)
            };
            until("the finding", named).await;
            let there = target.caller(&format!("{tenant}/boss"), ADMIN_PASSWORD);
            let has_arrived = there.get(ALARMS).await.status == 200;
            if undo && !has_arrived {
                succeed(command(&["--undo"]));
                assert_eq!(
                    boss.read(ALARMS).await["alarms"].as_array().unwrap().len(),
                    1 + usize::from(written == 201)
                );
                boss.raise_alarm(&pump, "later").await;
                assert_eq!(there.get(ALARMS).await.status, 401, "{step}");
            } else {
                if undo {
                    refuse(command(&["--undo"]), "delete it there first");
                }
                succeed(command(&[]));
                let alarms = there.read(ALARMS).await;
                assert_eq!(
                    alarms["alarms"].as_array().unwrap().len(),
                    1 + usize::from(written == 201),
                    "{step}"
                );
                assert_eq!(boss.get(ALARMS).await.status, 503, "{step}");
                there.raise_alarm(&pump, "later").await;
            }
            let fences = source.database().count("pg_trigger WHERE tgname LIKE 'moving%'").await;
            assert_eq!(fences, 0, "{step}");
        }
    }
}
