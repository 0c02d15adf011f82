//! A module that takes steps: one for each event and for each due timer. It knows no actor and no database: its caller
//! passes on the results.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_epl::plan::ModulePlan;
use platform_epl::runtime::{Budget, Effect, Excess, LookUps, OffCause, Outcome, Retained, Runtime};
use platform_epl::value::Fault;
use platform_model::realtime::module::StatementOff;

use super::share::Share;
use super::trouble::{Cause, Trouble};
use crate::event_processing::deployment::clock::Clock;
use crate::feed::{Fed, Feed, Taken, WhenEmpty};
use crate::metrics;

/// The number of events taken from the feed at a time.
const BATCH: usize = 256;
/// The number of effects after which a run ends, so that they are passed on.
const EFFECTS: usize = 1024;

/// A module with its queued events and its limits.
pub(crate) struct Steps {
    runtime: Runtime,
    feed: Feed,
    taken: VecDeque<Fed>,
    /// The reaction to an empty queue: the module rests only if no event came since it last checked.
    when_empty: WhenEmpty,
    clock: Clock,
    plan: Arc<ModulePlan>,
    budget: Budget,
    share: Share,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Ran {
    /// The effects, in the order they were made.
    pub(super) effects: Vec<Effect>,
    /// The faults, with the positions of their statements.
    pub(super) faults: Vec<(usize, Fault)>,
    /// The statements that were switched off.
    pub(super) off: Vec<StatementOff>,
    pub(super) then: NextAction,
}

/// The next action of the actor after a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextAction {
    /// Continue after other actors had their turn, because there is more to do.
    GoOn,
    /// Rest until the module is woken, or until this time (milliseconds since 1970).
    Rest(Option<i64>),
    /// Pause briefly, at most until this time. After an event, more follow soon: they are collected, and fetched
    /// without waking the module. Under load, waking it for each event costs more than handling the event.
    Gather(Option<i64>),
    /// Switch the module off, because it cannot continue.
    SwitchOff(Trouble),
}

impl Steps {
    /// Returns a module without state. Its timers run from now.
    pub(crate) fn new(plan: Arc<ModulePlan>, budget: Budget, feed: Feed, clock: Clock, share: Share) -> Self {
        let runtime = Runtime::new(plan.clone(), budget, clock.now());
        Self {
            runtime,
            feed,
            taken: VecDeque::new(),
            when_empty: WhenEmpty::Rest,
            clock,
            plan,
            budget,
            share,
        }
    }

    /// Switches off the statements that were switched off earlier.
    pub(crate) fn without(mut self, off: &[StatementOff]) -> Self {
        self.runtime.leave_off(off.iter().map(|off| &*off.statement));
        self
    }

    /// Takes steps until nothing is left to do, `slice` is used up, or the limit of effects is reached.
    pub(super) fn run(&mut self, slice: Duration, look_ups: &dyn LookUps) -> Ran {
        let end = Instant::now() + slice;
        let mut outcome = Outcome::default();
        let then = loop {
            match self.step(look_ups, &mut outcome) {
                Ok(None) if Instant::now() < end && outcome.effects.len() < EFFECTS => {}
                Ok(None) => break NextAction::GoOn,
                Ok(Some(rest)) => break rest,
                Err(trouble) => break NextAction::SwitchOff(trouble),
            }
        };
        let shared = self.share(&mut outcome);
        let off: Vec<_> = outcome.off.iter().map(|(statement, cause)| self.off(*statement, *cause)).collect();
        let then = match (then, shared, off.last()) {
            (NextAction::SwitchOff(trouble), ..) | (_, Err(trouble), _) => NextAction::SwitchOff(trouble),
            (_, _, Some(last)) if self.runtime.is_at_rest() => {
                NextAction::SwitchOff(Trouble::new(Cause::Retained, &*last.reason))
            }
            (then, ..) => then,
        };
        Ran { effects: outcome.effects, faults: outcome.faults, off, then }
    }

    /// Updates the module's share of the tenant's total; while the total exceeds its maximum, switches off the
    /// statement that retains most.
    fn share(&mut self, outcome: &mut Outcome) -> Result<(), Trouble> {
        while let Err(trouble) = self.share.set(self.runtime.retained()) {
            if !self.runtime.switch_off_greatest(Excess::OfTenant, outcome) {
                return Err(trouble);
            }
        }
        Ok(())
    }

    /// Describes a statement that was switched off, for the author of the module.
    fn off(&self, statement: usize, cause: OffCause) -> StatementOff {
        let name = |statement: usize| self.plan.statements[statement].name.to_string();
        let reason = match cause {
            OffCause::Retains(own, Excess::OfModule) => self.too_much(own),
            OffCause::Retains(own, Excess::OfTenant) => {
                let most = self.share.most();
                format!(
                    "it retains {} bytes, and the modules of the tenant retain more than {most} bytes together",
                    own.bytes
                )
            }
            OffCause::Context(context) => {
                format!("its context was switched off, which '{}' creates", name(context))
            }
        };
        StatementOff { statement: name(statement), reason }
    }

    fn too_much(&self, retained: Retained) -> String {
        let most = self.budget.retained;
        format!(
            "it retains {} events of {} bytes; the statements of a module may retain {} events of {} bytes together",
            retained.events, retained.bytes, most.events, most.bytes
        )
    }

    /// Takes one step. Returns what to do next when there was no step to take.
    fn step(&mut self, look_ups: &dyn LookUps, outcome: &mut Outcome) -> Result<Option<NextAction>, Trouble> {
        let (fed, now) = (self.next()?, self.clock.now());
        if fed.is_none() {
            let deadline = self.runtime.next_deadline();
            if deadline.is_none_or(|deadline| now < deadline) {
                return Ok(Some(match std::mem::replace(&mut self.when_empty, WhenEmpty::Rest) {
                    WhenEmpty::Rest => NextAction::Rest(deadline),
                    WhenEmpty::CheckAgain => NextAction::Gather(deadline),
                }));
            }
        }
        let runtime = &mut self.runtime;
        let step = || match &fed {
            Some(Fed::Input(input)) => runtime.feed_input(input, now, look_ups, outcome),
            Some(Fed::Row(stream, row)) => runtime.feed_row(stream, row, now, look_ups, outcome),
            None => runtime.advance(now, look_ups, outcome),
        };
        // A module takes no further step after a panic, so its state does not matter.
        catch_unwind(AssertUnwindSafe(step)).map_err(|panic| panicked(&*panic))?;
        self.runtime.relieve(outcome);
        match self.runtime.retained() {
            retained if retained.exceeds(self.budget.retained) => {
                Err(Trouble::new(Cause::Retained, self.too_much(retained)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the next event of the feed.
    fn next(&mut self) -> Result<Option<Fed>, Trouble> {
        if self.taken.is_empty() {
            match self.feed.take(BATCH, self.when_empty) {
                Taken::Some(fed) => {
                    if !fed.is_empty() {
                        self.when_empty = WhenEmpty::CheckAgain;
                        metrics::MODULE_EVENTS.increment(fed.len() as u64);
                    }
                    self.taken.extend(fed);
                }
                Taken::Overflowed => {
                    let text = "events arrive faster than it can process them, and too many wait";
                    return Err(Trouble::new(Cause::Overload, text));
                }
            }
        }
        Ok(self.taken.pop_front())
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Trouble {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(message, "a step of an event-processing module ended in a panic");
    Trouble::new(Cause::Panic, "an internal error of the server in one of its statements")
}

#[cfg(test)]
mod tests;
