//! A generator with its clients, and with connections that post. A run has one generator of its own, or one in each
//! worker; several generators share the devices and dashboards, and are equal otherwise.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::clients::{self, ClientSpecs};
use super::orders::Order;
use super::plan::{Act, Group, Mode, Plan, Query, Stream};
use super::posters::{Due, Posted, Posters};
use super::shared::Shared;
use crate::error::Error;
use crate::ledger::Outcome;
use crate::ledger::session::{ClientId, SessionLedger};
use crate::protocol::object_kind::ObjectKind;
use crate::protocol::operations::ledger::OperationLedger;
use crate::traffic::schedule::{self, Schedule};

/// The longest time until all clients have a session, at the start and at the end.
const OPENING_LIMIT: Duration = Duration::from_secs(300);
const RETURN_LIMIT: Duration = Duration::from_secs(60);

/// The devices and dashboards that belong to a generator: those whose number, divided by `of`, leaves the remainder
/// `number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Share {
    pub(super) number: usize,
    pub(super) of: usize,
}

impl Share {
    /// The share of a single generator.
    pub(super) const ALL: Self = Self { number: 0, of: 1 };
    /// The share of a process that leaves everything to workers.
    pub(super) const NOTHING: Self = Self { number: 0, of: 0 };

    pub(super) fn has(self, number: usize) -> bool {
        self.of > 0 && number % self.of == self.number
    }
}

/// A generator with its clients.
#[derive(Debug)]
pub(super) struct Generator {
    shared: Arc<Shared>,
    plan: Plan,
    share: Share,
    posters: Posters,
    /// The connections that read, so that a slow read delays no post.
    readers: Posters,
    /// The client of each device, if the device listens.
    clients_of_devices: Vec<Option<ClientId>>,
    pacers: Vec<JoinHandle<()>>,
    tasks: [JoinSet<()>; 2],
}

/// The records of a generator, for the process that judges them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Records {
    sessions: SessionLedger,
    /// The outcomes of all rows of each lane.
    outcomes: Vec<Vec<Outcome>>,
    operations: OperationLedger,
    causes: BTreeMap<String, u64>,
}

impl Generator {
    /// Connects the clients of its share, and waits until they have sessions.
    ///
    /// # Errors
    /// A client has no session in time.
    pub(super) async fn start(
        shared: &Arc<Shared>,
        plan: &Plan,
        share: Share,
        specs: ClientSpecs,
        connecting: usize,
    ) -> Result<Self, Error> {
        let connections = plan.posters.div_ceil(share.of as u32);
        let own = specs.all.into_iter().filter(|spec| share.has(spec.number)).collect();
        let generator = Self {
            posters: Posters::start(shared, connections, plan.slots()),
            readers: Posters::start(shared, connections, plan.slots()),
            shared: Arc::clone(shared),
            plan: plan.clone(),
            share,
            clients_of_devices: specs.of_devices,
            pacers: Vec::new(),
            tasks: [clients::open(shared, own, connecting), shared.balancer.check(&shared.targets)],
        };
        shared.all_have_sessions(OPENING_LIMIT).await?;
        Ok(generator)
    }

