//! The state of each published tenant at this server: whether other servers have joined it, and which of this
//! server's own publications are not delivered yet.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use platform_model::id::TenantId;
use platform_model::realtime::publication::Publication;
use platform_model::realtime::transactions::TransactionId;
use tokio::sync::oneshot;

use super::payload::Received;
use super::stamping::Unstamped;

/// The tenants that were published since the start of the server.
#[derive(Default)]
pub(super) struct Tenants(RwLock<HashMap<TenantId, Arc<SharedTenant>>>);

/// The state of one tenant.
pub(super) struct SharedTenant {
    pub(super) tenant: TenantId,
    /// Whether other servers had joined the tenant at the last check. If this is outdated, the next transaction
    /// notices.
    is_shared: AtomicBool,
    /// Whether the tenant had a journal at the last check. If this is outdated, the next transaction notices.
    is_journaled: AtomicBool,
    /// Whether this server receives everything that others publish.
    pub(super) is_subscribed: AtomicBool,
    /// Whether the row of this server may be gone although `is_subscribed` is set, because the tenant was suspended or
    /// deleted.
    pub(super) is_stale: AtomicBool,
    /// Whether this server has a row, or may have one.
    pub(super) has_joined: AtomicBool,
    /// Held while this server joins, so that it joins once, and while it changes how it publishes.
    pub(super) joining: tokio::sync::Mutex<()>,
    /// Set while transactions whose publications the database sends have to wait.
    pub(super) is_changing: AtomicBool,
    /// The number of such changes so far.
    pub(super) changes: AtomicUsize,
    /// The number of running transactions whose publications the database sends.
    pub(super) sending: AtomicUsize,
    /// Whether such a transaction has run since the tenant was last published in memory.
    pub(super) is_sent: AtomicBool,
    /// The time when the last such transaction began.
    pub(super) sent_at: Mutex<Option<Instant>>,
    /// The number of uses that have begun and that [`is_used`](super::IsUsed) does not know yet.
    pub(super) uses: AtomicUsize,
    pub(super) unused_since: Mutex<Option<Instant>>,
    /// A payload that a task waits for.
    pub(super) mark: Mutex<Option<(String, oneshot::Sender<()>)>>,
    order: Mutex<Order>,
    /// The number of lists that are being read for sessions ([`Stamping`](super::stamping::Stamping)).
    pub(super) stampings: AtomicUsize,
    /// The number of transactions whose publications this server delivers without their id, and that are not delivered
    /// yet.
    pub(super) unstamped: AtomicUsize,
}

/// The order of deliveries. Publications that arrive through the database wait until those that this server delivers
/// itself are delivered, because these were committed earlier. They also wait while earlier ones may have been
/// missed: no session receives anything after a gap.
#[derive(Default)]
struct Order {
    /// The number of transactions that run or whose publications are not delivered yet.
    under_way: usize,
    /// The number of unresolved losses: each is held until it is known whether publications were missed.
    delivery_holds: usize,
    waiting: VecDeque<Received>,
}

impl Order {
    fn is_free(&self) -> bool {
        self.under_way == 0 && self.delivery_holds == 0
    }
}

/// Holds back the publications of a tenant because earlier ones may have been missed. It is dropped when the sessions
/// that may have missed some have ended, or when it is known that nothing was missed.
pub struct DeliveryHold {
    tenant: Arc<SharedTenant>,
    publications: Arc<super::Publications>,
}

/// Returns whether sessions or modules of this server use what is published for a tenant.
pub type IsUsed = Box<dyn Fn(&TenantId) -> bool + Send + Sync>;

/// Delivers publications to the sessions and modules of this server, with the transaction that stored what they are
/// about, if it is known.
pub type Deliver = Box<dyn Fn(&TenantId, Vec<Publication>, Option<TransactionId>) + Send + Sync>;

/// A write whose publications this server delivers itself, because no other server has joined the tenant. It is held
/// from before the transaction until they are delivered.
pub struct LocalDelivery {
    tenant: Arc<SharedTenant>,
    publications: Arc<super::Publications>,
    /// The id of the transaction, if it was asked for it.
    pub(super) transaction: Option<TransactionId>,
    pub(super) unstamped: Option<Unstamped>,
}

impl Tenants {
    /// Returns the state of a tenant.
    pub(super) fn get(&self, tenant: &TenantId) -> Arc<SharedTenant> {
        if let Some(known) = self.0.read().get(tenant) {
            return known.clone();
        }
        let new = || {
            Arc::new(SharedTenant {
                tenant: tenant.clone(),
                is_shared: AtomicBool::new(false),
                is_journaled: AtomicBool::new(false),
                is_subscribed: AtomicBool::new(false),
                is_stale: AtomicBool::new(false),
                has_joined: AtomicBool::new(false),
                joining: tokio::sync::Mutex::default(),
                is_changing: AtomicBool::new(false),
                changes: AtomicUsize::new(0),
                sending: AtomicUsize::new(0),
                is_sent: AtomicBool::new(false),
                sent_at: Mutex::default(),
                uses: AtomicUsize::new(0),
                unused_since: Mutex::default(),
                mark: Mutex::default(),
                order: Mutex::default(),
                stampings: AtomicUsize::new(0),
                unstamped: AtomicUsize::new(0),
            })
        };
        self.0.write().entry(tenant.clone()).or_insert_with(new).clone()
    }

    /// Returns the tenants of which this server receives the publications.
    pub(super) fn subscribed(&self) -> Vec<Arc<SharedTenant>> {
        self.filter(|tenant| tenant.is_subscribed.load(Ordering::Acquire))
    }

    /// Returns the tenants that this server has joined.
    pub(super) fn joined(&self) -> Vec<Arc<SharedTenant>> {
        self.filter(|tenant| tenant.has_joined.load(Ordering::Acquire))
    }

