//! The properties of PostgreSQL that operators see (`platform status`, `platform doctor`).

use platform_model::error::Result;
use time::OffsetDateTime;

use crate::Database;

const DESCRIBE_POSTGRES: &str = include_str!("../../../sql/queries/deployment/describe_postgres.sql");

/// PostgreSQL and the database of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The current time by its clock.
    pub now: OffsetDateTime,
    /// The size of the database in bytes.
    pub bytes: i64,
}

impl Database {
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
            now: row.get("now"),
            bytes: row.get("bytes"),
        })
    }
}
