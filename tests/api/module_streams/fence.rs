//! Writes of a module succeed only while its process holds the modules of the tenant.

use tokio_postgres::NoTls;

use super::*;

const COPIES: &str = "module copies;
    @Name('seen') select measurement.type as type from MeasurementCreated;
    @Name('copy') insert into CreateEvent
        select 'copied' as type, 'copied' as text, current_timestamp().toDate() as time, measurement.source as source
        from MeasurementCreated;";
const TAKE_OVER: &str = "UPDATE module_leases SET process = 0, fence = fence + 1, fed_at = now(), \
    leased_until = now() + interval '1 hour'";
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE query LIKE '%hold_module_lease%' AND wait_event_type = 'Lock' AND datname = current_database()";
const TIME: &str = "2024-03-10T02:30:00.000+01:00";

#[tokio::test]
async fn write_that_meets_a_take_over_is_not_made_and_what_clients_write_is() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    deploy(&admin, COPIES).await;
    let session = admin.listen("/copies/copy").await;
    admin.create("/measurement/measurements", &measurement_of(&device, TIME, 1)).await;
    session.receive(1).await;
    let count = async || server.count("events").await;
    until("the first copy", async || count().await == 1).await;
    let (other, connection) = tokio_postgres::connect(server.database().url(), NoTls).await.unwrap();
    tokio::spawn(connection);

    other.batch_execute("BEGIN").await.unwrap();
    assert_eq!(other.execute(TAKE_OVER, &[]).await.unwrap(), 1);
    admin.create("/measurement/measurements", &measurement_of(&device, TIME, 2)).await;
    let waiting = async || server.database().query(WAITING, &[]).await[0].get::<_, i64>(0);
    until("the write to wait", async || waiting().await > 0).await;
    let body = event_of(&device, "by a client");
    let sent = join_all((0..20).map(|_| admin.post("/event/events", &body)));
    let commit = async { other.batch_execute("COMMIT").await.unwrap() };
    let (sent, ()) = tokio::join!(sent, commit);

    assert!(sent.iter().all(|answer| answer.status == 201));
    until("the write to end", async || waiting().await == 0).await;
    assert_eq!(count().await, 1 + sent.len() as i64);
    assert_eq!(admin.read("/event/events?type=copied").await["events"].as_array().unwrap().len(), 1);
}
