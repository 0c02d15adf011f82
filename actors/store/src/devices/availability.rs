//! The time of the last message of watched devices, and the devices that fell silent.

use std::time::Duration;

use deadpool_postgres::Pool;
use platform_model::devices::availability::ResponseInterval;
use platform_model::error::Result;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::timestamp::Timestamp;
use time::OffsetDateTime;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::Database;
use crate::query::prepared::PreparedQueries;

const HEAR: &str = include_str!("../../../../sql/queries/availability/hear.sql");
const END_SILENCE: &str = include_str!("../../../../sql/queries/availability/end_silence.sql");
const FIND_MAINTENANCE: &str = include_str!("../../../../sql/queries/availability/find_maintenance.sql");
const BEGIN_WATCH: &str = include_str!("../../../../sql/queries/availability/begin_watch.sql");
const LIST_SILENT: &str = include_str!("../../../../sql/queries/availability/list_silent.sql");
const LIST_HEARD_AGAIN: &str = include_str!("../../../../sql/queries/availability/list_heard_again.sql");

/// A device of a tenant.
pub type Device = (TenantId, ManagedObjectId);

/// A watched device that has sent a message.
#[derive(Debug)]
pub struct Watched {
    /// The device.
    pub device: Device,
    /// The interval within which the device must send messages.
    pub interval: ResponseInterval,
    /// Whether an unavailability alarm of the device has to be cleared.
    pub was_silent: bool,
}

/// Stores the time since the last message of devices and returns those that are watched. One statement. The rows must
/// be sorted, so that two processes that record messages of the same devices lock them in the same order.
///
/// # Errors
/// `Contended`, `Unavailable` or `Database`.
pub async fn hear(pool: &Pool, heard: &[(Device, Duration)]) -> Result<Vec<Watched>> {
    let tenants: Vec<&str> = heard.iter().map(|((tenant, _), _)| tenant.as_str()).collect();
    let devices: Vec<i64> = heard.iter().map(|((_, device), _)| device.0).collect();
    let ago: Vec<f64> = heard.iter().map(|(_, ago)| ago.as_secs_f64()).collect();
    let client = pool.get().await?;
    let rows = client.rows(HEAR, &[&tenants, &devices, &ago]).await?;
    rows.iter()
        .map(|row| {
            Ok(Watched {
                device: device(row, 0)?,
                interval: ResponseInterval(row.get(2)),
                was_silent: row.get(3),
            })
        })
        .collect()
}

/// Clears the mark that an alarm was raised for the silence of a device, because it has sent a message since. One
/// statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn end_silence(database: &Database, tenant: &TenantId, device: ManagedObjectId) -> Result<()> {
    database.loader().await?.run(END_SILENCE, &[&tenant.as_str(), &device.0]).await?;
    Ok(())
}

/// Returns whether a device is in maintenance, so that it raises no alarms.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn is_in_maintenance(
    database: &Database,
    tenant: &TenantId,
    device: ManagedObjectId,
) -> Result<bool> {
    let row = database.loader().await?.find(FIND_MAINTENANCE, &[&tenant.as_str(), &device.0]).await?;
    Ok(row.is_some_and(|row| row.get(0)))
}

fn device(row: &tokio_postgres::Row, column: usize) -> Result<Device> {
    Ok((TenantId::parse(row.get(column))?, ManagedObjectId(row.get(column + 1))))
}

/// The shared lock of every server process that listens.
const LISTENING: &str = "hashtextextended('availability/listening', 0)";
/// The lock of the one process that looks for silent devices.
const SWEEPING: &str = "hashtextextended('availability/sweeping', 0)";
/// The number of devices that one statement of a sweep returns.
pub const SWEPT_AT_ONCE: i64 = 500;

/// A silent device, and the position from which a sweep continues.
#[derive(Debug, Clone)]
pub struct Silent {
    due_at: OffsetDateTime,
    /// The device.
    pub device: Device,
    /// The time of the last message of the device. Its alarm is raised only if no message came since.
    pub last_message: Timestamp,
}

