//! Modules of a process: which of them run, according to its metrics, and the take-over after the process was killed.

use rustix::process::Signal;

use super::*;
use crate::harness::modules::{counting, deploy, events, events_come, marking, measure};

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));

/// Deploys, kills the server, starts it anew, and sends what a module is to see the moment it is ready.
async fn kill_restart_and_send(serve: impl Fn() -> Program) {
    let mut program = serve();
    let admin = Caller::new(program.base(), ADMIN);
    let device = admin.create_device("pump").await;
    deploy(&admin, &marking("marks", "seen")).await;
    measure(&admin, &device, 20).await;
    events_come(&admin, "seen", 1).await;
    program.signal(Signal::KILL);
    program.ended_within(Duration::from_secs(5)).await;

    let program = serve();
    let admin = Caller::new(program.base(), ADMIN);
    for value in 0..20 {
        measure(&admin, &device, value).await;
    }

    assert_eq!(events_come(&admin, "seen", 21).await.len(), 21);
}

#[tokio::test]
async fn modules_miss_nothing_of_a_server_that_is_ready_again_after_kill_9() {
    let directory = scratch_with_data();
    kill_restart_and_send(|| {
        let mut command = Program::command(directory.path(), &["--module-lease-seconds", "600"]);
        command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
        Program::serve_with(command)
    })
    .await;
}

#[tokio::test]
async fn modules_miss_nothing_of_a_server_that_is_ready_again_on_a_database_that_stayed() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    kill_restart_and_send(|| {
        let mut command = Program::command_on(&database, directory.path());
        command.env("PLATFORM_MODULE_LEASE_SECONDS", "600");
        Program::serve_with(command)
    })
    .await;
}

#[tokio::test]
async fn other_server_takes_over_though_the_lease_of_a_killed_one_lasts() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let mut command = Program::command_on(&database, directory.path());
    command.env("PLATFORM_MODULE_LEASE_SECONDS", "600");
    let mut killed = Program::serve_with(command);
    let device = Caller::new(killed.base(), ADMIN).create_device("pump").await;
    deploy(&Caller::new(killed.base(), ADMIN), &marking("marks", "seen")).await;
    // With this lease, the server checks for modules without a holder every second.
    let other = TestServer::start_on(&database, |settings| {
        settings.limits.module_lease = Duration::from_secs(3);
    })
    .await;
    let holder = async || {
        let holder = "SELECT process, leased_until > now() + interval '1 minute' FROM module_leases";
        let row = &database.query(holder, &[]).await[0];
        (row.get::<_, i64>(0), row.get::<_, bool>(1))
    };
    let before = holder().await;
    assert!(before.1, "the lease lasts");

    killed.signal(Signal::KILL);
    killed.ended_within(Duration::from_secs(5)).await;

    until("another holder", async || holder().await.0 != before.0).await;
    let admin = other.admin();
    eventually("an event of the module", async || {
        measure(&admin, &device, 20).await;
        events(&admin, "seen").await.pop()
    })
    .await;
}

#[tokio::test]
async fn deployed_modules_are_planned_once_for_each_change() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let program = Program::serve_with(Program::command_on(&database, directory.path()));
    let admin = Caller::new(program.base(), ADMIN);
    let looks = async || {
        let lease = "SELECT leased_until FROM module_leases WHERE tenant = 'main'";
        database.query(lease, &[]).await[0].get::<_, time::OffsetDateTime>(0)
    };
    for name in ["one", "two"] {
        deploy(&admin, &counting(name)).await;
        // Leases are renewed before modules are checked, so after the second renewal the first check is complete.
        for _ in 0..2 {
            let before = looks().await;
            until("a look after the modules", async || looks().await > before).await;
        }
    }

    // Everything that was sent to the tenant's modules before is processed when this deployment is complete.
    deploy(&admin, &counting("three")).await;

    let metrics = Caller::new(program.base(), None).get("/metrics").await.text;
    let line = metrics.lines().find_map(|line| line.strip_prefix("platform_module_plannings_total "));
    assert_eq!(line, Some("3"));
}