    /// Distributes the due actions of a phase on a thread of its own: posts to their connections, reconnects to
    /// clients. All generators make the same random choices, and each executes those of its share.
    ///
    /// # Errors
    /// An unknown phase.
    pub(super) fn play(&mut self, number: usize, start: u64) -> Result<(), Error> {
        let phase = self.plan.phases.get(number);
        let phase = phase.ok_or_else(|| Error::Refused(format!("unknown phase {number}")))?;
        let schedules: Vec<Schedule> = phase
            .streams
            .iter()
            .map(|stream| Schedule { start, curve: stream.curve, seconds: phase.lasts.as_secs_f64() })
            .collect();
        let hands = Hands {
            shared: Arc::clone(&self.shared),
            share: self.share,
            phase: number,
            streams: phase.streams.clone(),
            groups: self.plan.groups.clone(),
            queues: self.posters.queues(),
            readers: self.readers.queues(),
            clients: self.clients_of_devices.clone(),
        };
        let mut seeded = choices(self.plan.seed, number);
        self.pacers.push(std::thread::spawn(move || {
            schedule::pace(&hands.shared.run, &schedules, |stream, at| hands.give(&mut seeded, stream, at));
        }));
        Ok(())
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Sends the posts that are still due, and waits until the clients have sessions again. Returns the posts of each
    /// phase. A client without a session at the end appears in the report.
    pub(super) async fn finish(&mut self) -> Vec<Posted> {
        self.shared.run.end();
        self.pacers.drain(..).for_each(|pacer| drop(pacer.join()));
        let mut posted = self.posters.finish().await;
        let read = self.readers.finish().await;
        posted.iter_mut().zip(&read).for_each(|(posted, read)| posted.add(read));
        self.shared.all_have_sessions(RETURN_LIMIT).await.ok();
        posted
    }

    /// Ends the clients and returns the records.
    pub(super) async fn end(mut self) -> Records {
        for tasks in &mut self.tasks {
            tasks.shutdown().await;
        }
        Records {
            sessions: std::mem::replace(&mut *self.shared.ledger.lock(), SessionLedger::new(0)),
            outcomes: self.shared.run.outcomes(),
            operations: std::mem::take(&mut *self.shared.operations.lock()),
            causes: std::mem::take(&mut *self.shared.causes.lock()),
        }
    }
}

/// Hands the due actions of a phase to connections and clients.
struct Hands {
    shared: Arc<Shared>,
    share: Share,
    phase: usize,
    streams: Vec<Stream>,
    groups: Vec<Group>,
    queues: Vec<UnboundedSender<Due>>,
    readers: Vec<UnboundedSender<Due>>,
    /// The client of each device, if the device listens.
    clients: Vec<Option<ClientId>>,
}

impl Hands {
    /// Hands an action of a stream over. Returns whether anybody still takes actions.
    fn give(&self, seeded: &mut Rng, stream: usize, at: u64) -> bool {
        let Stream { group: number, act, .. } = self.streams[stream];
        let (devices, group) = (&self.shared.world.groups[number], &self.groups[number]);
        // All generators make these choices, so that they agree.
        let device = seeded.u32(devices.clone());
        let mode = chosen(&group.modes, seeded);
        let query = if act == Act::Read { chosen_query(&group.queries, seeded) } else { 0 };
        if !self.share.has(device as usize) {
            return true;
        }
        if act == Act::Reconnect {
            let client = self.clients[device as usize];
            client.into_iter().for_each(|client| self.shared.orders.give(client, Order::Reconnect));
            return true;
        }
        let rows = if act == Act::Post(ObjectKind::Measurement) { group.per_post } else { 1 };
        let mode = if act.object().is_some() { mode } else { Mode::Persistent };
        let slot = self.phase * self.groups.len() + number;
        let queues = if act == Act::Read { &self.readers } else { &self.queues };
        let queue = &queues[device as usize % queues.len()];
        queue.send(Due { at, slot, device, act, query, mode, rows }).is_ok()
    }
}

impl Records {
    /// Adds these records to those of this process.
    pub(super) fn add_to(self, shared: &Shared) {
        shared.ledger.lock().absorb(self.sessions);
        shared.run.absorb(&self.outcomes);
        shared.operations.lock().absorb(self.operations);
        let mut causes = shared.causes.lock();
        for (cause, count) in self.causes {
            *causes.entry(cause).or_default() += count;
        }
    }
}

/// Returns the random choices of a phase, which are the same for the same seed.
fn choices(seed: u64, phase: usize) -> Rng {
    Rng::with_seed(Rng::with_seed(seed).u64(..) ^ phase as u64)
}

/// Chooses a mode by weight.
fn chosen(modes: &[(Mode, u32)], seeded: &mut Rng) -> Mode {
    let chosen = by_weight(modes.iter().map(|(_, weight)| *weight), seeded);
    modes.get(chosen).map_or_else(Mode::default, |(mode, _)| *mode)
}

/// Chooses a query by weight.
fn chosen_query(queries: &[Query], seeded: &mut Rng) -> usize {
    by_weight(queries.iter().map(|query| query.weight), seeded)
}

/// Chooses one of several by weight.
fn by_weight(weights: impl Iterator<Item = u32> + Clone, seeded: &mut Rng) -> usize {
    let sum: u64 = weights.clone().map(u64::from).sum();
    let mut place = seeded.u64(..sum.max(1));
    for (number, weight) in weights.enumerate() {
        match place.checked_sub(u64::from(weight)) {
            Some(rest) => place = rest,
            None => return number,
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_chosen_by_weight() {
        let mut seeded = Rng::with_seed(1);
        let modes = [(Mode::Persistent, 3), (Mode::Transient, 1)];
        let transient = (0..4000).filter(|_| chosen(&modes, &mut seeded) == Mode::Transient).count();
        assert!((900..1100).contains(&transient), "{transient}");
        assert_eq!(chosen(&[(Mode::Cep, 1)], &mut seeded), Mode::Cep);
    }

    #[test]
    fn same_seed_makes_the_same_choices() {
        let made = |seed, phase| {
            let mut seeded = choices(seed, phase);
            (0..50).map(|_| seeded.u64(..10)).collect::<Vec<_>>()
        };
        assert_eq!(made(7, 1), made(7, 1));
        assert_ne!(made(7, 1), made(8, 1));
        assert_ne!(made(7, 1), made(7, 2));
        assert!((0..10).all(|n| made(7, 0).contains(&n)));
    }

    #[test]
    fn each_number_belongs_to_one_share() {
        let shares = [0, 1, 2].map(|number| Share { number, of: 3 });
        for number in 0..10 {
            assert_eq!(shares.iter().filter(|share| share.has(number)).count(), 1);
            assert!(Share::ALL.has(number) && !Share::NOTHING.has(number));
        }
    }
}
