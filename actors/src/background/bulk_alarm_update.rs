//! One actor per running bulk update of alarms, and the deletion of many alarms.
//!
//! A bulk update consists of steps. Each step is one transaction that changes a few hundred alarms and stores the
//! progress; the changes are published with its commit. So a process may die at any moment, and it or another one
//! continues from the stored progress.
//!
//! Notifications about one device are sent in the order of the commits, because the devices of this process pause
//! while a step changes their alarms. Between processes, and for a device whose first request arrives during a step,
//! the order is that of arrival.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use platform_model::data::alarm::AlarmFilter;
use platform_model::error::{Error, Result};
use platform_model::links::Links;
use platform_store::data::alarms::bulk_updates::{
    self as store, Deletion, Held, Stepped, delete_step, find_deletion_step, find_step, make_step,
};
use platform_store::realtime::publications::DeletionNotices;
use tokio::sync::{Semaphore, oneshot};

use crate::background::leases::{LeaseGuard, Leases};
use crate::device::Devices;
use crate::writes::{Cause, WriteContext};

/// The alarms that one step changes; a step is a transaction of about ten milliseconds.
const STEP: i64 = 500;
/// The factor by which a step shrinks when a constraint rejects it.
const SHRINK: i64 = 8;
/// The delay before a step is retried because a device changed one of its alarms at the same time.
const CONTENTION_DELAY: Duration = Duration::from_millis(20);
/// The delay before a step is retried while the database is unreachable or its disk is full.
const UNREACHABLE_DELAY: Duration = Duration::from_secs(1);

/// The bulk updates that this process works on.
#[derive(Debug)]
pub(crate) struct BulkAlarmUpdates {
    /// Held by the one step that runs at a time, so that bulk updates leave the database to others. Waiting steps run
    /// in order of arrival.
    lane: Semaphore,
    /// The leases of these bulk updates.
    pub(crate) leases: Arc<Leases>,
}

impl Default for BulkAlarmUpdates {
    fn default() -> Self {
        Self { lane: Semaphore::new(1), leases: Arc::default() }
    }
}

/// Starts the next step. Sent by the actor to itself.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct NextStep;

/// The actor of a running bulk update.
pub(crate) struct BulkAlarmUpdate {
    held: Held,
    all: Arc<BulkAlarmUpdates>,
    context: WriteContext,
    devices: Arc<Devices>,
    /// Notified when the update is complete.
    finished: Option<oneshot::Sender<()>>,
    /// The number of alarms of the next step.
    size: i64,
    _lease: LeaseGuard,
}

impl BulkAlarmUpdate {
    /// Creates the actor. `context` belongs to the tenant's devices on the actor's thread.
    pub(crate) fn new(
        held: Held,
        all: Arc<BulkAlarmUpdates>,
        context: WriteContext,
        devices: Arc<Devices>,
        finished: oneshot::Sender<()>,
    ) -> Self {
        let lease = all.leases.add(held.hold());
        Self { held, all, context, devices, finished: Some(finished), size: STEP, _lease: lease }
    }

    /// Returns how long to wait before the next step; `None` when the actor is to stop.
    fn handle_outcome(&mut self, held: Held, outcome: Result<Stepped>) -> Option<Duration> {
        self.held = held;
        match outcome {
            Ok(Stepped::On) => {
                self.size = STEP;
                Some(Duration::ZERO)
            }
            Ok(Stepped::Finished) => {
                if let Some(finished) = self.finished.take() {
                    // The caller may have received 202 already.
                    finished.send(()).ok();
                }
                None
            }
            Ok(Stepped::TakenOver) => {
                let held = &self.held;
                tracing::info!(tenant.id = %held.tenant, bulk_alarm_update.id = held.id,
                    "a bulk update of alarms was taken over by another process");
                None
            }
            Err(error) if error.is_unique_violation() => {
                self.size = (self.size / SHRINK).max(1);
                Some(CONTENTION_DELAY)
            }
            Err(Error::Contended) => Some(CONTENTION_DELAY),
            Err(Error::Unavailable(_) | Error::DiskFull | Error::Moving(_)) => Some(UNREACHABLE_DELAY),
            Err(error) => {
                let held = &self.held;
                tracing::error!(tenant.id = %held.tenant, bulk_alarm_update.id = held.id, %error,
                    "a bulk update of alarms failed; it is retried when its lease expires");
                None
            }
        }
    }
}

impl Actor for BulkAlarmUpdate {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.notify(NextStep);
    }
}

impl Handler<NextStep> for BulkAlarmUpdate {
    type Result = ();

    fn handle(&mut self, _: NextStep, ctx: &mut Self::Context) {
        let (held, all, context, devices, size) =
            (self.held.clone(), self.all.clone(), self.context.clone(), self.devices.clone(), self.size);
        let step = async move {
            let mut held = held;
            let outcome = take_step(&mut held, &all, &context, &devices, size).await;
            (held, outcome)
        };
        ctx.spawn(step.into_actor(self).map(|(held, outcome), actor, ctx| {
            match actor.handle_outcome(held, outcome) {
                Some(Duration::ZERO) => ctx.notify(NextStep),
                Some(pause) => drop(ctx.notify_later(NextStep, pause)),
                None => ctx.stop(),
            }
        }));
    }
}

/// Looks up the next alarms, changes them while their devices pause, and publishes the changes.
async fn take_step(
    held: &mut Held,
    all: &BulkAlarmUpdates,
    context: &WriteContext,
    devices: &Devices,
    size: i64,
) -> Result<Stepped> {
    let _turn = all.lane.acquire().await.map_err(Error::unavailable)?;
    context.database.ensure_room()?;
    let step = find_step(&context.database, held, size).await?;
    let (paused, lease) = (devices.pause(&step.sources).await, context.limits.bulk_lease);

    let stepped = make_step(&context.database, &context.ids, held, lease, &step).await?;

    drop(paused);
    Ok(stepped)
}

/// Deletes the matching alarms in many short transactions and publishes the first thousand deletions (A-03, B-06). If
/// the future is dropped, the remaining alarms stay.
///
/// # Errors
/// `Contended`, `Timeout`, `Unavailable` or `Database`; some of the alarms may be deleted then.
pub(crate) async fn delete_alarms(
    context: &WriteContext,
    devices: &Devices,
    filter: &AlarmFilter,
    links: &Links,
) -> Result<()> {
    let (database, tenant) = (&context.database, &context.tenant);
    let last_alarm = store::last_alarm(database, tenant).await?;
    let mut deletion = Deletion { tenant, filter, last_alarm, place: None };
    let notices = DeletionNotices::new(Cause::persistent(links));
    loop {
        let step = find_deletion_step(database, &deletion, STEP).await?;
        let paused = if notices.publishes_more() { Some(devices.pause(&step.sources).await) } else { None };

        let last = delete_step(database, &mut deletion, &step, &notices).await?;

        drop(paused);
        if last {
            return Ok(());
        }
    }
}