    fn filter(&self, predicate: impl Fn(&SharedTenant) -> bool) -> Vec<Arc<SharedTenant>> {
        self.0.read().values().filter(|tenant| predicate(tenant)).cloned().collect()
    }
}

impl SharedTenant {
    /// Returns whether this server certainly receives everything that others publish.
    pub(super) fn receives_all(&self) -> bool {
        self.is_subscribed.load(Ordering::SeqCst) && !self.is_stale.load(Ordering::Acquire)
    }

    pub(super) fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Acquire)
    }

    pub(super) fn set_shared(&self, is_shared: bool) {
        if self.is_shared.swap(is_shared, Ordering::AcqRel) != is_shared {
            let tenant = &self.tenant;
            if is_shared {
                tracing::info!(
                    %tenant,
                    "other servers subscribe to the tenant or write it: its notifications pass through the database"
                )
            } else {
                tracing::info!(%tenant, "no other server subscribes to the tenant or writes it")
            }
        }
    }

    pub(super) fn is_journaled(&self) -> bool {
        self.is_journaled.load(Ordering::Acquire)
    }

    pub(super) fn set_journaled(&self, is_journaled: bool) {
        self.is_journaled.store(is_journaled, Ordering::Release);
    }

    /// Notes that a transaction begins.
    pub(super) fn begin(self: Arc<Self>, publications: Arc<super::Publications>) -> LocalDelivery {
        self.order.lock().under_way += 1;
        LocalDelivery { tenant: self, publications, transaction: None, unstamped: None }
    }

    /// Notes that a payload has arrived, and notifies the task that waits for it.
    pub(super) fn came(&self, payload: &str) {
        let mut mark = self.mark.lock();
        if mark.as_ref().is_some_and(|(awaited, _)| awaited == payload)
            && let Some((_, sender)) = mark.take()
        {
            // The receiver is gone if the wait has timed out.
            sender.send(()).ok();
        }
    }

    /// Delivers publications that came through the database, after everything that this server delivers itself.
    pub(super) fn receive(
        &self,
        received: Vec<Publication>,
        transaction: Option<TransactionId>,
        deliver: &Deliver,
    ) {
        let mut order = self.order.lock();
        if order.is_free() {
            // The lock is held during the delivery, so that no later publication overtakes this one.
            deliver(&self.tenant, received, transaction);
        } else {
            order.waiting.push_back((received, transaction));
        }
    }

    /// Returns whether publications that came through the database wait because earlier ones may have been missed.
    pub(super) fn is_on_hold(&self) -> bool {
        self.order.lock().delivery_holds > 0
    }

    fn deliver_waiting(&self, order: &mut Order, deliver: Option<&Deliver>) {
        if order.is_free()
            && let Some(deliver) = deliver
        {
            let waiting = order.waiting.drain(..);
            waiting.for_each(|(received, transaction)| deliver(&self.tenant, received, transaction));
        }
    }
}

impl DeliveryHold {
    pub(super) fn begin(tenant: Arc<SharedTenant>, publications: Arc<super::Publications>) -> Self {
        tenant.order.lock().delivery_holds += 1;
        Self { tenant, publications }
    }
}

impl Drop for DeliveryHold {
    fn drop(&mut self) {
        let mut order = self.tenant.order.lock();
        order.delivery_holds -= 1;
        self.tenant.deliver_waiting(&mut order, self.publications.deliver.get());
    }
}

impl Drop for LocalDelivery {
    fn drop(&mut self) {
        let mut order = self.tenant.order.lock();
        order.under_way -= 1;
        self.tenant.deliver_waiting(&mut order, self.publications.deliver.get());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::realtime::signatures::Signatures;

    /// A state whose deliveries are counted.
    fn counted() -> (Arc<SharedTenant>, Arc<super::super::Publications>, Arc<AtomicUsize>) {
        let publications = Arc::new(super::super::Publications::new(
            String::new(),
            Duration::ZERO,
            Arc::new(Signatures::new(String::new())),
        ));
        let count = Arc::<AtomicUsize>::default();
        let counter = count.clone();
        let deliver: Deliver = Box::new(move |_, _, _| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        publications.deliver.set(deliver).ok();
        let tenant = TenantId::parse("acme").expect("an id");
        (publications.tenants.get(&tenant), publications, count)
    }

    #[test]
    fn publications_after_a_loss_wait_until_the_hold_ends() {
        let (state, publications, count) = counted();
        let come = || state.receive(Vec::new(), None, publications.deliver.get().expect("it is set"));
        let delivered = || count.load(Ordering::Relaxed);
        come();
        assert_eq!(delivered(), 1);

        let delivery_hold = DeliveryHold::begin(state.clone(), publications.clone());
        come();
        come();
        assert_eq!(delivered(), 1);

        drop(delivery_hold);
        assert_eq!(delivered(), 3);
        come();
        assert_eq!(delivered(), 4);
        assert!(!state.is_on_hold());
    }

    #[test]
    fn publications_wait_for_the_last_of_several_holds() {
        let (state, publications, count) = counted();
        for is_in_order in [true, false] {
            count.store(0, Ordering::Relaxed);
            let mut delivery_holds =
                VecDeque::from([(), ()].map(|()| DeliveryHold::begin(state.clone(), publications.clone())));
            state.receive(Vec::new(), None, publications.deliver.get().expect("it is set"));

            drop(if is_in_order { delivery_holds.pop_front() } else { delivery_holds.pop_back() });
            assert_eq!(count.load(Ordering::Relaxed), 0);
            drop(delivery_holds);
            assert_eq!(count.load(Ordering::Relaxed), 1);
        }
    }
}
