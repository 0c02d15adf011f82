//! Fair shares of a pool of connections: a tenant with many heavy requests does not slow down the others.
//!
//! A request of a tenant takes a turn before it takes a connection. While only one tenant is active it may have
//! nearly all turns. When others are active, each has a bounded share, and a free turn goes to the waiting tenant
//! that holds the fewest. The users of a tenant have its turns one after the other. Work that belongs to no tenant
//! needs no turn.
//!
//! Free connections alone do not keep other tenants fast, because statements share processors and disks. So a share
//! is half of an equal division, and a tenant with slow statements has at most an eighth of the turns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::id::TenantId;
use tokio::sync::oneshot;

use crate::connect::lines::Lines;
use crate::connect::shares::Charged;

/// The time for which a tenant counts as active after its last turn.
const ACTIVE: Duration = Duration::from_secs(2);
/// The time for which a count of the active tenants is used.
const COUNTED: Duration = Duration::from_millis(100);
/// The divisor of an equal share that gives the share of a tenant while others are active.
const PART: usize = 2;
/// The divisor of all turns that gives the share of a tenant with slow statements while others are active. The same
/// number of turns stays free beside a single active tenant, for others that become active.
const PART_OF_SLOW: usize = 8;
/// The average time above which the statements of a tenant count as slow.
const SLOW: Duration = Duration::from_millis(10);
/// The number of turns that the average is taken over.
const AVERAGED: u32 = 8;
/// The number of known tenants above which inactive ones are removed.
const FORGET: usize = 64;

/// The turns of a pool of connections, or of anything else that tenants share.
#[derive(Debug, Clone)]
pub struct Turns(Arc<Gate>);

#[derive(Debug)]
struct Gate {
    size: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    /// The number of waiting requests of all tenants.
    waiting: usize,
    /// The number of active tenants at the last count.
    active: usize,
    counted: Option<Instant>,
    tenants: HashMap<TenantId, Share>,
}

/// The turns that a tenant holds and waits for.
#[derive(Debug, Default)]
struct Share {
    held: usize,
    /// The requests by user.
    waiting: Lines<Arc<str>, oneshot::Sender<ConnectionTurn>>,
    /// The time when it last took or returned a turn.
    last: Option<Instant>,
    /// The average time for which its turns are held.
    average: Duration,
}

/// The right to use a connection. Dropping it returns it to the gate.
#[derive(Debug)]
pub struct ConnectionTurn {
    gate: Arc<Gate>,
    tenant: TenantId,
    since: Instant,
}

impl Share {
    /// Returns the most turns that the tenant may hold.
    fn most(&self, size: usize, active: usize) -> usize {
        match active {
            0 | 1 => (size - size / PART_OF_SLOW).max(1),
            _ if self.average > SLOW => (size / PART_OF_SLOW).min(size / active / PART).max(1),
            _ => (size / active / PART).max(1),
        }
    }

    /// Adds the time for which a turn was held to the average.
    fn note(&mut self, held: Duration) {
        self.average = (self.average * (AVERAGED - 1) + held) / AVERAGED;
    }

    fn is_active(&self, now: Instant) -> bool {
        self.held > 0
            || !self.waiting.is_empty()
            || self.last.is_some_and(|last| now.duration_since(last) < ACTIVE)
    }
}

impl Turns {
    /// Creates the gate with this number of turns.
    pub fn new(size: usize) -> Self {
        Self(Arc::new(Gate { size, state: Mutex::default() }))
    }

    /// Waits for a turn of a tenant, for work that none of its users requested.
    pub async fn take(&self, tenant: &TenantId) -> ConnectionTurn {
        self.take_for(&Charged { tenant: tenant.clone(), user: "".into() }).await
    }

