//! One actor per deployed module that this process runs: it takes what the module is fed with and what its timers are due for, and
//! hands on what comes out.
//!
//! Modules share few threads. So a module takes steps for some milliseconds and then lets others have their turn; one that looks
//! something up, which may wait, takes its steps on a thread where that is allowed, and gets its state back afterwards.
//!
//! A module that asks for too much is switched off: its actor ends at once, with all it remembers, and the runner of the
//! tenant writes that down. A statement that retains too much is switched off by itself.

mod outlet;
mod share;
mod steps;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::Semaphore;
use tokio::task::{spawn_blocking, yield_now};

use super::deployment::clock::Clock;
use super::deployment::hold::Hold;
use super::deployment::runner::{StatementsOff, SwitchedOff, TenantRunner};
use super::look_ups::StoreLookUps;
use super::plan::ModulePlan;
use super::runtime::Fault;
use crate::metrics;
use crate::model::id::ModuleId;
pub(crate) use outlet::Outlet;
pub(crate) use share::{Share, Total};
pub(crate) use steps::Steps;
use steps::{Ran, Then};
pub(crate) use trouble::{Cause, Trouble};
use trouble::{Faults, shown};

/// A module takes steps for so long, then others have their turn.
const SLICE: Duration = Duration::from_millis(5);
/// So long events gather once some came: the first is taken at once, those behind it at most this late.
const GATHER: Duration = Duration::from_millis(5);
/// How soon a module looks again whether its process may go on.
const LAPSED: Duration = Duration::from_millis(100);
/// No timer is waited for longer at a time: clocks are set, machines sleep.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// Something waits in the feed. Sent by the feed while the module rests.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Wake;

/// Something that a statement asked for failed. Sent by what writes for modules.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Faulted {
    pub(crate) statement: usize,
    pub(crate) fault: Fault,
}

/// The module asked for more writes than may wait. Sent by what writes for modules.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct TooManyWrites;

/// The module has another name: its channels change, what it remembers does not.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Renamed(pub(crate) Arc<str>);

/// The module is over, with all it remembers. Sent by the runner of its tenant.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct End;

/// Which deployment of which module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deployment {
    pub(crate) module: ModuleId,
    pub(crate) number: i64,
}

/// What a module works with.
pub(crate) struct Workplace {
    pub(crate) deployment: Deployment,
    pub(crate) plan: Arc<ModulePlan>,
    pub(crate) look_ups: Arc<StoreLookUps>,
    /// Turns to take steps that look something up.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) clock: Clock,
    pub(crate) hold: Arc<Hold>,
    pub(crate) runner: Addr<TenantRunner>,
}

/// A module that runs.
pub(crate) struct ModuleActor {
    place: Workplace,
    outlet: Outlet,
    /// Absent while it takes steps elsewhere.
    steps: Option<Steps>,
    /// It was woken while it was away.
    woken: bool,
    faults: Faults,
    timer: Option<SpawnHandle>,
}

impl ModuleActor {
    pub(crate) fn new(place: Workplace, outlet: Outlet, steps: Steps) -> Self {
        metrics::MODULES.increment(1);
        Self { place, outlet, steps: Some(steps), woken: false, faults: Faults::default(), timer: None }
    }

    /// Takes steps for a while, if it may and if it is there.
    fn work(&mut self, ctx: &mut Context<Self>) {
        if !self.place.runner.connected() {
            // It died; another one starts the modules afresh.
            return ctx.stop();
        }
        let Some(mut steps) = self.steps.take() else {
            self.woken = true;
            return;
        };
        if !self.place.hold.is_believed() {
            self.steps = Some(steps);
            return self.work_in(LAPSED, ctx);
        }
        if self.place.plan.looks_up {
            return self.work_elsewhere(steps, ctx);
        }
        let ran = steps.run(SLICE, &*self.place.look_ups);
        self.steps = Some(steps);
        self.hand_on(ran, ctx);
    }

    /// Takes steps where it may wait. They come back in order, for there is only one of it.
    fn work_elsewhere(&mut self, mut steps: Steps, ctx: &mut Context<Self>) {
        let (look_ups, turns) = (self.place.look_ups.clone(), self.place.turns.clone());
        let working = async move {
            let turn = turns.acquire_owned().await;
            let work = move || {
                let _turn = turn;
                let ran = steps.run(SLICE, &*look_ups);
                (steps, ran)
            };
            spawn_blocking(work).await
        };
        ctx.spawn(working.into_actor(self).map(|worked, actor, ctx| match worked {
            Ok((steps, ran)) => {
                actor.steps = Some(steps);
                actor.hand_on(ran, ctx);
            }
            Err(_) => actor.switch_off(Trouble::new(Cause::Panic, "an internal error of the server"), ctx),
        }));
    }