/// The connection with which a process watches silent devices, and the two advisory locks of its database session. All
/// processes share the first lock, so a process that gets it exclusively knows that nobody listened before. One process
/// at a time holds the second lock and sweeps. PostgreSQL releases both when the process dies or is idle for too long.
///
/// A sweep queries devices over this connection, so a process that has lost the lock finds none. Each alarm carries its
/// own condition: even two processes that sweep at once raise each alarm once.
#[derive(Debug)]
pub struct Watch {
    client: Client,
    driver: JoinHandle<()>,
    sweeps: bool,
}

impl Watch {
    /// Returns whether any device is watched, so that there is something to listen for.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn is_needed(database: &Database) -> Result<bool> {
        let statement = "SELECT EXISTS (SELECT FROM availability)";
        Ok(database.loader().await?.query_one(statement, &[]).await?.get(0))
    }

    /// Connects. When no other process listens, every device gets its interval and a grace period anew.
    /// `patience` is how long the process may be idle.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn open(database: &Database, patience: Duration) -> Result<Self> {
        let (client, connection) = database.connector.connect().await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the watch over silent devices lost its connection");
            }
        });
        let watch = Self { client, driver, sweeps: false };
        let settings = format!(
            "SET idle_session_timeout = {}; SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; \
             SET tcp_keepalives_count = 3",
            patience.as_millis()
        );
        watch.client.batch_execute(&settings).await?;
        if watch.locks(&format!("SELECT pg_try_advisory_lock({LISTENING})")).await? {
            watch.client.execute(BEGIN_WATCH, &[]).await?;
            watch.locks(&format!("SELECT pg_try_advisory_lock_shared({LISTENING})")).await?;
            watch.locks(&format!("SELECT pg_advisory_unlock({LISTENING})")).await?;
        } else {
            watch.client.execute(&format!("SELECT pg_advisory_lock_shared({LISTENING})"), &[]).await?;
        }
        Ok(watch)
    }

    async fn locks(&self, statement: &str) -> Result<bool> {
        Ok(self.client.query_one(statement, &[]).await?.get(0))
    }

    /// Returns whether this process is the one that sweeps. It tries to become that.
    ///
    /// # Errors
    /// `Unavailable` when the connection is lost, and the lock with it.
    pub async fn sweeps(&mut self) -> Result<bool> {
        if self.sweeps {
            drop(self.client.simple_query("").await?)
        } else {
            self.sweeps = self.locks(&format!("SELECT pg_try_advisory_lock({SWEEPING})")).await?
        }
        Ok(self.sweeps)
    }

    /// Returns a few devices that are silent for longer than their interval and have no alarm for it, starting after
    /// `after`.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn list_silent(&self, grace: Duration, after: Option<&Silent>) -> Result<Vec<Silent>> {
        let (due, tenant, id) = match after {
            Some(Silent { due_at, device: (tenant, id), .. }) => (*due_at, tenant.as_str(), id.0),
            None => (OffsetDateTime::UNIX_EPOCH, "", 0),
        };
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&grace.as_secs_f64(), &due, &tenant, &id, &SWEPT_AT_ONCE];
        let rows = self.client.query(LIST_SILENT, &parameters).await?;
        rows.iter()
            .map(|row| {
                Ok(Silent {
                    due_at: row.get(0),
                    device: device(row, 1)?,
                    last_message: Timestamp::stored(row.get(3), 0),
                })
            })
            .collect()
    }

    /// Returns devices that have sent messages again and still have an unavailability alarm to clear.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn list_heard_again(&self) -> Result<Vec<Device>> {
        let rows = self.client.query(LIST_HEARD_AGAIN, &[&SWEPT_AT_ONCE]).await?;
        rows.iter().map(|row| device(row, 0)).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The connection ends with its driver task, and the locks end with the connection.
        self.driver.abort();
    }
}
