//! What this server knows of each tenant that is published: whether other servers take part, and which of its own
//! publications are still on their way.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use platform_model::id::TenantId;
use platform_model::publication::Publication;
use tokio::sync::oneshot;

/// The tenants that were published since the start of the server.
#[derive(Default)]
pub(super) struct Tenants(RwLock<HashMap<TenantId, Arc<SharedTenant>>>);

/// The state of one tenant.
pub(super) struct SharedTenant {
    pub(super) tenant: TenantId,
    /// Whether other servers took part when this server last looked. If this is wrong, a transaction notices.
    is_shared: AtomicBool,
    /// Whether this server hears everything that others publish.
    pub(super) is_subscribed: AtomicBool,
    /// Whether the row of this server may be gone although it hears, because the tenant changed.
    pub(super) is_stale: AtomicBool,
    /// Whether this server has a row, or may have one.
    pub(super) has_joined: AtomicBool,
    /// Held while this server joins, so that it joins once, and while it changes how it publishes.
    pub(super) joining: tokio::sync::Mutex<()>,
    /// Set while transactions have to wait whose publications the database sends.
    pub(super) is_changing: AtomicBool,
    /// How many such changes there were.
    pub(super) changes: AtomicUsize,
    /// How many transactions are under way whose publications the database sends.
    pub(super) sending: AtomicUsize,
    /// Whether there were such transactions since the tenant was published in memory.
    pub(super) is_sent: AtomicBool,
    /// When the last one began.
    pub(super) sent_at: Mutex<Option<Instant>>,
    /// How many uses have begun that [`is_used`](super::IsUsed) does not know yet.
    pub(super) uses: AtomicUsize,
    pub(super) unused_since: Mutex<Option<Instant>>,
    /// A payload that is waited for.
    pub(super) mark: Mutex<Option<(String, oneshot::Sender<()>)>>,
    order: Mutex<Order>,
}

/// Publications that come through the database wait until those that this server delivers itself are delivered: these
/// were committed earlier. They also wait while earlier ones may have been missed: no session receives anything after a
/// gap.
#[derive(Default)]
struct Order {
    /// The transactions that run or whose publications are not delivered yet.
    under_way: usize,
    /// How many times earlier ones may have been missed, and it is not known yet what to do about it.
    delivery_holds: usize,
    waiting: VecDeque<Vec<Publication>>,
}

impl Order {
    fn is_free(&self) -> bool {
        self.under_way == 0 && self.delivery_holds == 0
    }
}

/// Publications of a tenant may have been missed. While it is held, further ones wait: until the sessions have ended that
/// may have missed some, or until it is known that nothing was missed.
pub struct DeliveryHold {
    tenant: Arc<SharedTenant>,
    publications: Arc<super::Publications>,
}

/// Returns whether sessions or modules of this server use what is published for a tenant.
pub type IsUsed = Box<dyn Fn(&TenantId) -> bool + Send + Sync>;

/// Delivers publications to the sessions and modules of this server.
pub type Deliver = Box<dyn Fn(&TenantId, Vec<Publication>) + Send + Sync>;

/// A write whose publications this server delivers itself, because no other server takes part in the tenant. It is held
/// from before the transaction until they are delivered.
pub struct LocalDelivery {
    tenant: Arc<SharedTenant>,
    publications: Arc<super::Publications>,
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
            })
        };
        self.0.write().entry(tenant.clone()).or_insert_with(new).clone()
    }

    /// Returns the tenants that this server hears.
    pub(super) fn subscribed(&self) -> Vec<Arc<SharedTenant>> {
        self.filter(|tenant| tenant.is_subscribed.load(Ordering::Acquire))
    }

    /// Returns the tenants that this server takes part in.
    pub(super) fn joined(&self) -> Vec<Arc<SharedTenant>> {
        self.filter(|tenant| tenant.has_joined.load(Ordering::Acquire))
    }

    fn filter(&self, predicate: impl Fn(&SharedTenant) -> bool) -> Vec<Arc<SharedTenant>> {
        self.0.read().values().filter(|tenant| predicate(tenant)).cloned().collect()
    }
}

impl SharedTenant {
    /// Returns whether this server certainly hears everything that others publish.
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

    /// Notes that a transaction begins.
    pub(super) fn begin(self: Arc<Self>, publications: Arc<super::Publications>) -> LocalDelivery {
        self.order.lock().under_way += 1;
        LocalDelivery { tenant: self, publications }
    }

    /// Notes that a payload came, which somebody may wait for.
    pub(super) fn came(&self, payload: &str) {
        let mut mark = self.mark.lock();
        if mark.as_ref().is_some_and(|(awaited, _)| awaited == payload)
            && let Some((_, sender)) = mark.take()
        {
            // Nobody waits any more if it took too long.
            sender.send(()).ok();
        }
    }

    /// Delivers what came through the database, after everything that this server delivers itself.
    pub(super) fn receive(&self, received: Vec<Publication>, deliver: &Deliver) {
        let mut order = self.order.lock();
        if order.is_free() {
            // The lock is held, so that nothing overtakes this.
            deliver(&self.tenant, received);
        } else {
            order.waiting.push_back(received);
        }
    }

    /// Returns whether what comes through the database waits for the end of sessions.
    pub(super) fn is_on_hold(&self) -> bool {
        self.order.lock().delivery_holds > 0
    }

    fn deliver_waiting(&self, order: &mut Order, deliver: Option<&Deliver>) {
        if order.is_free()
            && let Some(deliver) = deliver
        {
            order.waiting.drain(..).for_each(|received| deliver(&self.tenant, received));
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

    /// A state whose deliveries are counted.
    fn counted() -> (Arc<SharedTenant>, Arc<super::super::Publications>, Arc<AtomicUsize>) {
        let publications = Arc::new(super::super::Publications::new(String::new(), Duration::ZERO));
        let count = Arc::<AtomicUsize>::default();
        let counter = count.clone();
        let deliver: Deliver = Box::new(move |_, _| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        publications.deliver.set(deliver).ok();
        let tenant = TenantId::parse("acme").expect("an id");
        (publications.tenants.get(&tenant), publications, count)
    }

    #[test]
    fn publications_after_a_loss_wait_until_the_hold_ends() {
        let (state, publications, count) = counted();
        let come = || state.receive(Vec::new(), publications.deliver.get().expect("it is set"));
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
            state.receive(Vec::new(), publications.deliver.get().expect("it is set"));

            drop(if is_in_order { delivery_holds.pop_front() } else { delivery_holds.pop_back() });
            assert_eq!(count.load(Ordering::Relaxed), 0);
            drop(delivery_holds);
            assert_eq!(count.load(Ordering::Relaxed), 1);
        }
    }
}
