//! One process at a time runs the modules of a tenant.

use std::time::Duration;

use platform_front::config::Settings;

use super::{counting, deploy, events, events_come, marking, measure};
use crate::harness::tenants::{create_tenant, management};
use crate::harness::{TestDatabase, TestServer, eventually};
use serde_json::json;

/// Returns the process that holds the modules, and its fence.
async fn holder(database: &TestDatabase) -> (i64, i64) {
    let rows = database.query("SELECT process, fence FROM module_leases WHERE tenant = 'main'", &[]).await;
    (rows[0].get(0), rows[0].get(1))
}

#[tokio::test]
async fn of_two_servers_exactly_one_runs_a_module() {
    let database = TestDatabase::create().await;
    let one = TestServer::start_on(&database, |_| {}).await;
    let other = TestServer::start_on(&database, |_| {}).await;
    let admin = one.admin();
    let device = admin.create_device("pump").await;
    deploy(&admin, &marking("marks", "seen")).await;
    // Deploying through another server does not move the lease.
    deploy(&other.admin(), &marking("notes", "noted")).await;
    eventually("the second module", async || {
        measure(&admin, &device, 20).await;
        events(&admin, "noted").await.pop()
    })
    .await;

    for value in 0..20 {
        measure(&admin, &device, value).await;
    }

    let sent = usize::try_from(database.count("measurements").await).unwrap();
    events_come(&admin, "seen", sent).await;
    assert_eq!(events(&admin, "seen").await.len(), sent);
}

#[tokio::test]
async fn other_server_takes_over_at_once_when_one_stops_in_an_orderly_way() {
    let database = TestDatabase::create().await;
    let change = |settings: &mut Settings| settings.limits.module_lease = Duration::from_secs(600);
    let stopping = TestServer::start_on(&database, change).await;
    let device = stopping.admin().create_device("pump").await;
    deploy(&stopping.admin(), &marking("marks", "seen")).await;
    let (process, fence) = holder(&database).await;
    // The second server starts after the first one holds the modules; otherwise either could hold them.
    let other = TestServer::start_on(&database, change).await;

    stopping.stop().await;

    let admin = other.admin();
    eventually("an event of the module", async || {
        measure(&admin, &device, 20).await;
        events(&admin, "seen").await.pop()
    })
    .await;
    let (now, by) = holder(&database).await;
    assert!(now != process && by > fence, "{now} by {by}");
}

#[tokio::test]
async fn modules_whose_process_is_gone_are_taken_over() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let device = server.admin().create_device("pump").await;
    deploy(&server.admin(), &marking("marks", "seen")).await;
    server.stop().await;
    // The row is as left by a killed process.
    let left = "UPDATE module_leases SET process = 0, leased_until = now() + interval '1 second'";
    database.execute(left, &[]).await;

    let server = TestServer::start_on(&database, |settings| {
        settings.limits.module_lease = Duration::from_secs(1);
    })
    .await;

    let admin = server.admin();
    eventually("an event of the module", async || {
        measure(&admin, &device, 20).await;
        events(&admin, "seen").await.pop()
    })
    .await;
}

#[tokio::test]
async fn module_whose_server_lost_its_connection_for_a_moment_keeps_its_state() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    deploy(&admin, &counting("counts")).await;
    measure(&admin, &device, 20).await;
    events_come(&admin, "count", 1).await;
    let session = async || {
        let session = "SELECT session_pid, fence FROM module_leases WHERE tenant = 'main'";
        let row = &server.database().query(session, &[]).await[0];
        (row.get::<_, i32>(0), row.get::<_, i64>(1))
    };
    let (pid, fence) = session().await;

    server.database().query("SELECT pg_terminate_backend($1)", &[&pid]).await;
    let (_, now) =
        eventually("another connection", async || Some(session().await).filter(|(now, _)| *now != pid)).await;
    measure(&admin, &device, 21).await;

    assert_eq!(now, fence, "nobody took over");
    assert_eq!(events_come(&admin, "count", 2).await, ["1", "2"]);
}

#[tokio::test]
async fn modules_stay_and_see_what_another_server_writes() {
    let database = TestDatabase::create().await;
    let idle = TestServer::start_on(&database, |_| {}).await;
    let busy = TestServer::start_on(&database, |_| {}).await;
    let device = idle.admin().create_device("pump").await;
    deploy(&idle.admin(), &marking("marks", "seen")).await;
    let before = holder(&database).await;

    let admin = busy.admin();
    eventually("an event of the module", async || {
        measure(&admin, &device, 20).await;
        events(&admin, "seen").await.pop()
    })
    .await;

    assert_eq!(holder(&database).await, before);
    drop(idle);
}

#[tokio::test]
async fn writes_of_a_module_after_it_was_taken_over_are_rejected() {
    let database = TestDatabase::create().await;
    // The lease is so long that the server does not notice the take-over during the test.
    let server = TestServer::start_on(&database, |settings| {
        settings.limits.module_lease = Duration::from_secs(600);
    })
    .await;
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let telling = "module tells;\n\
        insert into CreateEvent\n\
        select 'told' as type, cast(getNumber(m, 'env.t.value'), string) as text,\n    \
            m.measurement.time as time, m.measurement.source.value as source\n\
        from MeasurementCreated m;\n";
    deploy(&admin, telling).await;
    let session = admin.listen("/tells/*").await;
    measure(&admin, &device, 1).await;
    events_come(&admin, "told", 1).await;

    // The lease is renewed when a module is deployed, and then not again for a long time.
    let renewed = async || {
        let renewed = "SELECT leased_until::text FROM module_leases WHERE tenant = 'main'";
        database.query(renewed, &[]).await[0].get::<_, String>(0)
    };
    eventually("a lease that is left alone", async || {
        let before = renewed().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        (renewed().await == before).then_some(())
    })
    .await;

    database.execute("UPDATE module_leases SET fence = fence + 1", &[]).await;
    measure(&admin, &device, 2).await;
    measure(&admin, &device, 3).await;
    // Writes for one device keep their order: when the next one is requested, the one before has been executed.
    session.receive(3).await;
    measure(&admin, &device, 4).await;
    session.receive(1).await;
    database.execute("UPDATE module_leases SET fence = fence - 1", &[]).await;
    measure(&admin, &device, 5).await;

    let told = eventually("the last event", async || {
        Some(events(&admin, "told").await).filter(|told| told.contains(&"5".to_owned()))
    })
    .await;
    assert_eq!((&*told[0], told.contains(&"2".to_owned())), ("1", false), "{told:?}");
}

#[tokio::test]
async fn modules_of_a_suspended_tenant_do_not_run() {
    let server =
        TestServer::start_with(|settings| settings.limits.module_lease = Duration::from_secs(2)).await;
    let boss = create_tenant(&server, "t7").await;
    deploy(&boss, "module ticks;\nselect 1 as n from pattern [every timer:interval(1 seconds)];\n").await;
    let held = async || {
        let held = "SELECT leased_until > now() FROM module_leases WHERE tenant = 't7'";
        server.database().query(held, &[]).await[0].get::<_, bool>(0)
    };
    assert!(held().await);

    let status = async |status: &str| {
        management(&server).put("/tenant/tenants/t7", &json!({"status": status})).await.expect(200);
    };
    status("SUSPENDED").await;
    eventually("the end of the lease", async || (!held().await).then_some(())).await;

    status("ACTIVE").await;
    eventually("another lease", async || held().await.then_some(())).await;
}