    /// Waits for a turn of a user.
    pub async fn take_for(&self, Charged { tenant, user }: &Charged) -> ConnectionTurn {
        let waiting = {
            let (now, mut state) = (Instant::now(), self.0.state.lock());
            let share = state.tenants.entry(tenant.clone()).or_default();
            let was_active = share.is_active(now);
            share.last = Some(now);
            if !was_active {
                // A tenant that becomes active again bounds the shares of the others at once.
                state.counted = None;
            }
            let (active, is_free) = (state.active(now), state.held < self.0.size);
            let share = state.tenants.entry(tenant.clone()).or_default();
            if is_free && share.held < share.most(self.0.size, active) && share.waiting.is_empty() {
                share.held += 1;
                state.held += 1;
                return ConnectionTurn { gate: self.0.clone(), tenant: tenant.clone(), since: now };
            }
            let (granted, waiting) = oneshot::channel();
            share.waiting.push(user, granted);
            state.waiting += 1;
            waiting
        };
        waiting.await.expect("the gate keeps the senders of waiting requests")
    }
}

impl State {
    /// Returns the number of active tenants.
    fn active(&mut self, now: Instant) -> usize {
        if self.counted.is_none_or(|counted| now.duration_since(counted) > COUNTED) {
            if self.tenants.len() > FORGET {
                self.tenants.retain(|_, share| share.is_active(now));
            }
            self.active = self.tenants.values().filter(|share| share.is_active(now)).count();
            self.counted = Some(now);
        }
        self.active
    }

    /// Grants free turns to waiting requests: each turn to the tenant that holds the fewest. Returns the turns with
    /// their receivers, which the caller notifies after it has released the lock.
    fn grant(&mut self, gate: &Arc<Gate>) -> Vec<(oneshot::Sender<ConnectionTurn>, ConnectionTurn)> {
        let (now, size) = (Instant::now(), gate.size);
        let (mut granted, active) = (Vec::new(), self.active(now));
        while self.waiting > 0 && self.held < gate.size {
            let may = |share: &Share| !share.waiting.is_empty() && share.held < share.most(size, active);
            let next = self.tenants.iter_mut().filter(|(_, share)| may(share));
            let Some((tenant, share)) = next.min_by_key(|(_, share)| share.held) else { break };
            let Some(waiting) = share.waiting.pop() else { break };
            self.waiting -= 1;
            if !waiting.is_closed() {
                share.held += 1;
                self.held += 1;
                granted.push((
                    waiting,
                    ConnectionTurn { gate: gate.clone(), tenant: tenant.clone(), since: now },
                ));
            }
        }
        granted
    }
}

