//! The counters of a tenant in memory. Each counter exists in several shards and a thread uses one of them, so
//! threads rarely add to the same number at the same time.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// The number of shards of each counter.
const SHARDS: usize = 8;

/// The kinds of counts. The order is that of `counts` in `add.sql`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Requests with valid credentials.
    Request,
    /// Requests with valid credentials of devices (Z-07).
    DeviceRequest,
    /// New alarms.
    AlarmCreated,
    /// Repetitions and changes of alarms.
    AlarmUpdated,
    /// New events.
    EventCreated,
    /// Changes of events.
    EventUpdated,
    /// New managed objects.
    InventoryCreated,
    /// Changes of managed objects.
    InventoryUpdated,
    /// New measurements.
    MeasurementCreated,
    /// New operations.
    OperationCreated,
    /// Changes of operations.
    OperationUpdated,
    /// Notifications that were passed to a transport.
    NotificationDelivered,
}

/// The number of kinds.
pub(super) const KINDS: usize = 12;

impl Counted {
    /// The kinds that are writes.
    pub(super) const WRITES: std::ops::Range<usize> =
        Self::AlarmCreated as usize..Self::NotificationDelivered as usize;
}

/// One number for each kind.
pub(super) type Counts = [u64; KINDS];

/// One shard of the counters. It is in a cache line of its own, so that threads do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard([AtomicU64; KINDS]);

/// The counters of a tenant.
#[derive(Debug, Default)]
pub struct TenantCounters {
    shards: [Shard; SHARDS],
    sessions: AtomicI64,
    /// The most simultaneous sessions since the counts were last taken.
    most_sessions: AtomicI64,
}

static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: Cell<usize> = Cell::new(NEXT_THREAD.fetch_add(1, Ordering::Relaxed) % SHARDS);
}

impl TenantCounters {
    /// Adds to the counter of a kind.
    #[inline]
    pub fn add(&self, kind: Counted, count: u64) {
        // The number of a thread that is ending may be gone.
        let shard = SHARD.try_with(Cell::get).unwrap_or_default();
        self.shards[shard].0[kind as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Counts the beginning of a session.
    pub fn session_began(&self) {
        let now = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_sessions.fetch_max(now, Ordering::Relaxed);
    }

    /// Counts the end of a session.
    pub fn session_ended(&self) {
        self.sessions.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the counts since the last call and resets them.
    pub(super) fn take(&self) -> Counts {
        let mut counts = Counts::default();
        for shard in &self.shards {
            for (count, counter) in counts.iter_mut().zip(&shard.0) {
                // Most counters are zero, and a load is cheaper than a swap.
                if counter.load(Ordering::Relaxed) > 0 {
                    *count += counter.swap(0, Ordering::Relaxed);
                }
            }
        }
        counts
    }

    /// Returns the most simultaneous sessions since the last call and resets them.
    pub(super) fn take_peak(&self) -> i64 {
        let now = self.sessions.load(Ordering::Relaxed);
        self.most_sessions.swap(now, Ordering::Relaxed).max(now)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn nothing_is_lost_or_counted_twice_while_many_threads_count() {
        let counters = Arc::new(TenantCounters::default());
        let threads: Vec<_> = (0..SHARDS + 3)
            .map(|_| {
                let counters = counters.clone();
                thread::spawn(move || (0..10_000).for_each(|_| counters.add(Counted::EventCreated, 1)))
            })
            .collect();
        let mut taken = 0;
        while threads.iter().any(|thread| !thread.is_finished()) {
            taken += counters.take()[Counted::EventCreated as usize];
        }
        threads.into_iter().for_each(|thread| thread.join().expect("it counts"));

        taken += counters.take()[Counted::EventCreated as usize];

        assert_eq!(taken, 10_000 * (SHARDS as u64 + 3));
        assert_eq!(counters.take(), Counts::default());
    }

    #[test]
    fn peak_is_the_most_at_once_since_the_last_time() {
        let counters = TenantCounters::default();
        (0..5).for_each(|_| counters.session_began());
        (0..3).for_each(|_| counters.session_ended());

        assert_eq!([counters.take_peak(), counters.take_peak()], [5, 2]);
        counters.session_began();
        assert_eq!(counters.take_peak(), 3);
    }

    /// Prints the time of one addition: `cargo test -p platform-store --release counting -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    fn counting_costs_nanoseconds() {
        let counters = TenantCounters::default();
        let begun = std::time::Instant::now();
        for _ in 0..10_000_000 {
            counters.add(std::hint::black_box(Counted::Request), 1);
        }
        println!("{:.1} ns for each addition", begun.elapsed().as_nanos() as f64 / 1e7);
    }
}
