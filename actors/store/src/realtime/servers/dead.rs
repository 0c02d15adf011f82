//! Servers that are dead by their lease.

use platform_model::error::Error;
use tokio_postgres::Client;

use super::DEAD_AFTER;

const END_DEAD: &str = include_str!("../../../../../sql/queries/servers/end_dead.sql");

/// Ends the connections of servers that are dead by their lease. PostgreSQL keeps the notifications that such a server
/// does not read until their queue is full, and then no server can publish anything. A failure is only logged, because
/// it stops nothing.
pub(crate) async fn end_connections_of_dead(client: &Client, own: i64) {
    match client.query(END_DEAD, &[&own, &DEAD_AFTER.as_secs_f64()]).await {
        Ok(ended) => {
            for row in ended {
                let (server, connections): (String, i64) = (row.get(0), row.get(1));
                tracing::warn!(
                    server,
                    connections,
                    "a server has not renewed its lease for a long time; its connections to the database are ended"
                );
            }
        }
        Err(error) => {
            let error = Error::from(error);
            tracing::warn!(%error, "the connections of a server that is gone cannot be ended");
        }
    }
}
