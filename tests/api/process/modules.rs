//! What runs of the modules, as the metrics of a process tell.

use crate::harness::{Caller, Program, TestDatabase, eventually, scratch};
use crate::modules::{counting, deploy};

#[tokio::test]
async fn deployed_modules_are_planned_once_for_each_change() {
    let (database, directory) = (TestDatabase::create().await, scratch());
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_DATABASE_URL", database.url());
    command.env("PLATFORM_SECRET_KEY_FILE", database.data_dir().join("secret.key"));
    let program = Program::serve_with(command);
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    let looks = async || {
        let lease = "SELECT leased_until FROM module_leases WHERE tenant = 'main'";
        database.query(lease, &[]).await[0].get::<_, time::OffsetDateTime>(0)
    };
    for name in ["one", "two"] {
        deploy(&admin, &counting(name)).await;
        // Leases are renewed before modules are looked after: behind the second renewal the first look is over.
        for _ in 0..2 {
            let before = looks().await;
            eventually("a look after the modules", async || (looks().await > before).then_some(())).await;
        }
    }

    // What was told to the tenant's modules before is done when this has been.
    deploy(&admin, &counting("three")).await;

    let metrics = Caller::new(program.base(), None).get("/metrics").await.text;
    let line = metrics.lines().find_map(|line| line.strip_prefix("platform_module_plannings_total "));
    assert_eq!(line, Some("3"));
}
