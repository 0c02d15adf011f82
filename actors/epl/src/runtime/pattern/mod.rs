//! Patterns: the events that must happen one after the other, together or not at all, as in Esper.
//!
//! A pattern is a tree of live nodes, one for each active part. A part begins when the part before it turned true,
//! and has access to the earlier matches; it does not see the event that began it.
//!
//! - An event or a timer is true once and then stops waiting. Its match goes to the node above.
//! - `every X` restarts `X` whenever it turned true, and whenever it can never turn true any more. Directly above an
//!   event that is the same as waiting on. It never ends.
//! - `A -> B` begins `B` each time `A` turns true, so with `every A -> B` many instances can be active.
//! - `A and B` is true with both, in any order; one event may be both. When a side can repeat, each new match is
//!   combined with each old one of the other side. The node is abandoned when a side can never turn true.
//! - `A or B` is true with either; then the other side is abandoned.
//! - `A until B` restarts `A` whenever it turned true, until `B` turns true. It is abandoned when either of the two can
//!   never turn true. `B` begins first, so an event that is both ends it.
//! - `not X` is true from the start until `X` turns true for good; `not every X` is never false. Alone, or at the end
//!   of a chain, it is true at once.
//! - A pattern without `every` ends for good when it turned true.
//!
//! When one event matches several parts, those that began earlier are handled first; those that began together are
//! handled from left to right. So an event that is both A and B makes `A and not B` true, but not `not B and A`.
//!
//! Timers run from the time at which they were due to begin: after a long pause an `every timer:…` catches up with
//! each time it missed.

mod beginning;
mod conjunction;
mod repetition;
mod tree;
mod turn;
mod waiting;

use std::sync::Arc;

use conjunction::TooMany;
use tree::{Live, Tags, Tree};
use turn::{PatternTurn, Turned};
use waiting::Bucket;

use super::{Fault, Retained, Scope, World};
use crate::plan::pattern::{About, Filter, PatternPlan, StepKind};
use crate::value::{StreamEvent, Value};

/// The number of instances by which one event may let a pattern grow, and the number of matches it may make.
const BURST: usize = 10_000;

/// The number of actions that one event may cause within a pattern.
const ACTIONS: usize = 1_000_000;

/// The number of timers of one pattern that fire in a step.
const TIMERS: usize = 1000;

/// The matches and faults of an event or a timer.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The matches, in the order they turned true.
    pub matches: Vec<StreamEvent>,
    pub faults: Vec<Fault>,
}

/// The state of a pattern of a statement, in one partition where it has a context.
#[derive(Debug)]
pub(crate) struct PatternState {
    tree: Tree,
    /// Matches that were true from the start and are not reported yet.
    pending: Vec<Tags>,
    /// Faults of timers that could not begin with the pattern.
    pending_faults: Vec<Fault>,
    since: i64,
    /// The number of nodes that wait in the initial state: they do not count as active.
    idle: usize,
}

impl PatternState {
    /// Starts the pattern; its timers run from the time of the world.
    pub(crate) fn start(plan: &PatternPlan, keys: &[Value], world: &World<'_>) -> Self {
        let mut state = Self {
            tree: Tree::default(),
            pending: Vec::new(),
            pending_faults: Vec::new(),
            since: world.now,
            idle: 0,
        };
        state.begin(plan, keys, world);
        state
    }

    /// Feeds an event of the stream at this position in the module. Appends the matches to `found`; a filter that
    /// fails counts as no match and is reported once for each event.
    pub(crate) fn feed(
        &mut self,
        plan: &PatternPlan,
        stream: usize,
        event: &StreamEvent,
        keys: &[Value],
        world: &World<'_>,
        found: &mut Found,
    ) {
        self.tell_pending(found);
        let mut met = Vec::new();
        for &step in plan.waiting_for(stream) {
            if self.tree.waits(step) {
                let asked = Asked { tree: &self.tree, plan, step, event, keys, world };
                if let Err(fault) = asked.collect(&mut met) {
                    found.faults.push(fault);
                }
            }
        }
        if met.is_empty() {
            return;
        }
        met.sort_unstable();
        let mut turned = Turned::default();
        let mut turn = PatternTurn::new(plan, &mut self.tree, world.now, (world, keys), &mut turned);
        let done = met.into_iter().try_for_each(|live| turn.meet(live, event));
        self.finish(plan, done, (world, keys), turned, found);
    }

    /// Advances to the time of the world: fires the timers that are due, in the order of their time. When more are due
    /// than a step may fire, the next deadline is in the past.
    pub(crate) fn advance(
        &mut self,
        plan: &PatternPlan,
        keys: &[Value],
        world: &World<'_>,
        found: &mut Found,
    ) {
        self.tell_pending(found);
        for _ in 0..TIMERS {
            let Some((due, live)) = self.tree.next_deadline() else { return };
            if due > world.now {
                return;
            }
            let mut turned = Turned::default();
            let done = PatternTurn::new(plan, &mut self.tree, due, (world, keys), &mut turned).come(live);
            self.finish(plan, done, (world, keys), turned, found);
        }
    }

