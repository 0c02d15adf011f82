//! The state that clients and posters share.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::balancer::Balancer;
use super::clients::ClientSpecs;
use super::falsifier::Falsifier;
use super::feeder::Feeders;
use super::generator::Share;
use super::orders::Orders;
use super::plan::{Group, Plan};
use super::presence;
use super::series::Series;
use super::world::World;
use crate::error::Error;
use crate::ledger::mark::Mark;
use crate::ledger::positions::{ConsumerId, PositionLedger};
use crate::ledger::run::Run;
use crate::ledger::session::{ClientId, SessionLedger, TOPICS};
use crate::protocol::consumer::batch::Notification;
use crate::protocol::operations::ledger::OperationLedger;
use crate::target::Target;

const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A fault that was caused, for the charts.
#[derive(Debug, Clone)]
pub(crate) struct Happened {
    pub(crate) at: std::time::Instant,
    pub(crate) what: String,
}

/// The state that clients and posters share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) run: Arc<Run>,
    /// The servers, accessed as the user of `--user`.
    pub(super) targets: Vec<Arc<Target>>,
    pub(super) world: World,
    /// Whether each session goes to the next server after each response or frame.
    pub(super) is_round_robin: bool,
    /// The number of clients of other generators.
    pub(super) elsewhere: usize,
    pub(super) groups: Vec<Group>,
    pub(super) feeders: Feeders,
    pub(super) balancer: Arc<Balancer>,
    pub(super) orders: Orders,
    pub(super) clients_by_name: Vec<(String, Range<ClientId>)>,
    pub(super) consumer_orders: Orders,
    pub(super) consumers_by_name: Vec<(String, Range<ConsumerId>)>,
    pub(super) series: Series,
    pub(super) ledger: Mutex<SessionLedger>,
    pub(super) operations: Mutex<OperationLedger>,
    pub(super) positions: Mutex<PositionLedger>,
    pub(super) falsifier: Mutex<Falsifier<Mark>>,
    pub(super) consumer_falsifier: Mutex<Falsifier<Notification>>,
    /// The reasons why sessions ended or could not be opened, with their counts.
    pub(super) causes: Mutex<BTreeMap<String, u64>>,
    pub(super) happened: Mutex<Vec<Happened>>,
    /// The number of sessions at workers.
    pub(super) sessions_elsewhere: AtomicUsize,
    /// The accuracy of the known clocks of workers, in microseconds.
    pub(super) clock_error: AtomicU64,
}

impl Shared {
    /// Creates the state of a generator with this share, and returns the clients of all generators.
    pub(super) fn new(
        plan: &Plan,
        run: Run,
        world: World,
        targets: Vec<Arc<Target>>,
        share: Share,
    ) -> (Arc<Self>, ClientSpecs) {
        let mut ledger = SessionLedger::new(world.devices.len() * TOPICS as usize);
        let mut specs = ClientSpecs::of(plan, &world, &mut ledger, targets.len());
        let agents = (0..).zip(&world.devices).map(|(number, device)| (device.id.clone(), number)).collect();
        let shared = Arc::new(Self {
            run: Arc::new(run),
            groups: plan.groups.clone(),
            feeders: Feeders::new(&plan.feeders, share.number, share.of),
            balancer: Arc::new(Balancer::new(targets.len())),
            targets,
            world,
            is_round_robin: plan.servers.as_ref().is_some_and(|servers| servers.is_round_robin),
            elsewhere: specs.all.iter().filter(|spec| !share.has(spec.number)).count(),
            orders: Orders::new(specs.all.len()),
            clients_by_name: std::mem::take(&mut specs.by_name),
            consumer_orders: Orders::new(plan.consumers.iter().map(|group| group.count as usize).sum()),
            consumers_by_name: consumers_by_name(plan),
            series: Series::default(),
            ledger: Mutex::new(ledger),
            operations: Mutex::new(OperationLedger::new(agents)),
            positions: Mutex::default(),
            falsifier: Mutex::new(Falsifier::new(plan.falsification)),
            consumer_falsifier: Mutex::new(Falsifier::new(plan.falsification)),
            causes: Mutex::default(),
            happened: Mutex::default(),
            sessions_elsewhere: AtomicUsize::new(0),
            clock_error: AtomicU64::new(0),
        });
        if let Some(first) = plan.phases.first() {
            presence::begin(&shared, first);
        }
        (shared, specs)
    }

