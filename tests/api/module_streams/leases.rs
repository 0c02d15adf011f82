//! The lease of a tenant's modules as a condition of their writes: who holds it, and which transactions wait.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls};

use super::*;

const HOLD: &str = "SELECT hold_module_lease('main', $1)";
const PROLONG: &str =
    "UPDATE module_leases SET leased_until = now() + interval '1 hour', fed_at = now() WHERE tenant = 'main'";
const TAKE_OVER: &str = "UPDATE module_leases SET process = 2, fence = fence + 1 WHERE tenant = 'main'";

/// Opens a connection that waits for locks only briefly.
async fn connect(database: &TestDatabase) -> Client {
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("SET lock_timeout = '300ms'").await.unwrap();
    client
}

async fn lease(client: &Client, fence: i64, left: &str) {
    let statement = format!(
        "INSERT INTO module_leases VALUES ('main', 1, $1, now() + interval '{left}', now()) \
         ON CONFLICT (tenant) DO UPDATE SET fence = excluded.fence, leased_until = excluded.leased_until"
    );
    client.execute(&statement, &[&fence]).await.unwrap();
}

fn refused_by(error: Error) -> (SqlState, Option<String>) {
    let error = error.as_db_error().unwrap();
    (error.code().clone(), error.constraint().map(ToOwned::to_owned))
}

#[tokio::test]
async fn lease_is_held_by_its_number_and_until_its_end_only() {
    let server = TestServer::start().await;
    let client = connect(server.database()).await;
    let refused = (SqlState::CHECK_VIOLATION, Some("module_lease_is_held".to_owned()));

    assert_eq!(refused_by(client.execute(HOLD, &[&7_i64]).await.unwrap_err()), refused, "there is none");
    lease(&client, 7, "1 minute").await;
    assert!(client.execute(HOLD, &[&7_i64]).await.is_ok());
    for other in [6_i64, 8] {
        assert_eq!(refused_by(client.execute(HOLD, &[&other]).await.unwrap_err()), refused, "{other}");
    }
    lease(&client, 7, "-1 second").await;
    assert_eq!(refused_by(client.execute(HOLD, &[&7_i64]).await.unwrap_err()), refused, "it has ended");
}

#[tokio::test]
async fn taking_over_waits_for_what_is_being_written_and_prolonging_does_not() {
    let server = TestServer::start().await;
    let (writing, other) = (connect(server.database()).await, connect(server.database()).await);
    lease(&writing, 7, "1 minute").await;
    writing.batch_execute("BEGIN").await.unwrap();
    writing.execute(HOLD, &[&7_i64]).await.unwrap();

    assert_eq!(other.execute(PROLONG, &[]).await.unwrap(), 1);
    let waited = other.execute(TAKE_OVER, &[]).await.unwrap_err();
    assert_eq!(waited.code(), Some(&SqlState::LOCK_NOT_AVAILABLE), "{waited}");
    writing.batch_execute("COMMIT").await.unwrap();

    assert_eq!(other.execute(TAKE_OVER, &[]).await.unwrap(), 1);
    let refused = writing.execute(HOLD, &[&7_i64]).await.unwrap_err();
    assert_eq!(refused.code(), Some(&SqlState::CHECK_VIOLATION), "{refused}");
}

#[tokio::test]
async fn write_waits_for_a_take_over_under_way_and_is_refused_by_it() {
    let server = TestServer::start().await;
    let (writing, other) = (connect(server.database()).await, connect(server.database()).await);
    lease(&writing, 7, "1 minute").await;
    writing.batch_execute("SET lock_timeout = 0").await.unwrap();
    other.batch_execute("BEGIN").await.unwrap();
    other.execute(TAKE_OVER, &[]).await.unwrap();

    let commit = async {
        server.database().until_statements_wait(1).await;
        other.batch_execute("COMMIT").await.unwrap();
    };
    let (held, ()) = tokio::join!(writing.execute(HOLD, &[&7_i64]), commit);

    assert_eq!(held.unwrap_err().code(), Some(&SqlState::CHECK_VIOLATION));
}
