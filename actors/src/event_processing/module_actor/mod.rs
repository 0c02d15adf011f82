//! One actor per deployed module that this process runs. It passes events and due timers to the module, and passes on
//! the results.
//!
//! Modules share few threads. So a module runs for some milliseconds and then yields to those of other tenants
//! ([`turns`]). A module that reads from the database, which may block, runs on a blocking thread and gets its state
//! back afterwards.
//!
//! A module that exceeds a limit is switched off: its actor ends at once and discards its state, and the
//! runner of the tenant records that. A statement that retains too much is switched off alone.

mod outlet;
mod share;
mod steps;
mod trouble;
mod turns;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use platform_epl::plan::ModulePlan;
use platform_epl::value::Fault;
use platform_model::id::ModuleId;
use platform_store::Turns;
use platform_store::tenancy::tenant_limits::TenantLimits;
use tokio::task::{spawn_blocking, yield_now};

use super::deployment::clock::Clock;
use super::deployment::hold::Hold;
use super::deployment::runner::{StatementsOff, SwitchedOff, TenantRunner};
use super::look_ups::StoreLookUps;
use crate::metrics;
pub(crate) use outlet::Outlet;
pub(crate) use share::{Share, Total};
pub(crate) use steps::Steps;
use steps::{NextAction, Ran};
pub(crate) use trouble::{Cause, Trouble};
use trouble::{Faults, shown};
pub(crate) use turns::{ModuleTurn, ModuleTurns};

/// The time for which a module takes steps before it yields to others.
const SLICE: Duration = Duration::from_millis(2);
/// The time for which events are collected after the first: the first is handled at once, those that follow are
/// delayed at most this long.
const GATHER: Duration = Duration::from_millis(5);
/// The interval at which a module checks whether the lease of its process is valid again.
const LAPSED: Duration = Duration::from_millis(100);
/// The shortest pause of a module whose tenant has no computing time left.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// The longest sleep until a timer: clocks are set, and machines are suspended.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// Wakes the module because its feed has events. Sent by the feed while the module rests.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Wake;

/// Reports that an effect of a statement failed. Sent by the writer of the modules.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Faulted {
    pub(crate) statement: usize,
    pub(crate) fault: Fault,
}

/// Reports that the module requested more writes than may be queued. Sent by the writer of the modules.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct TooManyWrites;

/// Changes the name of the module: its channels change, its state does not.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Renamed(pub(crate) Arc<str>);

/// Ends the module and discards its state. Sent by the runner of its tenant.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct End;

/// Identifies a deployment of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deployment {
    pub(crate) module: ModuleId,
    pub(crate) number: i64,
}

/// The dependencies of a module's actor.
pub(crate) struct ModuleContext {
    pub(crate) deployment: Deployment,
    pub(crate) plan: Arc<ModulePlan>,
    pub(crate) look_ups: Arc<StoreLookUps>,
    /// The turns of steps that look something up.
    pub(crate) look_up_turns: Turns,
    /// The turns of the modules of this thread.
    pub(crate) turns: ModuleTurns,
    /// The limits of the tenant.
    pub(crate) limits: Arc<TenantLimits>,
    pub(crate) clock: Clock,
    pub(crate) hold: Arc<Hold>,
    pub(crate) runner: Addr<TenantRunner>,
}

/// The actor of a running module.
pub(crate) struct ModuleActor {
    place: ModuleContext,
    outlet: Outlet,
    /// The module; absent while it takes steps on a blocking thread.
    steps: Option<Steps>,
    /// Whether the actor was woken while the module was absent.
    woken: bool,
    /// Whether the module gets the turn in a message.
    waits_for_turn: bool,
    faults: Faults,
    timer: Option<SpawnHandle>,
}

impl ModuleActor {
    pub(crate) fn new(place: ModuleContext, outlet: Outlet, steps: Steps) -> Self {
        metrics::MODULES.increment(1);
        Self {
            place,
            outlet,
            steps: Some(steps),
            woken: false,
            waits_for_turn: false,
            faults: Faults::default(),
            timer: None,
        }
    }