    /// Hands on what came out of steps, and sees to it that it goes on.
    fn hand_on(&mut self, ran: Ran, ctx: &mut Context<Self>) {
        self.outlet.give(&self.place.plan, ran.effects);
        for (statement, fault) in ran.faults {
            if let Err(trouble) = self.count(statement, &fault) {
                return self.switch_off(trouble, ctx);
            }
        }
        if !ran.off.is_empty() && !matches!(ran.then, Then::SwitchOff(_)) {
            let (deployment, off) = (self.place.deployment, ran.off);
            self.place.runner.do_send(StatementsOff { deployment, off });
        }
        let woken = std::mem::take(&mut self.woken);
        match ran.then {
            Then::SwitchOff(trouble) => self.switch_off(trouble, ctx),
            Then::Rest(deadline) if !woken => match deadline {
                Some(deadline) => self.work_in(self.until(deadline).min(LONGEST_REST), ctx),
                None => self.forget_timer(ctx),
            },
            Then::Gather(deadline) => {
                let rest = deadline.map_or(GATHER, |deadline| self.until(deadline).min(GATHER));
                self.work_in(rest, ctx);
            }
            Then::Rest(_) | Then::GoOn => {
                // Not by a message to itself: that would be handled before anybody else has a turn.
                let turn = yield_now().into_actor(self);
                ctx.spawn(turn.map(|(), actor, ctx| actor.work(ctx)));
            }
        }
    }

    fn until(&self, deadline: i64) -> Duration {
        let rest = deadline.saturating_sub(self.place.clock.now());
        Duration::from_millis(rest.max(0).unsigned_abs())
    }

    fn work_in(&mut self, rest: Duration, ctx: &mut Context<Self>) {
        self.forget_timer(ctx);
        self.timer = Some(ctx.run_later(rest, |actor, ctx| {
            actor.timer = None;
            actor.work(ctx);
        }));
    }

    fn forget_timer(&mut self, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
    }

    /// Counts a fault and tells the operator of it: loudly once a minute, each of them where that is asked for.
    fn count(&mut self, statement: usize, fault: &Fault) -> Result<(), Trouble> {
        metrics::MODULE_FAULTS.increment(1);
        let name = self.place.plan.statements.get(statement).map_or("", |statement| &*statement.name);
        let within_a_minute = self.faults.count(name, fault, self.place.clock.now())?;
        let (tenant, module) = (self.outlet.tenant(), self.place.deployment.module);
        let fault = shown(fault);
        match within_a_minute {
            1 => tracing::warn!(tenant.id = %tenant, module.id = %module, statement = name, fault,
                "a statement of an event-processing module failed"),
            _ => tracing::debug!(tenant.id = %tenant, module.id = %module, statement = name, fault,
                "a statement of an event-processing module failed"),
        }
        Ok(())
    }

    /// Ends it, with all it remembers, and has that written down.
    fn switch_off(&mut self, trouble: Trouble, ctx: &mut Context<Self>) {
        self.steps = None;
        self.place.runner.do_send(SwitchedOff { deployment: self.place.deployment, trouble });
        ctx.stop();
    }
}

impl Actor for ModuleActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.work(ctx);
    }
}

impl Drop for ModuleActor {
    fn drop(&mut self) {
        metrics::MODULES.decrement(1);
    }
}

impl Handler<Wake> for ModuleActor {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        self.work(ctx);
    }
}

impl Handler<Faulted> for ModuleActor {
    type Result = ();

    fn handle(&mut self, faulted: Faulted, ctx: &mut Self::Context) {
        if let Err(trouble) = self.count(faulted.statement, &faulted.fault) {
            self.switch_off(trouble, ctx);
        }
    }
}

impl Handler<TooManyWrites> for ModuleActor {
    type Result = ();

    fn handle(&mut self, _: TooManyWrites, ctx: &mut Self::Context) {
        let text = "it asks for writes faster than they can be made, and more wait than may";
        self.switch_off(Trouble::new(Cause::Writes, text), ctx);
    }
}

impl Handler<Renamed> for ModuleActor {
    type Result = ();

    fn handle(&mut self, Renamed(name): Renamed, _: &mut Self::Context) {
        self.outlet.rename(name);
    }
}

impl Handler<End> for ModuleActor {
    type Result = ();

    fn handle(&mut self, _: End, ctx: &mut Self::Context) {
        self.steps = None;
        ctx.stop();
    }
}
