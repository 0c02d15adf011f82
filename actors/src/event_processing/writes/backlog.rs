//! The writes of a module that wait, which are bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of rows and of bytes that one module may have waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct BacklogLimit {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// The rows of one module that are requested but not yet written.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    rows: AtomicUsize,
    bytes: AtomicUsize,
}

/// The space that one row occupies in the backlog until it is written.
#[derive(Debug)]
pub(super) struct BacklogSpace {
    backlog: Arc<Backlog>,
    bytes: usize,
}

impl Backlog {
    /// Reserves space for a row of this size in bytes; returns `None` if the backlog would exceed its limit of
    /// rows or bytes.
    pub(super) fn place(self: &Arc<Self>, bytes: usize, most: BacklogLimit) -> Option<BacklogSpace> {
        let rows = self.rows.fetch_add(1, Ordering::Relaxed) + 1;
        let waiting = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // The space is reserved first and released again if it exceeds the limit.
        let place = BacklogSpace { backlog: self.clone(), bytes };
        (rows <= most.rows && waiting <= most.bytes).then_some(place)
    }
}

impl Drop for BacklogSpace {
    fn drop(&mut self) {
        self.backlog.rows.fetch_sub(1, Ordering::Relaxed);
        self.backlog.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlog_is_bounded_by_rows_and_by_bytes_and_done_rows_make_room() {
        let backlog = Arc::<Backlog>::default();
        let most = BacklogLimit { rows: 2, bytes: 100 };
        let first = backlog.place(60, most).expect("room");
        assert!(backlog.place(60, most).is_none(), "too many bytes");
        let second = backlog.place(40, most).expect("room again");
        assert!(backlog.place(0, most).is_none(), "too many rows");
        drop((first, second));
        assert!(backlog.place(100, most).is_some());
    }
}
