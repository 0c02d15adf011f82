//! The named consumers of a run: they are created before the first phase, read until the end, and deleted after it. The
//! process that judges reads them, also if workers have the other clients.

pub(crate) mod plan;
mod reader;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use self::reader::ReaderSpec;
use super::Shared;
use super::orders::Order;
use super::plan::Plan;
use super::world::Home;
use crate::devices;
use crate::devices::random;
use crate::error::Error;
use crate::ledger::positions::ConsumerId;
use crate::ledger::session::Scope;
use crate::protocol::consumer::reader::Reading;
use crate::protocol::consumer::{Consumer, NAMES, NewConsumer, path_of};
use crate::target::Target;

const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The longest time until the newest position is known at the end.
const RESPONSE_LIMIT: Duration = Duration::from_secs(5);

/// A consumer that was created.
#[derive(Debug)]
struct Created {
    id: ConsumerId,
    name: String,
    home: Home,
}

/// The consumers of a run, with their readers; dropping it ends the readers.
#[derive(Debug, Default)]
pub(super) struct ConsumerSet {
    created: Vec<Created>,
    readers: Vec<ReaderSpec>,
    tasks: JoinSet<()>,
}

impl ConsumerSet {
    /// Creates the consumers of a plan.
    ///
    /// # Errors
    /// The server rejects one; [`Self::remove`] removes those that were created before.
    pub(super) async fn create(&mut self, shared: &Shared, plan: &Plan) -> Result<(), Error> {
        let run = random::text(6).to_lowercase();
        for (group, consumers) in plan.consumers.iter().enumerate() {
            let home = shared.world.home(consumers.tenant);
            let target = shared.world.administrator(home).at(&shared.targets[0]);
            let mut connection = target.connect().await?;
            for (number, way) in (0..consumers.count as usize).zip(consumers.ways.iter().copied().cycle()) {
                let new = NewConsumer {
                    name: format!("{NAMES}{run}-{group}-{number}"),
                    channels: consumers.channels(),
                    max_age: consumers.max_age,
                    max_bytes: consumers.max_bytes,
                };
                let Consumer { name, position, .. } = new.create(&target, &mut connection).await?;
                let scope = Scope::new(shared.world.devices_of(home), consumers.topics());
                let is_dense = consumers.is_dense();
                let mut ledger = shared.positions.lock();
                let id = ledger.add_consumer(&name, home.index(), (scope, is_dense), position);
                self.created.push(Created { id, name: name.clone(), home });
                self.readers.push(ReaderSpec {
                    id,
                    name,
                    login: shared.world.administrator(home).clone(),
                    reading: Reading { way, batch: consumers.batch, wait: consumers.wait.as_secs() },
                    away: consumers.away,
                    home: number % shared.targets.len(),
                });
            }
        }
        Ok(())
    }

    /// Starts to read. A process whose clients are at workers checks itself which servers are ready.
    pub(super) fn read(&mut self, shared: &Arc<Shared>, has_workers: HasWorkers) {
        if has_workers == HasWorkers::Yes && !self.readers.is_empty() {
            self.tasks = shared.balancer.check(&shared.targets);
        }
        for spec in self.readers.drain(..) {
            self.tasks.spawn(spec.read_all(Arc::clone(shared)));
        }
    }

    /// Waits until consumers of all changes have received the newest one of their tenants and nothing arrives any more.
    /// Gives up when nothing has arrived for `limit`.
    pub(super) async fn finish(&self, shared: &Shared, quiet: Duration, limit: Duration) {
        if self.created.is_empty() {
            return;
        }
        let mut newest = Vec::new();
        // The posts are over; readers that are not meant to read come to receive the rest.
        self.created.iter().for_each(|created| shared.consumer_orders.give(created.id, Order::Come));
        for created in &self.created {
            let read = timeout(RESPONSE_LIMIT, newest_of(shared, created)).await;
            let read = read.unwrap_or(Err(Error::Timeout("reading a consumer")));
            newest.push(read.map_err(|error| shared.note(format!("consumer at the end: {error}"))).ok());
        }
        let deliveries = || shared.positions.lock().deliveries();
        let is_behind = || {
            let ledger = shared.positions.lock();
            let mut all = self.created.iter().zip(&newest);
            all.any(|(created, newest)| {
                ledger.is_dense(created.id)
                    && newest.is_some_and(|newest| ledger.highest(created.id) < newest)
            })
        };
        let (mut last, mut since) = (deliveries(), Instant::now());
        while since.elapsed() < if is_behind() { limit } else { quiet } {
            sleep(CHECK_INTERVAL).await;
            let now = deliveries();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        let mut ledger = shared.positions.lock();
        for (created, newest) in self.created.iter().zip(newest) {
            // A consumer whose state is unknown counts as one that has not received the newest change.
            let newest = newest.unwrap_or_else(|| ledger.highest(created.id) + 1);
            ledger.end(created.id, newest, shared.run.now());
        }
    }

    /// Ends the readers and deletes the consumers. Returns how many were deleted and how many could not be deleted.
    pub(super) async fn remove(mut self, shared: &Shared) -> (usize, usize) {
        self.tasks.shutdown().await;
        let mut left = 0;
        for Created { name, home, .. } in &self.created {
            let target = Arc::new(shared.world.administrator(*home).at(&shared.targets[0]));
            let request = target.delete(&path_of(name));
            left += devices::send_all(&target, "removing consumers", vec![request], 204).await;
        }
        (self.created.len() - left, left)
    }
}

/// Whether workers have the other clients of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasWorkers {
    Yes,
    No,
}

async fn newest_of(shared: &Shared, created: &Created) -> Result<u64, Error> {
    let target: Target = shared.world.administrator(created.home).at(&shared.targets[0]);
    Ok(Consumer::get(&target, &mut target.connect().await?, &created.name).await?.newest)
}
