//! The properties of PostgreSQL that operators see (`platform status`, `platform doctor`).

use std::time::Duration;

use platform_model::error::Result;
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::Database;

const DESCRIBE_POSTGRES: &str = include_str!("../../../../sql/queries/deployment/describe_postgres.sql");
const LIST_LONG_TRANSACTIONS: &str =
    include_str!("../../../../sql/queries/deployment/list_long_transactions.sql");

/// PostgreSQL and the database of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Postgres {
    /// The version, as PostgreSQL writes it.
    pub version: String,
    /// The major version.
    pub major: i32,
    /// Whether commits reach the disk.
    pub fsync: bool,
    /// Whether a page that was partly written at a crash can be repaired.
    pub full_page_writes: bool,
    /// The setting for the time when a commit is acknowledged: `on`, `off`, `local`, `remote_write` or
    /// `remote_apply`.
    pub synchronous_commit: String,
    /// The most connections that PostgreSQL allows.
    pub max_connections: i32,
    /// The open connections that the user may see.
    pub connections: i64,
    /// Whether it is a standby, which accepts no writes.
    pub is_standby: bool,
    /// Whether it is on another machine.
    pub over_network: bool,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// Whether every role may connect to the database, and so listen to what servers tell each other.
    pub everybody_connects: bool,
    /// The name of the database, quoted for a statement.
    pub name: String,
    /// The share of the queue of notifications that is in use, from 0 to 1.
    pub notification_queue: f64,
    /// The current time by its clock.
    pub now: OffsetDateTime,
    /// The size of the database in bytes.
    pub bytes: i64,
}

/// A transaction of a server that has been open for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct LongTransaction {
    /// The process of PostgreSQL that runs it.
    pub pid: i32,
    /// The name of the server.
    pub server: String,
    /// Its age in seconds.
    pub age: f64,
}

impl Database {
    /// Lists the transactions of servers that have written something and are older than `age`, the oldest first. The
    /// first subscription of a tenant at a server waits for them. One statement.
    ///
    /// # Errors
    /// `Unavailable`, or `Database` before the first start.
    pub async fn list_long_transactions(&self, age: Duration) -> Result<Vec<LongTransaction>> {
        let rows = self.loader().await?.query(LIST_LONG_TRANSACTIONS, &[&age.as_secs_f64()]).await?;
        let transaction =
            |row: &Row| LongTransaction { pid: row.get(0), server: row.get(1), age: row.get(2) };
        Ok(rows.iter().map(transaction).collect())
    }

    /// Reads the properties of PostgreSQL and of the database. It changes nothing.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn describe_postgres(&self) -> Result<Postgres> {
        let row = self.loader().await?.query_one(DESCRIBE_POSTGRES, &[]).await?;
        Ok(Postgres {
            version: row.get("version"),
            major: row.get("major"),
            fsync: row.get("fsync"),
            full_page_writes: row.get("full_page_writes"),
            synchronous_commit: row.get("synchronous_commit"),
            max_connections: row.get("max_connections"),
            connections: row.get("connections"),
            is_standby: row.get("is_standby"),
            over_network: row.get("over_network"),
            encrypted: row.get("encrypted"),
            everybody_connects: row.get("everybody_connects"),
            name: row.get("name"),
            notification_queue: row.get("notification_queue"),
            now: row.get("now"),
            bytes: row.get("bytes"),
        })
    }
}