impl Drop for ConnectionTurn {
    fn drop(&mut self) {
        let granted = {
            let mut state = self.gate.state.lock();
            state.held -= 1;
            if let Some(share) = state.tenants.get_mut(&self.tenant) {
                let now = Instant::now();
                share.held -= 1;
                share.last = Some(now);
                share.note(now - self.since);
            }
            if state.waiting > 0 { state.grant(&self.gate) } else { Vec::new() }
        };
        for (waiting, turn) in granted {
            // A request that was cancelled drops its turn, which grants it to the next one.
            drop(waiting.send(turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    fn now<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn taken(turns: &Turns, name: &str) -> Option<ConnectionTurn> {
        now(pin!(turns.take(&tenant(name))))
    }

    #[test]
    fn single_tenant_has_all_turns_and_another_gets_the_next() {
        let turns = Turns::new(4);
        let mut held: Vec<_> = (0..4).map(|_| taken(&turns, "noisy").unwrap()).collect();
        let (noisy, quiet) = (tenant("noisy"), tenant("quiet"));
        let mut queue: Vec<_> = (0..20).map(|_| Box::pin(turns.take(&noisy))).collect();
        assert!(queue.iter_mut().all(|waiting| now(waiting.as_mut()).is_none()));
        let mut waiting = pin!(turns.take(&quiet));
        assert!(now(waiting.as_mut()).is_none());

        held.pop();
        let quiet = now(waiting.as_mut()).expect("the tenant that holds the fewest is next");

        // Each tenant may have one of four now.
        held.truncate(1);
        assert!(queue.iter_mut().all(|waiting| now(waiting.as_mut()).is_none()));
        held.clear();
        let served = queue.iter_mut().filter_map(|waiting| now(waiting.as_mut())).collect::<Vec<_>>();
        assert_eq!(served.len(), 1);
        drop(quiet);
        assert!(taken(&turns, "quiet").is_some());
    }

    #[test]
    fn active_tenants_share_the_turns() {
        let turns = Turns::new(16);
        let held: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| taken(&turns, name).unwrap()).collect();
        let second: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| taken(&turns, name).unwrap()).collect();
        assert!(taken(&turns, "a").is_none(), "half of a quarter of sixteen");
        drop((held, second));
        let many: Vec<_> = (0..20).filter_map(|n| taken(&turns, &format!("t{n}"))).collect();
        assert_eq!(many.len(), 16, "everybody may have one, as long as there are some");
    }

    #[test]
    fn slow_tenant_has_an_eighth_beside_others_and_leaves_an_eighth_when_alone() {
        let turns = Turns::new(16);
        turns.0.state.lock().tenants.entry(tenant("slow")).or_default().average = 2 * SLOW;
        let alone: Vec<_> = (0..16).map_while(|_| taken(&turns, "slow")).collect();
        assert_eq!(alone.len(), 14, "two are left for somebody who comes");
        let fast: Vec<_> = (0..16).map_while(|_| taken(&turns, "fast")).collect();
        assert_eq!(fast.len(), 2, "as many as are free");
        drop(alone);
        turns.0.state.lock().tenants.entry(tenant("slow")).or_default().average = 2 * SLOW;
        assert_eq!((0..16).map_while(|_| taken(&turns, "slow")).collect::<Vec<_>>().len(), 2);
        drop(fast);
        assert_eq!((0..16).map_while(|_| taken(&turns, "fast")).collect::<Vec<_>>().len(), 4);
    }

    #[test]
    fn average_follows_the_turns_of_a_tenant() {
        let mut share = Share::default();
        (0..40).for_each(|_| share.note(Duration::from_millis(100)));
        assert!(share.average > Duration::from_millis(90), "{:?}", share.average);
        (0..40).for_each(|_| share.note(Duration::from_millis(1)));
        assert!(share.average < Duration::from_millis(2), "{:?}", share.average);
    }

    #[test]
    fn turn_of_a_cancelled_request_goes_to_the_next_one() {
        let turns = Turns::new(1);
        let held = taken(&turns, "a").unwrap();
        let a = tenant("a");
        let mut second = Box::pin(turns.take(&a));
        let mut third = pin!(turns.take(&a));
        assert!(now(second.as_mut()).is_none() && now(third.as_mut()).is_none());

        drop(second);
        drop(held);

        assert!(now(third.as_mut()).is_some());
    }

    #[test]
    fn user_who_waits_for_many_turns_delays_no_other_user_of_the_tenant() {
        let turns = Turns::new(1);
        let of = |user: &str| Charged { tenant: tenant("a"), user: user.into() };
        let (device, person) = (of("device"), of("person"));
        let held = now(pin!(turns.take_for(&device))).expect("the only turn");
        let mut many: Vec<_> = (0..100).map(|_| Box::pin(turns.take_for(&device))).collect();
        assert!(many.iter_mut().all(|waiting| now(waiting.as_mut()).is_none()));
        let mut waiting = pin!(turns.take_for(&person));
        assert!(now(waiting.as_mut()).is_none());

        drop(held);
        drop(many.iter_mut().find_map(|waiting| now(waiting.as_mut())).expect("the next one of the device"));

        assert!(now(waiting.as_mut()).is_some(), "the other user is next");
    }

    #[test]
    fn resting_tenants_are_forgotten() {
        let turns = Turns::new(1);
        for n in 0..1000 {
            drop(taken(&turns, &format!("t{n}")).unwrap());
            let mut state = turns.0.state.lock();
            state.tenants.values_mut().for_each(|share| share.last = None);
            state.counted = None;
        }
        assert!(turns.0.state.lock().tenants.len() <= FORGET + 1);
    }
}
