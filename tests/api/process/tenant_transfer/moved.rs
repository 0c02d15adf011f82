//! A tenant moves while it is used: every acknowledged write arrives, and changes that were made meanwhile, too.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::deployments::{Acme, CONSUMER};
use super::every_table::{empty, filled, insert_application};
use super::*;
use crate::harness::tenants::{TENANTS, create_tenant, management};

/// The changes of rows while they are copied: of keys that pass from one row to another, of rows that are deleted and
/// created again, and of rows that others depend on.
const CHANGES: &str = "
    UPDATE tenants SET company = 'Renamed', domain = 'renamed.example.com' WHERE id = 't7';
    UPDATE alarms SET status = 'CLEARED' WHERE tenant = 't7' AND id = 1;
    INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count, first_time,
        first_offset, created_at, fragments)
        VALUES ('t7', 2, 1, 'x', now(), 60, 'again', 'ACTIVE', 'MAJOR', 1, now(), 0, now(), '{}');
    DELETE FROM managed_objects WHERE tenant = 't7' AND id IN (3, 4000);
    UPDATE managed_objects SET fragments = '{\"name\": \"changed\"}' WHERE tenant = 't7' AND id = 2;
    INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments)
        VALUES ('t7', 6000, 'mia', now(), now(), '{}');
    DELETE FROM links WHERE tenant = 't7' AND child IN (5, 6);
    INSERT INTO links (tenant, kind, parent, child)
        VALUES ('t7', 'childDevices', 1, 5), ('t7', 'childDevices', 1, 6000);
    UPDATE external_ids SET object = 6000 WHERE tenant = 't7';
    DELETE FROM events WHERE tenant = 't7';
    DELETE FROM measurements WHERE tenant = 't7' AND id < first_id('2026-03-05') + 100;
    INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings)
        SELECT 't7', first_id(now()) + n, 2, now(), now()::timestamp, 1, '{7}' FROM generate_series(1, 500) n;
    UPDATE options SET value = 'south' WHERE tenant = 't7' AND key = 'place';
    UPDATE consumers SET position = 2 WHERE tenant = 't7' AND name = 'consumer1';
    DELETE FROM device_certificates WHERE tenant = 't7';
    INSERT INTO device_certificates (tenant, fingerprint, user_name, authority, issuers, serials, subject, not_before,
        not_after, created_at) VALUES ('t7', 'd', 'mia', 'f', '{x}', '{1}', 'again', now(), now(), now());
    DELETE FROM trusted_certificates WHERE tenant = 't7';
    DELETE FROM subscriptions WHERE tenant = 't7' AND application = 7001;
    DELETE FROM users WHERE tenant = 't7' AND name = 'service_rules'";

/// A trigger at the target that changes rows, also those that are copied once more.
pub(super) const DISTORT: &str = "
    CREATE FUNCTION distort() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.text = $$y$$; RETURN NEW; END';
    CREATE TRIGGER distort BEFORE INSERT OR UPDATE ON events FOR EACH ROW EXECUTE FUNCTION distort()";

