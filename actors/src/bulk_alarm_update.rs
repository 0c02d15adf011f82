//! One actor per bulk update of alarms that is under way, and the deletion of many alarms.
//!
//! A bulk update goes in steps. Each is one transaction: it changes some hundred alarms and notes the place reached; what
//! it changed is told after its commit. So it may be cut off at any moment and goes on where it was, in this process or in
//! another one.
//!
//! What is told of one device is told in the order of the commits: devices of this process pause while a step changes their
//! alarms. Between processes, and for a device whose first request comes in the very moment of a step, the order is that
//! of arrival.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::{Semaphore, oneshot};

use crate::device::{Cause, Context as DeviceContext};
use crate::error::{Error, Result};
use crate::hub::Event;
use crate::leases::{Entered, Leases};
use crate::limits::NOTIFIED_DELETIONS;
use crate::model::alarm::AlarmFilter;
use crate::model::links::Links;
use crate::store::bulk_alarm_updates::{
    self as store, Deletion, Held, Stepped, delete_step, find_deletion_step, find_step, make_step,
};

/// Alarms that one step changes: a transaction of some ten milliseconds.
const STEP: i64 = 500;
/// A step that meets a constraint is tried again with so many times fewer alarms.
const SHRINK: i64 = 8;
/// Before a step is tried again that lost against devices.
const CONTENDED: Duration = Duration::from_millis(20);
/// Before a step is tried again while the database is away or its disk full.
const AWAY: Duration = Duration::from_secs(1);

/// The bulk updates that a process is at work on.
#[derive(Debug)]
pub(crate) struct BulkAlarmUpdates {
    /// Held by the one step, of whatever run, that is made at a time: bulk updates leave the database to others. Who waits
    /// is served in turn.
    lane: Semaphore,
    /// What it holds.
    pub(crate) leases: Arc<Leases>,
}

impl Default for BulkAlarmUpdates {
    fn default() -> Self {
        Self { lane: Semaphore::new(1), leases: Arc::default() }
    }
}

/// Makes the next step. Sent by the actor to itself.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct NextStep;

/// A bulk update under way.
pub(crate) struct BulkAlarmUpdate {
    held: Held,
    all: Arc<BulkAlarmUpdates>,
    context: DeviceContext,
    /// Told at the end.
    finished: Option<oneshot::Sender<()>>,
    /// Alarms of the next step.
    size: i64,
    _entered: Entered,
}

impl BulkAlarmUpdate {
    /// `context` is that of the tenant's devices on the actor's thread.
    pub(crate) fn new(
        held: Held,
        all: Arc<BulkAlarmUpdates>,
        context: DeviceContext,
        finished: oneshot::Sender<()>,
    ) -> Self {
        let entered = all.leases.enter(held.hold());
        Self { held, all, context, finished: Some(finished), size: STEP, _entered: entered }
    }

    /// Whether and when to go on after a step.
    fn went(&mut self, (held, outcome): (Held, Result<Stepped>)) -> Option<Duration> {
        self.held = held;
        match outcome {
            Ok(Stepped::On(_)) => {
                self.size = STEP;
                Some(Duration::ZERO)
            }
            Ok(Stepped::Finished(_)) => {
                if let Some(finished) = self.finished.take() {
                    // Who asked may have been answered 202 already.
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
                Some(CONTENDED)
            }
            Err(Error::Contended) => Some(CONTENDED),
            Err(Error::Unavailable(_) | Error::DiskFull) => Some(AWAY),
            Err(error) => {
                let held = &self.held;
                tracing::error!(tenant.id = %held.tenant, bulk_alarm_update.id = held.id, %error,
                    "a bulk update of alarms failed, it is tried again when its lease ends");
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
        let (held, all, context, size) =
            (self.held.clone(), self.all.clone(), self.context.clone(), self.size);
        let step = async move {
            let mut held = held;
            let outcome = take_step(&mut held, &all, &context, size).await;
            (held, outcome)
        };
        ctx.spawn(step.into_actor(self).map(|went, actor, ctx| match actor.went(went) {
            Some(Duration::ZERO) => ctx.notify(NextStep),
            Some(pause) => drop(ctx.notify_later(NextStep, pause)),
            None => ctx.stop(),
        }));
    }
}

/// Looks the next alarms up, changes them while their devices pause, and tells of them.
async fn take_step(
    held: &mut Held,
    all: &BulkAlarmUpdates,
    context: &DeviceContext,
    size: i64,
) -> Result<Stepped> {
    let _turn = all.lane.acquire().await.map_err(Error::unavailable)?;
    context.database.ensure_room()?;
    let step = find_step(&context.database, held, size).await?;
    let (paused, lease) = (context.pause(&step.sources).await, context.limits.bulk_lease);

    let stepped = make_step(&context.database, &context.ids, (&mut *held, lease), &step).await?;

    if let Stepped::On(alarms) | Stepped::Finished(alarms) = &stepped {
        for alarm in alarms {
            let event = Event::AlarmUpdated(Arc::new(alarm.clone()));
            context.publish(alarm.source, event, Cause::persistent(&held.asked.links));
        }
    }
    drop(paused);
    Ok(stepped)
}

/// Deletes what matches, in many short transactions; tells of the first thousand (A-03, B-06). Who goes away earlier leaves
/// the rest.
///
/// # Errors
/// `Contended`, `Timeout`, `Unavailable` or `Database`; then part of them may be gone.
pub(crate) async fn delete_alarms(
    context: &DeviceContext,
    filter: &AlarmFilter,
    links: &Links,
) -> Result<()> {
    let (database, tenant) = (&context.database, &context.tenant);
    let last_alarm = store::last_alarm(database, tenant).await?;
    let mut deletion = Deletion { tenant, filter, last_alarm, place: None };
    let mut told = 0;
    loop {
        let step = find_deletion_step(database, &deletion, STEP).await?;
        let paused = match told < NOTIFIED_DELETIONS {
            true => Some(context.pause(&step.sources).await),
            false => None,
        };

        let (gone, last) = delete_step(database, &mut deletion, &step).await?;

        for (alarm, source) in gone.into_iter().take(NOTIFIED_DELETIONS - told) {
            context.publish(source, Event::AlarmDeleted(alarm), Cause::persistent(links));
            told += 1;
        }
        drop(paused);
        if last {
            return Ok(());
        }
    }
}
