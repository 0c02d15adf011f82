//! Tests what the database stores of tokens and secrets, and for how long (T-08).

use super::*;

#[tokio::test]
async fn neither_secret_nor_token_stands_in_the_database() {
    let server = TestServer::start().await;
    let client = client(&server).await;
    let token = client.token(&server).await;

    let dump = server.database().dump().await;

    assert!(dump.contains(&client.id), "the dump holds what is stored");
    assert!(!dump.contains(&client.secret) && !dump.contains(&token));
}

#[tokio::test]
async fn token_is_known_by_its_sha_256() {
    let server = TestServer::start().await;
    let token = client_with(&server, "READ").await.token(&server).await;

    let hash = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    let found = "SELECT count(*) FROM access_tokens WHERE hash = $1";

    assert_eq!(server.database().query(found, &[&hash.as_ref()]).await[0].get::<_, i64>(0), 1);
}

/// Adds `count` tokens of a client that expired `age` ago.
async fn insert_expired(database: &TestDatabase, client: &str, count: i64, age: Duration) {
    let statement = "INSERT INTO access_tokens SELECT 'main', sha256(($2 || n)::bytea), $1, '{READ}', now() - \
        interval '3 days', now() - make_interval(secs => $3) FROM generate_series(1, $4::bigint) n";
    let seconds = age.as_secs_f64();
    database.execute(statement, &[&client, &format!("{seconds} "), &seconds, &count]).await;
}

#[tokio::test]
async fn expired_tokens_are_known_for_an_hour_and_then_swept() {
    let server = TestServer::start().await;
    let client = client(&server).await;
    let good = client.bearer(&server).await;
    let database = server.shared_database();
    insert_expired(&database, &client.id, 2500, Duration::from_secs(2 * 3600)).await;
    insert_expired(&database, &client.id, 3, Duration::from_secs(1800)).await;

    let _sweeping = TestServer::start_on(&database, |_| {}).await;

    until("the sweep", async || database.count("access_tokens").await == 4).await;
    assert_eq!(good.get(super::OBJECTS).await.status, 200);
}
