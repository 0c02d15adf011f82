//! Whether the disk of the database has room for new data. Every write that adds data checks this first; reads and
//! deletions are not restricted. The server can only check the disk of its private PostgreSQL. A PostgreSQL of the
//! operator reports a full disk as an error of the statement, which becomes the same `DiskFull`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use platform_model::error::{Error, Result};
use platform_model::tenancy::usage::DatabaseGrowth;

use crate::Database;

/// Whether new data may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// New data may be stored.
    Enough,
    /// The remaining space is reserved for reads and deletions.
    Scarce,
}

/// The room on the disk, as far as this process knows it; all its writers share it.
#[derive(Debug)]
pub(crate) struct DiskSpace {
    is_scarce: AtomicBool,
    /// The free bytes at the last check.
    free: AtomicU64,
    /// The bytes that the database may have, if the operator has set them.
    capacity: Option<u64>,
}

/// The value of an unknown number of free bytes.
const UNKNOWN: u64 = u64::MAX;

impl DiskSpace {
    pub(crate) fn new(capacity: Option<usize>) -> Self {
        let capacity = capacity.map(|bytes| bytes as u64);
        Self { is_scarce: AtomicBool::new(false), free: AtomicU64::new(UNKNOWN), capacity }
    }
}

impl Database {
    /// Returns whether new data may be stored.
    pub fn has_room(&self) -> bool {
        !self.disk.is_scarce.load(Ordering::Relaxed)
    }

    /// Sets whether new data may be stored from now on. Writes that are running already are not stopped.
    pub fn set_room(&self, room: Room) {
        let scarce = room == Room::Scarce;
        self.disk.is_scarce.store(scarce, Ordering::Relaxed);
        crate::metrics::WRITES_STOPPED.set(f64::from(u8::from(scarce)));
    }

    /// Sets the free bytes of the disk that the private PostgreSQL writes to.
    pub fn set_free_bytes(&self, free: u64) {
        self.disk.free.store(free, Ordering::Relaxed);
    }

    /// Returns how many bytes the database may still grow: what is free on the disk of the private PostgreSQL, or what
    /// an operator granted. `None` if this server knows neither.
    pub fn free_bytes(&self, growth: Option<DatabaseGrowth>) -> Option<u64> {
        let free = self.disk.free.load(Ordering::Relaxed);
        let granted = || Some(self.disk.capacity?.saturating_sub(growth?.bytes.max(0).unsigned_abs()));
        if free == UNKNOWN { granted() } else { Some(free) }
    }

    /// Ensures that new data may be stored.
    ///
    /// # Errors
    /// `DiskFull` while the disk has too little room.
    pub fn ensure_room(&self) -> Result<()> {
        if self.has_room() { Ok(()) } else { Err(Error::DiskFull) }
    }
}

/// Runs a checkpoint if the disk has little room. PostgreSQL logs every change, including deletions, and reuses the
/// files of its log only after a checkpoint; by default one runs every few minutes.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn keep_log_short(database: &Database) -> Result<()> {
    if database.has_room() { Ok(()) } else { take_log_back(database).await }
}

/// Runs a checkpoint over a connection of its own, so that it takes none from requests.
async fn take_log_back(database: &Database) -> Result<()> {
    let (client, connection) = database.connector.connect().await?;
    let driver = tokio::spawn(connection);
    client.batch_execute("CHECKPOINT").await?;
    driver.abort();
    Ok(())
}