    /// Records notifications. Returns how many of them belong to this run.
    pub(super) fn deliver(&self, client: ClientId, marks: impl Iterator<Item = Mark>) -> usize {
        let now = self.run.now();
        let (mut ledger, mut falsifier) = (self.ledger.lock(), self.falsifier.lock());
        let mut count = 0;
        for mark in marks.filter(|mark| self.run.is_own(*mark)) {
            count += 1;
            for mark in falsifier.apply((client, mark.device), mark) {
                ledger.deliver(client, mark.device, mark.sequence, now);
                self.series.notified(now.saturating_sub(mark.due));
            }
        }
        count
    }

    pub(super) fn note(&self, cause: String) {
        *self.causes.lock().entry(cause).or_default() += 1;
    }

    /// Records a fault with its time in microseconds of the run, and prints it.
    pub(super) fn mark(&self, at: u64, what: String) {
        eprintln!("{:>7.1} s: {what}, until {:.1} s", at as f64 / 1e6, self.run.now() as f64 / 1e6);
        self.happened.lock().push(Happened { at: self.run.instant(at), what });
    }

    /// Returns the numbers of the clients or consumers of a name, and where their orders are.
    pub(super) fn named(&self, name: &str) -> (Range<usize>, &Orders) {
        let mut all = self.all_by_name();
        let found = all.find(|(of, ..)| *of == name);
        found.map_or((0..0, &self.orders), |(_, numbers, orders)| (numbers, orders))
    }

    /// Returns the names of all clients and consumers, as [`Self::named`] does.
    pub(super) fn all_by_name(&self) -> impl Iterator<Item = (&str, Range<usize>, &Orders)> {
        let clients = self.clients_by_name.iter().map(|named| (named, &self.orders));
        let consumers = self.consumers_by_name.iter().map(|named| (named, &self.consumer_orders));
        clients.chain(consumers).map(|((name, numbers), orders)| (name.as_str(), numbers.clone(), orders))
    }

    /// Returns the number of clients with a session, here and at workers.
    pub(super) fn sessions(&self) -> usize {
        let ledger = self.ledger.lock();
        ledger.present() + self.sessions_elsewhere.load(Ordering::Relaxed)
    }

    /// Returns the number of clients of this generator that have no session at present.
    pub(super) fn away(&self) -> usize {
        self.ledger.lock().away() - self.elsewhere
    }

    /// Waits until all clients of this generator have a session, at most `limit`.
    pub(super) async fn all_have_sessions(&self, limit: Duration) -> Result<(), Error> {
        let started = Instant::now();
        while self.away() > 0 {
            if started.elapsed() > limit {
                let causes = self.causes.lock();
                return Err(Error::Refused(format!("{} clients have no session: {causes:?}", self.away())));
            }
            sleep(CHECK_INTERVAL).await;
        }
        Ok(())
    }

    /// Waits until nothing has arrived for a time and all agents are done, at most `limit`.
    pub(super) async fn drain(&self, quiet: Duration, limit: Duration) {
        let started = Instant::now();
        let state = || (self.ledger.lock().deliveries(), self.operations.lock().progress().1);
        let (mut last, mut since) = (state(), started);
        while (since.elapsed() < quiet || last.1 > 0) && started.elapsed() < limit {
            sleep(CHECK_INTERVAL).await;
            let now = state();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }
}

/// Returns the numbers of the consumers of each name.
fn consumers_by_name(plan: &Plan) -> Vec<(String, Range<ConsumerId>)> {
    let mut first = 0;
    let named = plan.consumers.iter().map(|consumers| {
        let range = first..first + consumers.count as usize;
        first = range.end;
        (consumers.name.clone(), range)
    });
    named.collect()
}