    /// Returns the time at which [`advance`](Self::advance) must be called next.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        let has_told = self.pending.is_empty() && self.pending_faults.is_empty();
        if has_told { self.tree.next_deadline().map(|(due, _)| due) } else { Some(self.since) }
    }

    /// Returns what the pattern retains: each active instance beyond the initial wait counts one.
    pub(crate) fn retained(&self) -> Retained {
        let Retained { events, bytes } = self.tree.retained();
        Retained { events: events.saturating_sub(self.idle), bytes }
    }

    fn begin(&mut self, plan: &PatternPlan, keys: &[Value], world: &World<'_>) {
        let mut turned = Turned::default();
        // A pattern that exceeds the limit at its start can never be waited for.
        if PatternTurn::new(plan, &mut self.tree, world.now, (world, keys), &mut turned).begin().is_err() {
            self.tree.clear();
        }
        self.since = world.now;
        self.idle = self.tree.retained().events;
        self.pending = turned.matches;
        self.pending_faults = turned.faults;
    }

    fn tell_pending(&mut self, found: &mut Found) {
        found.faults.append(&mut self.pending_faults);
        found.matches.extend(self.pending.drain(..).map(StreamEvent::Match));
    }

    fn finish(
        &mut self,
        plan: &PatternPlan,
        done: Result<(), TooMany>,
        (world, keys): (&World<'_>, &[Value]),
        turned: Turned,
        found: &mut Found,
    ) {
        found.matches.extend(turned.matches.into_iter().map(StreamEvent::Match));
        found.faults.extend(turned.faults);
        if done == Err(TooMany) {
            // A turn cannot be left half done, and a pattern that grows like this would not stop growing.
            found.faults.push(Fault::new(format!(
                "one event starts more than {BURST} instances of the pattern; the pattern begins anew"
            )));
            self.tree.clear();
            self.begin(plan, keys, world);
        }
    }
}

/// A step of the pattern and the event that its filter is evaluated for.
struct Asked<'a> {
    tree: &'a Tree,
    plan: &'a PatternPlan,
    step: u32,
    event: &'a StreamEvent,
    keys: &'a [Value],
    world: &'a World<'a>,
}

impl Asked<'_> {
    /// Appends the nodes that the event matches.
    ///
    /// # Errors
    /// The first fault of the filter; matching nodes are appended nevertheless.
    fn collect(&self, met: &mut Vec<Live>) -> Result<(), Fault> {
        let StepKind::Event { filter, .. } = &self.plan.step(self.step).kind else { return Ok(()) };
        let Some(filter) = filter else {
            met.extend(self.tree.waiting_in(self.step, None));
            return Ok(());
        };
        if filter.about == About::Event {
            if self.is_met(filter, self.plan.nothing())? {
                self.for_all(filter, |live| met.push(live));
            }
            return Ok(());
        }
        let mut first = Ok(());
        self.for_all(filter, |live| {
            let Some(tags) = self.tree.get(live).and_then(|node| node.tags.as_ref()) else { return };
            if self.world.evaluations.get() == 0 && first.is_err() {
                return;
            }
            match self.is_met(filter, tags) {
                Ok(true) => met.push(live),
                Ok(false) => {}
                Err(fault) if first.is_ok() => first = Err(fault),
                Err(_) => {}
            }
        });
        first
    }

    /// Calls `each` for the nodes that the event may match.
    fn for_all(&self, filter: &Filter, mut each: impl FnMut(Live)) {
        self.tree.waiting_in(self.step, None).for_each(&mut each);
        let Some(equality) = &filter.equality else { return };
        if !self.tree.waits_in_buckets(self.step) {
            return;
        }
        let values = beginning::values(&equality.event, &self.scope(None));
        if let Some(Bucket::Found(bucket)) = values.map(|values| self.tree.bucket(&values)) {
            self.tree.waiting_in(self.step, Some(bucket)).for_each(each);
        }
    }

    fn is_met(&self, filter: &Filter, tags: &Tags) -> Result<bool, Fault> {
        let matched = StreamEvent::Match(Arc::clone(tags));
        filter.condition.is_true(&self.scope(Some(&matched)))
    }

    fn scope<'s>(&'s self, matched: Option<&'s StreamEvent>) -> Scope<'s> {
        Scope { sources: [matched, Some(self.event)], aggregates: &[], keys: self.keys, world: self.world }
    }
}

#[cfg(test)]
mod tests;
