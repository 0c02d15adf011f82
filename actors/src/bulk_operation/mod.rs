//! One actor per bulk operation that is under way, or starts soon (K-10, K-11).
//!
//! A tick creates the operations that are due, at most some hundred, in one transaction with the place reached, and tells of them
//! after its commit. So it may be cut off at any moment and goes on where it was, in this process or in another one.
//!
//! What is told of one device is told in the order of the commits: devices of this process pause while their operation is
//! created.

mod ramp;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use deadpool_postgres::{Object, Pool};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::device::{Cause, Context as DeviceContext};
use crate::error::{Error, Result};
use crate::leases::{Entered, Leases};
use crate::model::id::ManagedObjectId;
use crate::store::Database;
use crate::store::bulk_operation_steps::{Held, Stepped, begin, list_targets, make_step};
use crate::store::operations::Queued;
use ramp::Ramp;

/// Operations that one step creates: a transaction of some ten milliseconds.
const STEP: usize = 200;
/// Bytes that the operations of one step may have.
const STEP_BYTES: usize = 8 << 20;
/// Steps of this process that are made at a time, each on a connection. Who waits is served in turn, so a large bulk operation
/// holds a small one up for one step.
const STEPS_AT_ONCE: usize = 3;
/// Before a step is tried again that lost against others.
const CONTENDED: Duration = Duration::from_millis(20);
/// Before a step is tried again while the database is away or its disk full.
const AWAY: Duration = Duration::from_secs(1);
/// No timer is set for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The bulk operations that a process is at work on.
#[derive(Debug)]
pub(crate) struct BulkOperations {
    turns: Semaphore,
    connections: Pool,
    /// What it holds.
    pub(crate) leases: Arc<Leases>,
}

impl BulkOperations {
    pub(crate) fn new(database: &Database) -> Result<Self> {
        let connections = database.step_pool(STEPS_AT_ONCE)?;
        Ok(Self { turns: Semaphore::new(STEPS_AT_ONCE), connections, leases: Arc::default() })
    }
}

/// The next operation may be due. Sent by the actor to itself.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct RampTick;

/// A bulk operation under way.
pub(crate) struct BulkOperationActor {
    run: Run,
    _entered: Entered,
}

/// What a tick works with.
#[derive(Clone)]
struct Run {
    held: Held,
    ramp: Ramp,
    all: Arc<BulkOperations>,
    context: DeviceContext,
}

impl BulkOperationActor {
    /// `context` is that of the tenant's devices on the actor's thread. Of one that was due already the next turn is now, so that
    /// what nobody did meanwhile is not made up for (K-11).
    pub(crate) fn new(held: Held, all: Arc<BulkOperations>, context: DeviceContext) -> Self {
        let first = Instant::now() + Duration::try_from_secs_f64(held.until_due).unwrap_or_default();
        let ramp = Ramp::new(held.asked.ramp, first);
        let entered = all.leases.enter(held.hold());
        Self { run: Run { held, ramp, all, context }, _entered: entered }
    }

    /// Whether and when to go on after a step.
    fn went(&mut self, (run, outcome): (Run, Result<Stepped>)) -> Option<Duration> {
        self.run = run;
        let (tenant, id) = (&self.run.held.tenant, self.run.held.id);
        match outcome {
            Ok(Stepped::On) => Some(self.run.ramp.wait(Instant::now())),
            Ok(Stepped::Finished) => None,
            Ok(Stepped::TakenOver) => {
                tracing::info!(tenant.id = %tenant, bulk_operation.id = %id,
                    "a bulk operation was taken over by another process, or changed");
                None
            }
            Err(error) if error.is_foreign_key_violation() => Some(CONTENDED),
            Err(Error::Contended) => Some(CONTENDED),
            Err(Error::Unavailable(_) | Error::DiskFull) => Some(AWAY),
            Err(error) => {
                tracing::error!(tenant.id = %tenant, bulk_operation.id = %id, %error,
                    "a bulk operation failed, it is tried again when its lease ends");
                None
            }
        }
    }

    fn tick_after(wait: Duration, ctx: &mut Context<Self>) {
        ctx.notify_later(RampTick, wait.min(LONGEST_WAIT));
    }
}

impl Actor for BulkOperationActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        Self::tick_after(self.run.ramp.wait(Instant::now()), ctx);
    }
}

impl Handler<RampTick> for BulkOperationActor {
    type Result = ();

    fn handle(&mut self, _: RampTick, ctx: &mut Self::Context) {
        let mut run = self.run.clone();
        let step = async move {
            let outcome = run.step().await;
            (run, outcome)
        };
        ctx.spawn(step.into_actor(self).map(|went, actor, ctx| match actor.went(went) {
            Some(wait) => Self::tick_after(wait, ctx),
            None => ctx.stop(),
        }));
    }
}

impl Run {
    /// Creates what is due, and tells of it. At the start it chooses the devices first.
    async fn step(&mut self) -> Result<Stepped> {
        let now = Instant::now();
        if !self.ramp.wait(now).is_zero() {
            return Ok(Stepped::On);
        }
        self.context.database.ensure_room()?;
        if self.held.total.is_none() {
            return self.begin().await;
        }
        let all = self.all.clone();
        let _turn = all.turns.acquire().await.map_err(Error::unavailable)?;
        self.context.database.ensure_reachable()?;
        let client = all.connections.get().await?;
        let most = (STEP_BYTES / self.held.asked.size).clamp(1, STEP);
        let devices = list_targets(&client, &self.held, self.ramp.due(Instant::now(), most)).await?;
        let paused = self.context.pause(&devices).await;
        let after = self.ramp.after(devices.len());

        let (stepped, queued) = self.make_step(client, &devices, &after).await?;

        self.ramp = after;
        for queued in queued {
            self.context.publish_queued(queued, Cause::persistent(&self.held.asked.links));
        }
        drop(paused);
        Ok(stepped)
    }

    /// A connection that does not answer in time is given up; whether the step was made is found out by the next.
    async fn make_step(
        &mut self,
        mut client: Object,
        devices: &[ManagedObjectId],
        after: &Ramp,
    ) -> Result<(Stepped, Vec<Queued>)> {
        let limits = &self.context.limits;
        let until_next = after.until_next(Instant::now());
        let step = make_step(&mut client, (&mut self.held, limits.bulk_lease), devices, until_next);
        match timeout(limits.write_timeout, step).await {
            Ok(outcome) => outcome,
            Err(_) => {
                drop(Object::take(client));
                Err(Error::unavailable("the database did not answer in time"))
            }
        }
    }

    /// The ramp begins when the devices are chosen, however long that took.
    async fn begin(&mut self) -> Result<Stepped> {
        let begun = begin(&self.context.database, &mut self.held, self.context.limits.bulk_lease).await;
        self.ramp.put_off(Instant::now());
        begun
    }
}
