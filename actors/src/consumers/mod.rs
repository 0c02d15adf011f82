//! Readers of named consumers. A consumer is a row in the database with a position in the journal of its tenant, so
//! every server can serve each of them, and nothing here is lost with a server.
//!
//! A reader ([`reader`]) waits until the tenant publishes something on its channels, and then reads the journal from
//! its position on. Other publications wake it a few times per second at most, so that it passes them. The readers of a
//! tenant share what was read last ([`tail`]). The publication itself only wakes them: what is delivered always comes
//! from the journal.
//!
//! A consumer has one reader (B-31). A new one takes over, at this server through the table of readers here, and from
//! another server by an announced change.

mod batch;
mod channels;
mod reader;
mod signal;
mod tail;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::realtime::bayeux::{Pattern, Resource};
use platform_store::Database;
use tokio::runtime::Handle;
use tokio::time::sleep;

pub use batch::{Batch, Interruption, ReadNotification};
pub(crate) use channels::judge;
use channels::may_receive;
pub use reader::{ConsumerReader, NewReader};
use signal::Signal;
use tail::Tail;

/// The time after which a consumer counts as no longer read. The next poll of a client comes earlier.
const UNREAD: Duration = Duration::from_secs(15);

/// The time after which readers pass publications on other channels.
const PASS: Duration = Duration::from_millis(250);

/// The readers of the consumers of one tenant at this server.
pub(crate) struct ConsumerReaders {
    tenant: TenantId,
    database: Database,
    /// The number of readers that wait for a publication. It is increased before such a reader looks at the journal.
    waiting: AtomicUsize,
    /// Whether readers will be woken soon, to pass publications on other channels.
    passes_soon: AtomicBool,
    tail: Tail,
    readers: Mutex<HashMap<Box<str>, Known>>,
    last_number: AtomicU64,
    /// The number of changes of consumers so far. A reader is not notified of a change while it begins.
    changes: AtomicU64,
}

/// The last reader of a consumer.
struct Known {
    number: u64,
    signal: Arc<Signal>,
    channels: Arc<[Pattern]>,
    /// When it ended; `None` while it reads.
    ended: Option<Instant>,
}

impl ConsumerReaders {
    /// Creates the readers of a tenant, of which there are none.
    pub(crate) fn new(tenant: TenantId, database: Database) -> Self {
        Self {
            tail: Tail::new(tenant.clone(), database.clone()),
            tenant,
            database,
            waiting: AtomicUsize::new(0),
            passes_soon: AtomicBool::new(false),
            readers: Mutex::default(),
            last_number: AtomicU64::new(0),
            changes: AtomicU64::new(0),
        }
    }

    /// Wakes the readers that receive a publication, because the journal may have it. It costs one load if no reader
    /// waits.
    pub(crate) fn published(self: &Arc<Self>, resource: Resource, source: ManagedObjectId) {
        if !self.wait() {
            return;
        }
        let mut are_others = false;
        for known in self.readers.lock().values() {
            if may_receive(&known.channels, resource, source) {
                known.signal.wake();
            } else {
                are_others = true;
            }
        }
        if are_others && !self.passes_soon.swap(true, Ordering::AcqRel) {
            self.pass_soon();
        }
    }

    /// Wakes all readers in a moment.
    fn pass_soon(self: &Arc<Self>) {
        let readers = self.clone();
        let wake = move || {
            readers.passes_soon.store(false, Ordering::Release);
            readers.readers.lock().values().for_each(|known| known.signal.wake());
        };
        match Handle::try_current() {
            Ok(runtime) => {
                let later = async move {
                    sleep(PASS).await;
                    wake();
                };
                drop(runtime.spawn(later));
            }
            Err(_) => wake(),
        }
    }

    /// Returns whether readers wait for publications.
    pub(crate) fn wait(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Returns whether consumers are read at this server, so that it has to receive what other servers publish.
    pub(crate) fn has_any(&self) -> bool {
        !self.readers.lock().is_empty()
    }

    /// Interrupts the reader of a consumer, because the consumer was changed, or is read at another server.
    pub(crate) fn changed(&self, consumer: &str) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        if let Some(known) = self.readers.lock().get(consumer) {
            known.signal.change();
        }
    }

    /// Interrupts all readers, because rights of users changed or publications may have been missed.
    pub(crate) fn all_changed(&self) {
        self.readers.lock().values().for_each(|known| known.signal.change_rights());
    }

    /// Returns the number of changes of consumers so far.
    fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Makes a reader the one of its consumer, and ends the earlier one. The reader looks at its consumer again if
    /// there were changes after the first `changes`.
    fn enter(&self, consumer: &str, channels: Arc<[Pattern]>, changes: u64) -> (u64, Arc<Signal>) {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let signal = Arc::<Signal>::default();
        let known = Known { number, signal: signal.clone(), channels, ended: None };
        if let Some(earlier) = self.readers.lock().insert(consumer.into(), known) {
            earlier.signal.supersede();
        }
        if self.changes() != changes {
            signal.change();
        }
        (number, signal)
    }

    /// Notes that a reader has ended. Its consumer counts as read for a while, because the client may poll again.
    fn leave(&self, consumer: &str, number: u64) {
        if let Some(known) = self.readers.lock().get_mut(consumer).filter(|known| known.number == number) {
            known.ended = Some(Instant::now());
        }
    }

    /// Removes the readers that ended a while ago, and returns the names of their consumers.
    pub(crate) fn take_ended(&self) -> Vec<Box<str>> {
        let mut ended = Vec::new();
        let mut readers = self.readers.lock();
        readers.retain(|name, known| {
            let is_over = known.ended.is_some_and(|at| at.elapsed() > UNREAD);
            if is_over {
                ended.push(name.clone());
            }
            !is_over
        });
        if readers.is_empty() {
            self.tail.forget();
        }
        ended
    }
}

impl std::fmt::Debug for ConsumerReaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsumerReaders").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}
