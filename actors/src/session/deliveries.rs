//! Delivers messages of a dispatcher to many of its sessions in parts, so that other tasks of the thread run in
//! between.
//!
//! The sessions of a tenant receive messages in the order of the calls. Tenants do not wait for each other: while a
//! notification is delivered to thousands of sessions of one tenant, sessions of others receive theirs. While other
//! tenants use the server, the dispatcher also pauses between two parts, because its thread does nothing else while it
//! delivers; it does not pause if the next notification of the tenant is already waiting.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use actix::prelude::*;
use parking_lot::RwLock;
use platform_model::id::TenantId;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::SessionActor;
use super::dispatcher::{SessionDispatcher, SessionSlot, SessionTable};

/// The number of sessions that the dispatcher calls before it lets other tasks of its thread run. Clients that received
/// their notifications send the next connect meanwhile, and the data that the thread needs for these requests is still
/// in the cache of the processor.
const AT_ONCE: usize = 32;
/// The same number while other tenants use the server.
const AT_ONCE_BESIDE_OTHERS: usize = 16;
/// The pause between two parts while other tenants use the server. The timer makes it up to a millisecond longer.
const PAUSE_BESIDE_OTHERS: Duration = Duration::from_micros(500);

/// The tenants that use this process at present.
static ACTIVE: ActiveTenants = ActiveTenants(RwLock::new(Vec::new()));

/// Records the tenants that use this process, so that none of them may keep its threads busy.
pub(crate) fn note_active<'t>(tenants: impl Iterator<Item = &'t TenantId>) {
    ACTIVE.note(tenants);
}

/// At most two active tenants, which is enough to tell whether a tenant has a neighbour.
struct ActiveTenants(RwLock<Vec<TenantId>>);

impl ActiveTenants {
    fn note<'t>(&self, tenants: impl Iterator<Item = &'t TenantId>) {
        *self.0.write() = tenants.take(2).cloned().collect();
    }

    /// Returns whether another tenant is active.
    fn has_neighbour_of(&self, tenant: &TenantId) -> bool {
        self.0.read().iter().any(|active| active != tenant)
    }
}

/// Delivers a message to sessions of a tenant, each listed once. Sessions that have ended are skipped. Sent by the hub.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct DispatchToSessions<M> {
    pub(crate) tenant: TenantId,
    pub(crate) message: M,
    pub(crate) to: Vec<SessionSlot>,
}

/// The deliveries that wait until an earlier one of their tenant has ended. A tenant has an entry while one of its
/// deliveries is running.
pub(super) type Waiting = HashMap<TenantId, VecDeque<Delivery>>;

/// A message with the sessions that it is delivered to.
pub(super) struct Delivery {
    to: Vec<SessionSlot>,
    call: Box<CallEach>,
}

/// Calls the sessions at these slots.
type CallEach = dyn Fn(&SessionTable, &[SessionSlot]);

impl<M> Handler<DispatchToSessions<M>> for SessionDispatcher
where
    M: Message<Result = ()> + Clone + Send + 'static,
    SessionActor: Handler<M, Result = ()>,
{
    type Result = ();

    fn handle(&mut self, dispatch: DispatchToSessions<M>, ctx: &mut Self::Context) {
        let DispatchToSessions { tenant, message, to } = dispatch;
        let waits = self.waiting.contains_key(&tenant);
        if !waits && to.len() <= AT_ONCE {
            return call_each(&self.sessions, &to, &message);
        }
        let call =
            Box::new(move |sessions: &SessionTable, to: &[SessionSlot]| call_each(sessions, to, &message));
        self.waiting.entry(tenant.clone()).or_default().push_back(Delivery { to, call });
        if !waits {
            self.deliver_next(tenant, ctx);
        }
    }
}

impl SessionDispatcher {
    /// Starts the next delivery of a tenant, if there is one.
    fn deliver_next(&mut self, tenant: TenantId, ctx: &mut Context<Self>) {
        let queue = self.waiting.entry(tenant.clone()).or_default();
        let Some(delivery) = queue.pop_front() else {
            self.waiting.remove(&tenant);
            return;
        };
        let is_late = !queue.is_empty();
        let delivering = deliver(delivery, self.sessions.clone(), tenant.clone(), is_late);
        ctx.spawn(
            delivering.into_actor(self).map(|(), dispatcher, ctx| dispatcher.deliver_next(tenant, ctx)),
        );
    }
}

async fn deliver(Delivery { to, call }: Delivery, sessions: SessionTable, tenant: TenantId, is_late: bool) {
    let mut rest = &*to;
    while !rest.is_empty() {
        let pauses = !is_late && ACTIVE.has_neighbour_of(&tenant);
        let at_once = if pauses { AT_ONCE_BESIDE_OTHERS } else { AT_ONCE };
        let (part, later) = rest.split_at(at_once.min(rest.len()));
        call(&sessions, part);
        rest = later;
        if pauses && !rest.is_empty() {
            sleep(PAUSE_BESIDE_OTHERS).await;
        } else {
            yield_now().await;
        }
    }
}

/// Calls the sessions at these slots with a message.
fn call_each<M>(sessions: &SessionTable, slots: &[SessionSlot], message: &M)
where
    M: Message<Result = ()> + Clone,
    SessionActor: Handler<M, Result = ()>,
{
    let sessions = sessions.borrow();
    for session in slots.iter().filter_map(|slot| sessions.get(&slot.number)) {
        session.running.borrow_mut().handle(message.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::num::NonZeroU32;
    use std::rc::Rc;

    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).expect("an id")
    }

    #[test]
    fn tenant_has_a_neighbour_while_another_one_is_active() {
        for (active, expected) in [
            (vec![], false),
            (vec!["own"], false),
            (vec!["other"], true),
            (vec!["own", "other", "third"], true),
        ] {
            let noted: Vec<_> = active.iter().copied().map(tenant).collect();
            let tenants = ActiveTenants(RwLock::default());
            tenants.note(noted.iter());
            assert_eq!(tenants.has_neighbour_of(&tenant("own")), expected, "{active:?}");
        }
    }

    /// Returns a delivery that records its name whenever it starts with a part of its sessions.
    fn delivery(name: &'static str, sessions: usize, seen: &Rc<RefCell<Vec<&'static str>>>) -> Delivery {
        let seen = seen.clone();
        let call = Box::new(move |_: &SessionTable, to: &[SessionSlot]| {
            assert!((1..=AT_ONCE).contains(&to.len()));
            seen.borrow_mut().push(name);
        });
        let slot = |number| SessionSlot { dispatcher: NonZeroU32::MIN, number };
        Delivery { to: (0..sessions as u32).map(slot).collect(), call }
    }

    #[actix::test]
    async fn delivery_to_many_sessions_lets_that_of_another_tenant_pass() {
        let seen = Rc::default();
        let many =
            deliver(delivery("many", 10 * AT_ONCE, &seen), SessionTable::default(), tenant("noisy"), false);
        let few = deliver(delivery("few", 1, &seen), SessionTable::default(), tenant("quiet"), false);

        tokio::join!(many, few);

        let seen = seen.borrow();
        assert_eq!((seen[0], seen[1]), ("many", "few"));
        assert!(seen.len() >= 11);
    }
}
