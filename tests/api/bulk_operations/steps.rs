//! Tests steps while the database is unreachable, and steps for devices that are being deleted (K-05, K-11).

use time::OffsetDateTime;

use super::*;

#[tokio::test]
async fn ramp_continues_where_it_was_after_the_database_was_away_and_is_not_compressed() {
    let postgres = PrivatePostgres::start();
    let database = TestDatabase::at(postgres.url(), postgres.directory());
    let (_server, admin) = TestServer::start_on(&database, |_| {}).await.with_admin();
    let group = fleet(&database, 20).await;
    let link = plan(&admin, &bulk_of(&group, 0.25)).await;
    under_way(&database, 4).await;

    postgres.stop();
    // This is longer than the delay that the ramp catches up with.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let back = OffsetDateTime::now_utc();
    postgres.start_again();

    crate::harness::until("an answer", async || admin.get(&link).await.status == 200).await;
    completed(&admin, &link).await;
    assert_each_has_one(&database, 20).await;
    let created = operations(&database).await;
    let after = created.iter().filter(|created| created.at > back);
    for (turn, created) in after.enumerate() {
        let after = (created.at - back).as_seconds_f64();
        assert!(after >= 0.25 * turn as f64 - 0.01, "{turn}: {after}");
    }
}

#[tokio::test]
async fn devices_that_are_deleted_in_the_moment_of_their_turn_are_counted_or_served() {
    let (server, admin, group) = with_fleet(60).await;
    let link = plan(&admin, &bulk_of(&group, 0.02)).await;

    let deletions = tokio::spawn({
        let admin = admin.clone();
        async move {
            for device in 1001..=1060 {
                admin.delete(&format!("/inventory/managedObjects/{device}")).await.expect(204);
            }
        }
    });
    crate::harness::within(super::LONG, "the end of the devices", deletions).await.unwrap();

    let done = completed(&admin, &link).await;
    assert_eq!((&done["status"], &done["progress"]["all"]), (&json!("COMPLETED"), &json!(60)));
    assert_eq!(server.count("operations").await, 0, "operations go with their device");
}

#[tokio::test]
async fn step_whose_acknowledgement_was_lost_is_not_made_twice() {
    let (server, admin, group) = with_fleet(20).await;
    let link = plan(&admin, &bulk_of(&group, 0.3)).await;
    under_way(&server, 1).await;

    // The state after a commit whose response was lost: the stored position is ahead of the one that the process knows.
    // The lock on the row stops the run in the meantime; the statement returns the position after the step that may be
    // in progress.
    let steps = "WITH held AS ( \
            SELECT tenant, id, place FROM bulk_operations WHERE tenant = $1 FOR UPDATE), \
        served AS ( \
            SELECT held.tenant, held.id, t.device FROM held \
            JOIN bulk_operation_targets t \
            ON t.tenant = held.tenant AND t.bulk_operation = held.id AND t.position = held.place), \
        stored AS ( \
            INSERT INTO operations (tenant, id, device, status, bulk_operation, created_at, fragments) \
            SELECT tenant, nextval('operation_ids'), device, 'PENDING', id, now(), '{}' FROM served) \
        UPDATE bulk_operations SET place = place + 1 WHERE tenant = $1 AND EXISTS (SELECT FROM served)";
    server.execute(steps, &[]).await;

    let done = completed(&admin, &link).await;
    assert_eq!(
        done["progress"],
        json!({"pending": 20, "failed": 0, "executing": 0, "successful": 0, "all": 20})
    );
    assert_each_has_one(&server, 20).await;
}
