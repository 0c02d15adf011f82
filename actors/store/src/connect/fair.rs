//! Fair shares of a pool of connections: a tenant with many heavy requests does not slow down the others.
//!
//! A request of a tenant takes a turn before it takes a connection. While one tenant is alone it may have all turns. When
//! others are active, each has a bounded share, and a free turn goes to the waiting tenant that holds the fewest. Work
//! that belongs to no tenant takes no turn.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::id::TenantId;
use tokio::sync::oneshot;

/// How long a tenant counts as active after its last turn.
const ACTIVE: Duration = Duration::from_secs(2);
/// How long a count of the active tenants is used.
const COUNTED: Duration = Duration::from_millis(100);
/// The number of tenants from which those that rest are forgotten.
const FORGET: usize = 64;

/// The turns of a pool.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Arc<Gate>);

#[derive(Debug)]
struct Gate {
    size: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    /// How many wait, of all tenants.
    waiting: usize,
    /// How many tenants were active when they were counted last.
    active: usize,
    counted: Option<Instant>,
    tenants: HashMap<TenantId, Share>,
}

/// The turns that a tenant holds and waits for.
#[derive(Debug, Default)]
struct Share {
    held: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
    /// When it last took a turn or gave one back.
    last: Option<Instant>,
}

/// The right to use a connection. It is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    gate: Arc<Gate>,
    tenant: TenantId,
}

impl Share {
    fn is_active(&self, now: Instant) -> bool {
        self.held > 0
            || !self.waiting.is_empty()
            || self.last.is_some_and(|last| now.duration_since(last) < ACTIVE)
    }
}

impl Turns {
    pub(crate) fn new(size: usize) -> Self {
        Self(Arc::new(Gate { size, state: Mutex::default() }))
    }

    /// Waits for a turn of a tenant.
    pub(crate) async fn take(&self, tenant: &TenantId) -> Turn {
        let waiting = {
            let (now, mut state) = (Instant::now(), self.0.state.lock());
            let share = state.tenants.entry(tenant.clone()).or_default();
            let was_active = share.is_active(now);
            share.last = Some(now);
            if !was_active {
                // Somebody who comes back bounds the others at once.
                state.counted = None;
            }
            let (most, is_free) = (state.most(self.0.size, now), state.held < self.0.size);
            let share = state.tenants.entry(tenant.clone()).or_default();
            if is_free && share.held < most && share.waiting.is_empty() {
                share.held += 1;
                state.held += 1;
                return Turn { gate: self.0.clone(), tenant: tenant.clone() };
            }
            let (granted, waiting) = oneshot::channel();
            share.waiting.push_back(granted);
            state.waiting += 1;
            waiting
        };
        waiting.await.expect("the gate keeps the senders of those that wait")
    }
}

impl State {
    /// Returns how many turns a tenant may hold: all while it is alone, otherwise the same share as each of the others.
    fn most(&mut self, size: usize, now: Instant) -> usize {
        if self.counted.is_none_or(|counted| now.duration_since(counted) > COUNTED) {
            if self.tenants.len() > FORGET {
                self.tenants.retain(|_, share| share.is_active(now));
            }
            self.active = self.tenants.values().filter(|share| share.is_active(now)).count();
            self.counted = Some(now);
        }
        (size / self.active.max(1)).max(1)
    }

    /// Gives free turns to those that wait: each to the tenant that holds the fewest. Returns them with their receivers,
    /// which are told when the lock is free again.
    fn grant(&mut self, gate: &Arc<Gate>) -> Vec<(oneshot::Sender<Turn>, Turn)> {
        let (mut granted, most) = (Vec::new(), self.most(gate.size, Instant::now()));
        while self.waiting > 0 && self.held < gate.size {
            let next =
                self.tenants.iter_mut().filter(|(_, share)| !share.waiting.is_empty() && share.held < most);
            let Some((tenant, share)) = next.min_by_key(|(_, share)| share.held) else { break };
            let Some(waiting) = share.waiting.pop_front() else { break };
            self.waiting -= 1;
            if !waiting.is_closed() {
                share.held += 1;
                self.held += 1;
                granted.push((waiting, Turn { gate: gate.clone(), tenant: tenant.clone() }));
            }
        }
        granted
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let granted = {
            let mut state = self.gate.state.lock();
            state.held -= 1;
            if let Some(share) = state.tenants.get_mut(&self.tenant) {
                share.held -= 1;
                share.last = Some(Instant::now());
            }
            if state.waiting > 0 { state.grant(&self.gate) } else { Vec::new() }
        };
        for (waiting, turn) in granted {
            // One that waits no more gives its turn back, which grants it to the next.
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

    fn taken(turns: &Turns, name: &str) -> Option<Turn> {
        now(pin!(turns.take(&tenant(name))))
    }

    #[test]
    fn lone_tenant_has_all_turns_and_another_gets_the_next() {
        let turns = Turns::new(4);
        let mut held: Vec<_> = (0..4).map(|_| taken(&turns, "noisy").unwrap()).collect();
        let (noisy, quiet) = (tenant("noisy"), tenant("quiet"));
        let mut queue: Vec<_> = (0..20).map(|_| Box::pin(turns.take(&noisy))).collect();
        assert!(queue.iter_mut().all(|waiting| now(waiting.as_mut()).is_none()));
        let mut waiting = pin!(turns.take(&quiet));
        assert!(now(waiting.as_mut()).is_none());

        held.pop();
        let quiet = now(waiting.as_mut()).expect("the tenant that holds the fewest is next");

        // Each may have two now.
        held.truncate(1);
        let served = queue.iter_mut().filter_map(|waiting| now(waiting.as_mut())).collect::<Vec<_>>();
        assert_eq!(served.len(), 1);
        assert!(taken(&turns, "quiet").is_some());
        drop(quiet);
    }

    #[test]
    fn turns_are_shared_by_as_many_as_are_active() {
        let turns = Turns::new(8);
        let held: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| taken(&turns, name).unwrap()).collect();
        let second: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| taken(&turns, name).unwrap()).collect();
        assert!(taken(&turns, "a").is_none());
        drop((held, second));
        let many: Vec<_> = (0..20).filter_map(|n| taken(&turns, &format!("t{n}"))).collect();
        assert_eq!(many.len(), 8, "everybody may have one, as long as there are some");
    }

    #[test]
    fn turn_of_one_that_waits_no_more_goes_to_the_next() {
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