    /// Takes steps for a while, if the lease is valid and the module is present.
    fn work(&mut self, ctx: &mut Context<Self>) {
        if !self.place.runner.connected() {
            // The runner died; its successor starts the modules afresh.
            return ctx.stop();
        }
        if self.steps.is_none() {
            self.woken = true;
            return;
        }
        if !self.place.hold.is_valid() {
            return self.work_in(LAPSED, ctx);
        }
        if let Some(wait) = self.place.limits.module_micros().wait() {
            // The modules of the tenant have computed as long as they may (Z-20).
            return self.work_in(wait.max(SHORTEST_WAIT), ctx);
        }
        if self.waits_for_turn {
            return;
        }
        if self.place.plan.looks_up {
            return self.work_elsewhere(ctx);
        }
        match self.place.turns.ask(self.outlet.tenant(), ctx.address().recipient()) {
            Some(turn) => self.work_in_turn(turn, ctx),
            None => self.waits_for_turn = true,
        }
    }

    /// Takes steps until the turn ends.
    fn work_in_turn(&mut self, turn: ModuleTurn, ctx: &mut Context<Self>) {
        if !self.place.hold.is_valid() {
            return self.work_in(LAPSED, ctx);
        }
        let Some(mut steps) = self.steps.take() else { return };
        let begun = Instant::now();
        let ran = steps.run(SLICE, &*self.place.look_ups);
        self.place.limits.module_micros().charge(micros(begun.elapsed()));
        self.steps = Some(steps);
        drop(turn);
        self.hand_on(ran, ctx);
    }

    /// Takes steps on a blocking thread. They come back in order, because there is only one state.
    fn work_elsewhere(&mut self, ctx: &mut Context<Self>) {
        let Some(mut steps) = self.steps.take() else { return };
        let (look_ups, turns) = (self.place.look_ups.clone(), self.place.look_up_turns.clone());
        let (limits, tenant) = (self.place.limits.clone(), self.outlet.tenant().clone());
        let working = async move {
            let turn = turns.take(&tenant).await;
            let work = move || {
                let (_turn, begun) = (turn, Instant::now());
                let ran = steps.run(SLICE, &*look_ups);
                limits.module_micros().charge(micros(begun.elapsed()));
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

    /// Passes on the results of steps, and schedules the next ones.
    fn hand_on(&mut self, ran: Ran, ctx: &mut Context<Self>) {
        self.outlet.emit(&self.place.plan, ran.effects);
        for (statement, fault) in ran.faults {
            if let Err(trouble) = self.count(statement, &fault) {
                return self.switch_off(trouble, ctx);
            }
        }
        if !ran.off.is_empty() && !matches!(ran.then, NextAction::SwitchOff(_)) {
            let (deployment, off) = (self.place.deployment, ran.off);
            self.place.runner.do_send(StatementsOff { deployment, off });
        }
        let woken = std::mem::take(&mut self.woken);
        match ran.then {
            NextAction::SwitchOff(trouble) => self.switch_off(trouble, ctx),
            NextAction::Rest(deadline) if !woken => match deadline {
                Some(deadline) => self.work_in(self.until(deadline).min(LONGEST_REST), ctx),
                None => self.forget_timer(ctx),
            },
            NextAction::Gather(deadline) => {
                let rest = deadline.map_or(GATHER, |deadline| self.until(deadline).min(GATHER));
                self.work_in(rest, ctx);
            }
            NextAction::Rest(_) | NextAction::GoOn => {
                // A message to itself would be handled before other actors have a turn.
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

    /// Counts a fault and logs it: the first within a minute as a warning, the others at level debug.
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

    /// Ends the module, discards its state, and has that recorded.
    fn switch_off(&mut self, trouble: Trouble, ctx: &mut Context<Self>) {
        self.steps = None;
        self.place.runner.do_send(SwitchedOff { deployment: self.place.deployment, trouble });
        ctx.stop();
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
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
        let text = "it requests writes faster than they can be made, and too many wait";
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
