//! Leftovers of interrupted uploads at servers that died.

use super::*;

#[tokio::test]
async fn leftovers_of_more_than_a_day_go_when_a_server_starts_and_nothing_else_does() {
    let server = TestServer::start().await;
    let database = server.shared_database();
    let object = upload(&server.admin(), &named("kept"), b"kept").await;
    database.execute("UPDATE binaries SET created_at = now() - interval '2 days'", &[]).await;
    let leftovers = "INSERT INTO binaries (tenant, id, created_at) \
        SELECT 'main', n, now() - n * interval '1 hour' FROM generate_series(1, 99) n";
    database.execute(leftovers, &[]).await;
    let chunks = "INSERT INTO binary_chunks SELECT 'main', n, 0, 'x' FROM generate_series(1, 99) n";
    database.execute(chunks, &[]).await;

    let other = TestServer::start_on(&database, |_| {}).await;

    until("leftovers to go", async || {
        let old =
            "SELECT count(*) FROM binaries WHERE object IS NULL AND created_at < now() - interval '1 day'";
        database.query(old, &[]).await[0].get::<_, i64>(0) == 0
    })
    .await;
    assert_eq!(database.count("binary_chunks").await, 24, "23 younger than a day, and what is somebody's");
    assert_eq!(download(&other.admin(), &content_of(&object)).await, b"kept");
}
