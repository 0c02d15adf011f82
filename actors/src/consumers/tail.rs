//! The end of the journal of a tenant, which its readers share: while they keep up, each entry is read from the database
//! once for all of them.

use std::collections::VecDeque;
use std::sync::Arc;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::consumer::JournalPosition;
use platform_store::Database;
use platform_store::realtime::journal::{self, JournalEntry, Place};
use tokio::sync::Mutex;

/// The most entries that are kept.
const KEPT: usize = 4096;
/// The most bytes of contents that are kept.
const KEPT_BYTES: i64 = 4 << 20;
/// The most entries of one statement.
const AT_ONCE: i64 = 1000;

/// The last entries of a journal that were read.
pub(super) struct Tail {
    tenant: TenantId,
    database: Database,
    /// Entries without a gap. The lock is held during a read, so that concurrent readers read once.
    entries: Mutex<VecDeque<Arc<JournalEntry>>>,
}

impl Tail {
    pub(super) fn new(tenant: TenantId, database: Database) -> Self {
        Self { tenant, database, entries: Mutex::default() }
    }

    /// Returns the next entries after a place, none if it is the end of the journal. A reader that is far behind reads
    /// the database for itself.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub(super) async fn after(&self, place: Place) -> Result<Vec<Arc<JournalEntry>>> {
        let mut entries = self.entries.lock().await;
        let bounds = entries.front().zip(entries.back());
        match bounds.map(|(first, last)| (first.place.position, last.place.position)) {
            Some((first, last)) if (first - 1..last).contains(&place.position) => {
                return Ok(kept_after(&entries, place.position));
            }
            Some((first, _)) if place.position < first - 1 => {
                drop(entries);
                return self.read(place).await;
            }
            Some((_, last)) if last == place.position => {}
            // The reader is ahead of what is kept, so what is kept is of no use.
            _ => entries.clear(),
        }
        let read = self.read(place).await?;
        // An entry that is missing in between is for the reader to notice.
        let mut expected = place.position;
        for entry in &read {
            expected += 1;
            if entry.place.position != expected {
                entries.clear();
                expected = entry.place.position;
            }
            entries.push_back(entry.clone());
        }
        trim(&mut entries);
        Ok(read)
    }

    /// Discards everything that is kept, because nobody reads.
    pub(super) fn forget(&self) {
        if let Ok(mut entries) = self.entries.try_lock() {
            *entries = VecDeque::new();
        }
    }

    async fn read(&self, place: Place) -> Result<Vec<Arc<JournalEntry>>> {
        let read = journal::read(&self.database, &self.tenant, place, AT_ONCE).await?;
        Ok(read.into_iter().map(Arc::new).collect())
    }
}

fn kept_after(entries: &VecDeque<Arc<JournalEntry>>, position: JournalPosition) -> Vec<Arc<JournalEntry>> {
    let at = entries.partition_point(|entry| entry.place.position <= position);
    entries.range(at..).take(AT_ONCE as usize).cloned().collect()
}

/// Discards the oldest entries beyond the bounds.
fn trim(entries: &mut VecDeque<Arc<JournalEntry>>) {
    let newest = entries.back().map(|last| last.place.bytes);
    while let (Some(first), Some(newest)) = (entries.front(), newest)
        && (entries.len() > KEPT || newest - first.place.bytes > KEPT_BYTES)
    {
        entries.pop_front();
    }
}