#[tokio::test]
async fn rows_that_change_while_they_are_copied_arrive_as_they_are_in_the_end() {
    let (scratch, source, target) = (scratch(), filled().await, empty().await);
    let (mut client, connection) =
        tokio_postgres::connect(source.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    // A transaction that begins before the copy, with a part of its own, and ends after it.
    let early = client.transaction().await.unwrap();
    early
        .batch_execute(
            "INSERT INTO options (tenant, category, key, value) VALUES ('t7', 'plant', 'early', 'x');
            SAVEPOINT part;
            INSERT INTO options (tenant, category, key, value) VALUES ('t7', 'plant', 'early part', 'x');
            RELEASE part;
            LOCK TABLE links IN ACCESS EXCLUSIVE MODE",
        )
        .await
        .unwrap();

    let mut command = moving(&source, &target, scratch.path(), &["t7"]);
    let mut running = command.stdout(Stdio::null()).spawn().unwrap();
    let waiting = "SELECT 1 FROM pg_locks WHERE relation = 'links'::regclass AND NOT granted";
    until("the copy at the locked table", async || !source.query(waiting, &[]).await.is_empty()).await;
    early.batch_execute(CHANGES).await.unwrap();
    early.commit().await.unwrap();

    assert!(running.wait().unwrap().success());
    let count = async |rows: &str| target.count(rows).await;
    assert_eq!(count("options WHERE tenant = 't7' AND category = 'plant'").await, 3);
    assert_eq!(count("alarms WHERE tenant = 't7'").await, 2);
    assert_eq!(count("managed_objects WHERE tenant = 't7'").await, 4999);
    assert_eq!(count("measurements WHERE tenant = 't7'").await, 3401);
    assert_eq!(count("events WHERE tenant = 't7'").await, 0);
    assert_eq!(count("revoked_certificates WHERE tenant = 't7'").await, 0);
    assert_eq!(count("subscriptions WHERE tenant = 't7'").await, 1);
    assert_eq!(count("tenants WHERE id = 't7' AND company = 'Renamed' AND moved_at IS NULL").await, 1);
    assert_eq!(count("tenants WHERE id = 't7' AND domain = 'renamed.example.com'").await, 1);
    assert_eq!(
        source.count("tenants WHERE id = 't7' AND status = 'SUSPENDED' AND moved_at > created_at").await,
        1
    );
    assert_eq!(source.count("pg_trigger WHERE tgname LIKE 'moving%'").await, 0);
    // Nobody could have acknowledged a later position, so the journal goes on without a gap.
    assert_eq!(count("consumers WHERE tenant = 't7' AND missed_from IS NULL AND position = 2").await, 2);
}

/// Raises alarms as one client, until one is rejected after `stop` was set. Returns the types of those that were
/// acknowledged.
async fn write_until(boss: Caller, device: String, client: usize, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut stored = Vec::new();
    for number in 0.. {
        let kind = format!("client {client} alarm {number}");
        let response = boss.post(ALARMS, &alarm_of(&device, &kind)).await;
        match response.status {
            201 => stored.push(kind),
            503 => {
                let after: u64 = response.header("retry-after").unwrap().parse().unwrap();
                assert!((1..=30).contains(&after), "{after}");
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            _ => panic!("{} {}", response.status, response.text),
        }
    }
    stored
}

#[tokio::test]
async fn tenant_that_moves_under_load_keeps_every_acknowledged_write_and_goes_on() {
    let (scratch, source, target) = (scratch(), TestServer::start().await, TestServer::start().await);
    let boss = create_tenant(&source, "acme").await;
    let acme = Acme::fill(&source, &boss).await;
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let boss = source.caller("acme/boss", ADMIN_PASSWORD);
            tokio::spawn(write_until(boss, acme.pump.clone(), client, stop.clone()))
        })
        .collect();

    let command = moving(source.database(), target.database(), scratch.path(), &["acme"]);
    let said = tokio::task::spawn_blocking(|| succeed(command)).await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let mut stored = BTreeSet::new();
    for client in clients {
        stored.extend(within(Duration::from_secs(30), "the end of a client", client).await.unwrap());
    }

    assert!(said.contains("acme has moved; its writes were rejected for"), "{said}");
    let there = target.caller("acme/boss", ADMIN_PASSWORD);
    let pages = there.pages(&format!("{ALARMS}?pageSize=2000")).await;
    let kinds = pages.iter().flat_map(|page| member_texts(page, "alarms", "type"));
    let arrived: BTreeSet<_> = kinds.filter(|kind| kind.starts_with("client")).collect();
    assert!(!stored.is_empty());
    let differing: Vec<_> = arrived.symmetric_difference(&stored).collect();
    assert!(differing.is_empty(), "{differing:?}");
    let unread = there.read(&format!("{CONSUMER}/notifications?wait=5&acknowledge={}", acme.position)).await;
    assert_eq!(unread["recovered"], true, "{unread}");
    acme.goes_on(&target, "acme").await;

    // The source rejects everything in such a way that clients try again.
    for response in [boss.get(ALARMS).await, boss.post(ALARMS, &alarm_of(&acme.pump, "late")).await] {
        assert_eq!((response.status, response.header("retry-after")), (503, Some("30")), "{}", response.text);
        assert!(response.text.contains("has moved to another deployment"), "{}", response.text);
    }
    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0"}]);
    assert_eq!(boss.bayeux("/notification/realtime", &handshake).await.status, 503);
    let status = json!({"status": "ACTIVE"});
    let path = format!("{TENANTS}/acme");
    assert_eq!(management(&source).read(&path).await["status"], "MOVED");
    management(&source).put(&path, &status).await.expect(409);
    management(&source).delete(&path).await.expect(204);
}

#[tokio::test]
async fn rehearsal_changes_nothing_and_impossible_moves_are_refused() {
    let (scratch, source, target) = (scratch(), filled().await, empty().await);
    let directory = scratch.path();
    let to_target = |arguments: &[&str]| moving(&source, &target, directory, arguments);

    let said = succeed(to_target(&["t7", "--dry-run"]));
    assert!(said.contains("t7 could be moved"), "{said}");
    let unchanged = async || {
        assert_eq!(
            source.count("tenants WHERE id = 't7' AND status = 'ACTIVE' AND moved_at IS NULL").await,
            1
        );
        assert_eq!(source.count("pg_trigger WHERE tgname LIKE 'moving%'").await, 0);
        assert_eq!(target.count("managed_objects WHERE tenant = 't7'").await, 0);
    };
    unchanged().await;

    refuse(to_target(&["absent"]), "no tenant with id 'absent'");
    refuse(to_target(&["management"]), "belongs to its deployment");
    target.execute("UPDATE deployment SET value = '00' WHERE name = 'secret key fingerprint'", &[]).await;
    refuse(to_target(&["t7"]), "the target, --to-secret-key-file: ");
    target
        .execute(
            "UPDATE deployment SET value = $1 WHERE name = 'secret key fingerprint'",
            &[&source.key().fingerprint()],
        )
        .await;
    target.execute("DELETE FROM applications WHERE name = 'rules'", &[]).await;
    refuse(to_target(&["t7"]), "applications that are not here: rules of tenant management");
    insert_application(&target, 8001).await;
    target.run_script(DISTORT).await;
    refuse(to_target(&["t7"]), "the table events has 1 rows with the digest");
    unchanged().await;
    target.insert_tenant("t7", "other.example.com").await;
    refuse(to_target(&["t7"]), "the target has a tenant t7 already");
    refuse(to_target(&["t7", "--undo"]), "delete it there first");
}
