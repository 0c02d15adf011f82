//! Two servers on one database: no duplicate, no miss (K-05, K-11).

use std::time::Duration;

use serde_json::json;
use time::OffsetDateTime;

use super::{BULK, assert_each_has_one, bulk_of, completed, fleet, later_of, operations, plan, under_way};
use crate::harness::{TestDatabase, TestServer, eventually};

#[tokio::test]
async fn other_server_continues_at_once_when_one_stops_in_an_orderly_way() {
    let database = TestDatabase::create().await;
    // The leases of this server would outlast the test.
    let change =
        |settings: &mut platform_front::config::Settings| settings.limits.bulk_lease = Duration::from_secs(6);
    let stopping = TestServer::start_on(&database, change).await;
    let other = TestServer::start_on(&database, change).await;
    let group = fleet(&database, 30).await;
    let link = plan(&stopping.admin(), &bulk_of(&group, 0.1)).await;
    let path = link.replace(stopping.base(), "");
    under_way(&database, 3).await;

    stopping.stop().await;

    let fence = database.query("SELECT fence, leased_until < now() FROM bulk_operations", &[]).await;
    assert!(fence[0].get::<_, i64>(0) > 1, "it was given back");
    completed(&other.admin(), &path).await;
    assert_each_has_one(&database, 30).await;
}

#[tokio::test]
async fn run_whose_process_is_gone_is_taken_over_without_a_burst() {
    let database = TestDatabase::create().await;
    let change =
        |settings: &mut platform_front::config::Settings| settings.limits.bulk_lease = Duration::from_secs(1);
    let (_server, admin) = TestServer::start_on(&database, change).await.with_admin();
    let group = fleet(&database, 12).await;
    let link = plan(&admin, &later_of(&group)).await;
    // The rows are as left by a process that was killed in the middle, long ago.
    let chosen = "INSERT INTO bulk_operation_targets (tenant, bulk_operation, position, device) \
        SELECT b.tenant, b.id, n, 1001 + n FROM bulk_operations b, generate_series(0, 11) n";
    database.execute(chosen, &[]).await;
    let created = "INSERT INTO operations (tenant, id, device, status, bulk_operation, created_at, fragments) \
        SELECT b.tenant, nextval('operation_ids'), 1001 + n, 'PENDING', b.id, now() - interval '1 hour', '{}' \
        FROM bulk_operations b, generate_series(0, 3) n";
    database.execute(created, &[]).await;
    let begun = OffsetDateTime::now_utc();
    let left = "UPDATE bulk_operations SET chosen = true, total = 12, place = 4, ramp = 0.2, fence = 7, \
        due_at = now() - interval '1 hour', leased_until = now() - interval '50 minutes'";
    database.execute(left, &[]).await;

    completed(&admin, &link).await;

    assert_each_has_one(&database, 12).await;
    for (turn, created) in operations(&database).await.iter().skip(4).enumerate() {
        let after = (created.at - begun).as_seconds_f64();
        assert!(after >= 0.2 * turn as f64, "{turn}: {after}");
    }
}

#[tokio::test]
async fn run_that_is_at_work_is_left_to_its_server() {
    let database = TestDatabase::create().await;
    let change =
        |settings: &mut platform_front::config::Settings| settings.limits.bulk_lease = Duration::from_secs(1);
    let (_server, admin) = TestServer::start_on(&database, change).await.with_admin();
    let group = fleet(&database, 3).await;
    let foreign = plan(&admin, &later_of(&group)).await;
    let held = "UPDATE bulk_operations SET due_at = now(), leased_until = now() + interval '1 hour'";
    database.execute(held, &[]).await;

    // The server executes an operation of its own meanwhile, for longer than several checks take.
    completed(&admin, &plan(&admin, &bulk_of(&group, 1.0)).await).await;

    assert_eq!(database.count("operations").await, 3);
    assert_eq!(admin.read(&foreign).await["status"], "ACTIVE");
}

#[tokio::test]
async fn deletion_by_another_server_stops_the_one_at_work() {
    let database = TestDatabase::create().await;
    let (at_work, other) =
        (TestServer::start_on(&database, |_| {}).await, TestServer::start_on(&database, |_| {}).await);
    let group = fleet(&database, 50).await;
    let link = plan(&at_work.admin(), &bulk_of(&group, 0.1)).await;
    let path = link.replace(at_work.base(), "");
    under_way(&database, 2).await;

    assert_eq!(other.admin().delete(&path).await.status, 204);
    let created = database.count("operations").await;

    let new = other.admin().create(BULK, &json!({
        "groupId": group, "startDate": "2024-01-01T00:00:00Z", "creationRamp": 0, "operationPrototype": {}
    })).await;
    completed(&other.admin(), new["self"].as_str().unwrap()).await;
    assert_eq!(database.count("operations").await, created + 50);
}

#[tokio::test]
async fn servers_that_take_each_others_runs_over_all_the_time_neither_repeat_nor_miss() {
    let database = TestDatabase::create().await;
    let change =
        |settings: &mut platform_front::config::Settings| settings.limits.bulk_lease = Duration::from_secs(1);
    let (one, _two) =
        (TestServer::start_on(&database, change).await, TestServer::start_on(&database, change).await);
    let admin = one.admin();
    let group = fleet(&database, 150).await;
    let link = plan(&admin, &bulk_of(&group, 0.03)).await;

    // Leases are ended early, again and again.
    eventually("the middle of the run", async || {
        database.execute("UPDATE bulk_operations SET leased_until = '-infinity'", &[]).await;
        (database.count("operations").await > 75).then_some(())
    })
    .await;

    let done = completed(&admin, &link).await;
    assert_eq!(done["progress"]["pending"], 150);
    assert_each_has_one(&database, 150).await;
}
