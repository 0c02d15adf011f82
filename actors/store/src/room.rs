//! Whether there is room on the disk of the database. Whoever stores something asks here before; reading and deleting go on
//! without (SE7). Only the private PostgreSQL has a disk that the server can look at; one of the operator's own choice says by
//! itself when it has no room.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::Pool;
use platform_model::error::{Error, Result};

use crate::Database;

/// How often PostgreSQL takes its log back into use while there is little room. What deletions write between two times must
/// find room.
const LOG_TAKEN_BACK: Duration = Duration::from_secs(5);

/// Whether there is room to store something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// There is.
    Enough,
    /// What is left is for reading and deleting.
    Scarce,
}

/// What all that store ask.
#[derive(Debug, Default)]
pub(super) struct Scarcity(AtomicBool);

impl Database {
    /// Whether there is room to store something.
    pub fn has_room(&self) -> bool {
        !self.scarcity.0.load(Ordering::Relaxed)
    }

    /// Says how much room there is from now on. What is under way is not stopped.
    pub fn set_room(&self, room: Room) {
        let scarce = room == Room::Scarce;
        self.scarcity.0.store(scarce, Ordering::Relaxed);
        crate::metrics::WRITES_STOPPED.set(f64::from(u8::from(scarce)));
    }

    /// # Errors
    /// `DiskFull` while there is no room to store something.
    pub fn ensure_room(&self) -> Result<()> {
        match self.has_room() {
            true => Ok(()),
            false => Err(Error::DiskFull),
        }
    }
}

/// Makes room while there is little, until it is dropped: PostgreSQL writes a log of every change, deletions too, and takes its
/// files back into use at a checkpoint only, which else comes every few minutes.
pub async fn keep_log_short(database: Database) {
    // What else waits for a connection does not wait for this.
    let Ok(pool) = database.writer_pool() else { return };
    loop {
        tokio::time::sleep(LOG_TAKEN_BACK).await;
        if database.has_room() {
            continue;
        }
        if let Err(error) = take_log_back(&pool).await {
            tracing::debug!(%error, "the log of the database is taken back into use a little later");
        }
    }
}

async fn take_log_back(pool: &Pool) -> Result<()> {
    Ok(pool.get().await?.batch_execute("CHECKPOINT").await?)
}
