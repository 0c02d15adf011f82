//! Patterns at work: what has to happen one after the other, together or not at all, as in Esper.
//!
//! A pattern is a tree of live nodes, one for each part that is under way. A part begins when the part before it turned true, and
//! knows what was matched so far; it does not see the event that began it.
//!
//! - An event, a timer: true once; then it waits no more. What it found goes up.
//! - `every X` begins `X` anew whenever it turned true, and whenever it can never turn true any more. Right above an event that is the
//!   same as going on to wait. It never ends.
//! - `A -> B` begins `B` each time `A` turns true, so with `every A -> B` many can be under way.
//! - `A and B` is true with both, in any order; one event may be both. When a side can repeat, each new find goes with each old one
//!   of the other side. It is given up when a side can never turn true.
//! - `A or B` is true with either; then the other side is given up.
//! - `not X` is true from the start until `X` turns true for good; `not every X` is never false. Alone, or at the end of a chain, it is
//!   true at once.
//! - A pattern without `every` ends for good when it turned true.
//!
//! When one event meets several parts, those that began earlier are told first; what began together is told from left to right. So in
//! `A and not B` an event that is both makes it true, in `not B and A` it does not.
//!
//! Timers run from the time at which they were due to begin: after a long rest an `every timer:…` catches up with each time it missed.

mod beginning;
mod conjunction;
mod tree;
mod turn;
mod waiting;

use std::sync::Arc;

use conjunction::TooMany;
use tree::{Live, Tags, Tree};
use turn::Turn;
use waiting::Bucket;

use super::{Fault, Retained, Scope, World};
use crate::event_processing::plan::pattern::{About, Filter, PatternPlan, StepKind};
use crate::event_processing::stream::StreamEvent;
use crate::event_processing::value::Value;

/// By how much one event may let a pattern grow, and how many matches it may make.
const BURST: usize = 10_000;

/// How much one event may set going within a pattern.
const ACTIONS: usize = 1_000_000;

/// Timers of one pattern that go off in a step.
const TIMERS: usize = 1000;

/// What came of an event or the time.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In the order they turned true.
    pub(crate) matches: Vec<StreamEvent>,
    pub(crate) faults: Vec<Fault>,
}

/// What a pattern of a statement has seen so far; one for each partition.
#[derive(Debug)]
pub(crate) struct PatternState {
    tree: Tree,
    /// What was true from the start, and not told yet.
    pending: Vec<Tags>,
    since: i64,
    /// Nodes that waited when nothing was met: they don't count as under way.
    idle: usize,
}

impl PatternState {
    /// The pattern begins; its timers run from `now`.
    pub(crate) fn start(plan: &PatternPlan, now: i64) -> Self {
        let mut state = Self { tree: Tree::default(), pending: Vec::new(), since: now, idle: 0 };
        state.begin(plan, now);
        state
    }

    /// An event came on a stream, by its place among the module's. Appends what is found; a filter that fails counts as no match and is
    /// told once for each event.
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
        let mut matches = Vec::new();
        let mut turn = Turn::new(plan, &mut self.tree, world.now, Some((world, keys)), &mut matches);
        let done = met.into_iter().try_for_each(|live| turn.meet(live, event));
        self.finish(plan, done, world.now, matches, found);
    }

    /// Time went on to that of the world: what is due goes off, in the order of its time. When more is due than a step may do, the next
    /// deadline is in the past.
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
            let mut matches = Vec::new();
            let done = Turn::new(plan, &mut self.tree, due, Some((world, keys)), &mut matches).come(live);
            self.finish(plan, done, world.now, matches, found);
        }
    }

    /// When it must be told of the time next.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        if self.pending.is_empty() { self.tree.next_deadline().map(|(due, _)| due) } else { Some(self.since) }
    }

    /// What it keeps: what is under way beyond the first wait counts one each.
    pub(crate) fn retained(&self) -> Retained {
        let Retained { events, bytes } = self.tree.retained();
        Retained { events: events.saturating_sub(self.idle), bytes }
    }

    fn begin(&mut self, plan: &PatternPlan, now: i64) {
        let mut found = Vec::new();
        // What is true at once beyond measure is nothing to wait for.
        if Turn::new(plan, &mut self.tree, now, None, &mut found).begin().is_err() {
            self.tree.clear();
        }
        self.since = now;
        self.idle = self.tree.retained().events;
        self.pending = found;
    }

    fn tell_pending(&mut self, found: &mut Found) {
        found.matches.extend(self.pending.drain(..).map(StreamEvent::Match));
    }

    fn finish(
        &mut self,
        plan: &PatternPlan,
        done: Result<(), TooMany>,
        now: i64,
        matches: Vec<Tags>,
        found: &mut Found,
    ) {
        found.matches.extend(matches.into_iter().map(StreamEvent::Match));
        if done == Err(TooMany) {
            // Half of a turn makes no sense, and what grows like this would go on to.
            found.faults.push(Fault::new(format!(
                "one event sets more than {BURST} instances of the pattern going; it begins anew"
            )));
            self.tree.clear();
            self.begin(plan, now);
        }
    }
}

/// A step that is asked about an event.
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
    /// The first fault of the filter; what matched is appended all the same.
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

    /// The nodes that the event may match.
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
