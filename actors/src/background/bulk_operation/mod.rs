//! One actor per bulk operation that is running or starts soon (K-10, K-11).
//!
//! A tick creates the due operations, at most a few hundred, in one transaction that also stores the progress. The
//! operations are published with its commit. So a process may die at any moment, and it or another one continues
//! from the stored progress.
//!
//! Notifications about one device are sent in the order of the commits, because the devices of this process pause
//! while their operation is created.

mod ramp;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use platform_model::error::{Error, Result};
use platform_model::id::ManagedObjectId;
use platform_store::Database;
use platform_store::devices::bulk::steps::{Held, Stepped, begin, list_targets, make_step};
use platform_store::{Pool, PooledConnection};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::background::leases::{LeaseGuard, Leases};
use crate::device::Devices;
use crate::writes::WriteContext;
use ramp::Ramp;

/// The most operations of one step, which is a transaction of about ten milliseconds.
const STEP: usize = 200;
/// The most bytes of operations in one step.
const STEP_BYTES: usize = 8 << 20;
/// The number of steps that this process runs concurrently, each on its own connection. Waiting steps run in order of
/// arrival, so a large bulk operation delays a small one by one step at most.
const STEPS_AT_ONCE: usize = 3;
/// The delay before a step is retried because another transaction changed the same rows.
const CONTENTION_DELAY: Duration = Duration::from_millis(20);
/// The delay before a step is retried while the database is unreachable or its disk is full.
const UNREACHABLE_DELAY: Duration = Duration::from_secs(1);
/// The longest time of a timer.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The bulk operations that this process works on.
#[derive(Debug)]
pub(crate) struct BulkOperations {
    turns: Semaphore,
    connections: Pool,
    /// The leases of these bulk operations.
    pub(crate) leases: Arc<Leases>,
}

impl BulkOperations {
    pub(crate) fn new(database: &Database) -> Result<Self> {
        let connections = database.step_pool(STEPS_AT_ONCE)?;
        Ok(Self { turns: Semaphore::new(STEPS_AT_ONCE), connections, leases: Arc::default() })
    }
}

/// Checks whether operations are due. Sent by the actor to itself.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct RampTick;

/// The actor of a running bulk operation.
pub(crate) struct BulkOperationActor {
    run: Run,
    _lease: LeaseGuard,
}

/// The state that a tick needs.
#[derive(Clone)]
struct Run {
    held: Held,
    ramp: Ramp,
    all: Arc<BulkOperations>,
    context: WriteContext,
    devices: Arc<Devices>,
}

impl BulkOperationActor {
    /// Creates the actor. `context` belongs to the tenant's devices on the actor's thread. If an operation is overdue
    /// the ramp starts now, so that missed operations are not created all at once (K-11).
    pub(crate) fn new(
        held: Held,
        all: Arc<BulkOperations>,
        context: WriteContext,
        devices: Arc<Devices>,
    ) -> Self {
        let first = Instant::now() + Duration::try_from_secs_f64(held.until_due).unwrap_or_default();
        let ramp = Ramp::new(held.asked.ramp, first);
        let lease = all.leases.add(held.hold());
        Self { run: Run { held, ramp, all, context, devices }, _lease: lease }
    }

    /// Returns how long to wait before the next step; `None` when the actor is to stop.
    fn handle_outcome(&mut self, run: Run, outcome: Result<Stepped>) -> Option<Duration> {
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
            Err(error) if error.is_foreign_key_violation() => Some(CONTENTION_DELAY),
            Err(Error::Contended) => Some(CONTENTION_DELAY),
            Err(Error::Unavailable(_) | Error::DiskFull | Error::Moving(_)) => Some(UNREACHABLE_DELAY),
            Err(error) => {
                tracing::error!(tenant.id = %tenant, bulk_operation.id = %id, %error,
                    "a bulk operation failed; it is retried when its lease expires");
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
        ctx.spawn(step.into_actor(self).map(|(run, outcome), actor, ctx| {
            match actor.handle_outcome(run, outcome) {
                Some(wait) => Self::tick_after(wait, ctx),
                None => ctx.stop(),
            }
        }));
    }
}

impl Run {
    /// Creates and publishes the operations that are due. The first step chooses the devices.
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
        let paused = self.devices.pause(&devices).await;
        let after = self.ramp.after(devices.len());

        let stepped = self.make_step(client, &devices, &after).await?;

        self.ramp = after;
        drop(paused);
        Ok(stepped)
    }

    /// Runs a step. A connection that does not respond in time is closed; the next step finds out whether this one
    /// was committed.
    async fn make_step(
        &mut self,
        mut client: PooledConnection,
        devices: &[ManagedObjectId],
        after: &Ramp,
    ) -> Result<Stepped> {
        let WriteContext { limits, database, .. } = &self.context;
        let until_next = after.until_next(Instant::now());
        let step = make_step(database, &mut client, &mut self.held, limits.bulk_lease, devices, until_next);
        match timeout(limits.write_timeout, step).await {
            Ok(outcome) => outcome,
            Err(_) => {
                drop(PooledConnection::take(client));
                Err(Error::unavailable("the database did not respond in time"))
            }
        }
    }

    /// Chooses the devices. The ramp starts afterwards, however long that took.
    async fn begin(&mut self) -> Result<Stepped> {
        let begun = begin(&self.context.database, &mut self.held, self.context.limits.bulk_lease).await;
        self.ramp.postpone(Instant::now());
        begun
    }
}
