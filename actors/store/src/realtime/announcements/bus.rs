//! The changes of this process and of other processes: the bus recognizes the notifications that this process sent
//! itself, and passes changes to the function that applies them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::changes::Change;

/// The time after its commit in which a notification of this process is recognized as its own. The listening
/// connection counts as lost after a few seconds of silence, so a notification cannot arrive later than this.
const KNOWN_AS_OWN: Duration = Duration::from_secs(120);

/// The part of a change that is applied in the background.
pub struct CarriedOut(Option<JoinHandle<()>>);

impl CarriedOut {
    /// Starts a task that is a part of applying changes.
    pub fn begin(rest: impl Future<Output = ()> + Send + 'static) -> Self {
        // If there is no runtime any more, the process is about to end.
        Self(tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.spawn(rest)))
    }

    /// Returns whether the change is applied completely.
    pub fn is_finished(&self) -> bool {
        self.0.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the change is applied completely.
    pub async fn finished(self) {
        if let Some(rest) = self.0 {
            // The task ends early only when the process ends.
            rest.await.ok();
        }
    }
}

/// Applies changes in this process: it drops cached entries before it returns, and the returned future ends sessions.
type CarryOut = Box<dyn Fn(Vec<Change>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Recognizes the notifications of this process and passes changes to the function that applies them.
pub struct Bus {
    /// A random number that no other process uses in its notifications.
    origin: u64,
    next: AtomicU64,
    own: Mutex<OwnTransactions>,
    carry_out: OnceLock<CarryOut>,
}

/// The transactions of this process that announced a change, by their numbers.
#[derive(Default)]
struct OwnTransactions {
    /// Transactions that are not known to be committed, with the notifications of them that have arrived.
    under_way: HashMap<u64, Vec<Change>>,
    /// Transactions whose changes were applied.
    done: HashSet<u64>,
    /// The same transactions, the oldest first.
    done_at: VecDeque<(Instant, u64)>,
}

impl Default for Bus {
    fn default() -> Self {
        let mut origin = [0; 8];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut origin).expect("the system's random source works");
        Self {
            origin: u64::from_le_bytes(origin),
            next: AtomicU64::new(0),
            own: Mutex::default(),
            carry_out: OnceLock::new(),
        }
    }
}

impl Bus {
    /// Sets the function that applies changes. It is set once. In a process that caches nothing, such as a command, it
    /// is not set, and changes are ignored.
    pub fn install(&self, carry_out: CarryOut) {
        self.carry_out.set(carry_out).ok();
    }

    /// Applies changes. Cached entries are dropped when this returns; sessions have ended when the rest has finished.
    pub fn carry_out(&self, changes: Vec<Change>) -> CarriedOut {
        let Some(carry_out) = self.carry_out.get().filter(|_| !changes.is_empty()) else {
            return CarriedOut(None);
        };
        CarriedOut::begin(carry_out(changes))
    }

    /// Reads a notification. Returns `None` for a notification of this process and for one that cannot be parsed.
    pub(crate) fn read(&self, payload: &str) -> Option<Change> {
        let (head, text) = payload.split_once('/')?;
        let (mark, tenant) = head.split_once(':').map_or((None, head), |(mark, tenant)| (Some(mark), tenant));
        let change = Change::parse(tenant, text)?;
        let Some(number) = mark.and_then(|mark| self.number_of(mark)) else { return Some(change) };
        let mut own = self.own.lock();
        if let Some(came_back) = own.under_way.get_mut(&number) {
            came_back.push(change);
            return None;
        }
        (!own.done.contains(&number)).then_some(change)
    }

    /// Returns the prefix of the notifications of a transaction.
    pub(super) fn mark(&self, number: u64) -> String {
        format!("{}.{number}", self.origin())
    }

    /// Returns the text by which other servers recognize this process.
    pub(crate) fn origin(&self) -> String {
        format!("{:016x}", self.origin)
    }

    /// Returns the number in a prefix of this process.
    fn number_of(&self, mark: &str) -> Option<u64> {
        let (origin, number) = mark.split_once('.')?;
        (u64::from_str_radix(origin, 16) == Ok(self.origin)).then(|| number.parse().ok())?
    }

    /// Returns a number for a transaction that announces a change.
    pub(super) fn begin(&self) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.own.lock().under_way.insert(number, Vec::new());
        number
    }

    /// Returns whether this process has announced changes.
    pub fn has_announced(&self) -> bool {
        self.next.load(Ordering::Relaxed) > 0
    }

    /// Notes that the transaction is committed and its changes are applied.
    pub(super) fn end(&self, number: u64) {
        let (now, mut own) = (Instant::now(), self.own.lock());
        own.under_way.remove(&number);
        own.done.insert(number);
        own.done_at.push_back((now, number));
        while let Some((_, old)) = own.done_at.pop_front_if(|(at, _)| now.duration_since(*at) > KNOWN_AS_OWN)
        {
            own.done.remove(&old);
        }
    }

    /// Gives up a transaction whose outcome will stay unknown. Returns its notifications that have arrived; later ones
    /// count as those of another process.
    pub(super) fn abandon(&self, number: u64) -> Vec<Change> {
        self.own.lock().under_way.remove(&number).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::Names;
    use super::*;
    use platform_model::id::TenantId;

    fn news() -> Change {
        let tenant = TenantId::parse("t1").expect("an id");
        Change::Users(tenant, Names::from(["joe".into()]))
    }

    #[test]
    fn own_notification_is_ignored_once_its_change_was_applied() {
        let (bus, other) = (Bus::default(), Bus::default());
        let number = bus.begin();
        let payload = format!("{}:t1/joe", bus.mark(number));

        assert_eq!(bus.read(&payload), None, "the one who commits will see to it");
        bus.end(number);
        assert_eq!(bus.read(&payload), None);
        assert_eq!(other.read(&payload), Some(news()));
        assert_eq!(other.read("t1"), None);
    }

    #[test]
    fn own_notification_of_an_abandoned_transaction_counts_as_foreign() {
        let bus = Bus::default();
        let (early, late) = (bus.begin(), bus.begin());
        let payload = |number| format!("{}:t1/joe", bus.mark(number));

        assert_eq!(bus.read(&payload(early)), None);
        assert_eq!(bus.abandon(early), std::slice::from_ref(&news()), "it came before the end of the wait");
        assert!(bus.abandon(late).is_empty());
        assert_eq!(bus.read(&payload(late)), Some(news()), "it came afterwards");
    }
}
