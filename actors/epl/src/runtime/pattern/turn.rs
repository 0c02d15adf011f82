//! Propagates truth through the live nodes when an event or a time makes one of them true.
//!
//! A node that turned true for the last time is removed before its parent is notified; so is one that can never turn
//! true again. Pending actions are kept on an explicit stack instead of the program's own, since a chain of `->` can
//! be as long as the text of a module.

use std::sync::Arc;

use super::conjunction::TooMany;
use super::tree::{Detail, Live, Tags, Tree};
use super::{ACTIONS, BURST};
use crate::plan::pattern::{PatternPlan, StepKind};
use crate::runtime::{Fault, World};
use crate::value::{Match, StreamEvent, Value};

/// The propagation of one event or time.
pub(super) struct PatternTurn<'a> {
    pub(super) plan: &'a PatternPlan,
    pub(super) tree: &'a mut Tree,
    /// The time from which timers run that are started in this turn.
    pub(super) now: i64,
    /// The world and the keys of the partition.
    pub(super) world: (&'a World<'a>, &'a [Value]),
    pub(super) turned: &'a mut Turned,
    pub(super) stack: Vec<Action>,
    /// The number of nodes that lived before the turn.
    before: usize,
    actions: usize,
}

/// The results of a turn.
#[derive(Debug, Default)]
pub(super) struct Turned {
    pub(super) matches: Vec<Tags>,
    /// The faults of timers whose period is invalid.
    pub(super) faults: Vec<Fault>,
}

pub(super) enum Action {
    /// Start a node that was added.
    Start(Live),
    /// The restarted child of an `every` has been started.
    Begun {
        every: Live,
        child: Live,
    },
    True(Truth),
    /// A node turned true for the last time.
    Ends(Live, Tags),
    /// A child was removed without having turned true, or can never turn true again.
    False {
        parent: Option<Live>,
    },
}

pub(super) struct Truth {
    /// The node that turned true, if it is still there to turn true again.
    of: Option<Live>,
    step: u32,
    parent: Option<Live>,
    tags: Tags,
}

impl<'a> PatternTurn<'a> {
    pub(super) fn new(
        plan: &'a PatternPlan,
        tree: &'a mut Tree,
        now: i64,
        world: (&'a World<'a>, &'a [Value]),
        turned: &'a mut Turned,
    ) -> Self {
        let before = tree.live();
        Self { plan, tree, now, world, turned, stack: Vec::new(), before, actions: 0 }
    }

    /// Starts the pattern.
    pub(super) fn begin(&mut self) -> Result<(), TooMany> {
        let root = self.tree.insert(0, None, Arc::clone(self.plan.nothing()));
        self.stack.push(Action::Start(root));
        self.run()
    }

    /// Handles an event that this node waits for, if it still waits.
    pub(super) fn meet(&mut self, live: Live, event: &StreamEvent) -> Result<(), TooMany> {
        let Some(node) = self.tree.get(live) else { return Ok(()) };
        let (StepKind::Event { tag, .. }, Some(tags)) = (&self.plan.step(node.step).kind, &node.tags) else {
            return Ok(());
        };
        let tags = match tag {
            None => Arc::clone(tags),
            Some(tag) => {
                let mut tags = Match::clone(tags);
                tags.0[usize::from(*tag)] = Some(event.clone());
                Arc::new(tags)
            }
        };
        // An `every` directly above would only start the same part again.
        let repeats =
            self.tree.parent_of(node).is_some_and(|above| matches!(self.kind_of(above), StepKind::Every));
        if repeats {
            self.stays_true(live, tags)
        } else {
            self.ends_true(live, tags)
        }
        self.run()
    }

    /// Handles the time that this node waits for.
    pub(super) fn come(&mut self, live: Live) -> Result<(), TooMany> {
        self.true_by_time(live);
        self.run()
    }

    pub(super) fn true_by_time(&mut self, live: Live) {
        if let Some(tags) = self.tree.get(live).and_then(|node| node.tags.clone()) {
            self.ends_true(live, tags);
        }
    }

    fn run(&mut self) -> Result<(), TooMany> {
        while let Some(action) = self.stack.pop() {
            self.actions += 1;
            let grown = self.tree.live().saturating_sub(self.before);
            if grown > BURST + self.plan.size() || self.turned.matches.len() > BURST || self.actions > ACTIONS
            {
                return Err(TooMany);
            }
            match action {
                Action::Start(live) => self.start(live),
                Action::Begun { every, child } => self.begun(every, child),
                Action::True(truth) => self.turn_true(truth)?,
                Action::Ends(live, tags) => self.ends_true(live, tags),
                Action::False { parent } => self.turn_false(parent),
            }
        }
        Ok(())
    }

    fn kind_of(&self, live: Live) -> &'a StepKind {
        &self.plan.step(self.tree.at(live.slot).step).kind
    }

    /// Records that the node turned true and may do so again.
    pub(super) fn stays_true(&mut self, live: Live, tags: Tags) {
        let node = self.tree.at(live.slot);
        let truth = Truth { of: Some(live), step: node.step, parent: self.tree.parent_of(node), tags };
        self.stack.push(Action::True(truth));
    }

    /// Records that the node turned true for the last time.
    pub(super) fn ends_true(&mut self, live: Live, tags: Tags) {
        let Some(node) = self.tree.get(live) else { return };
        let truth = Truth { of: None, step: node.step, parent: self.tree.parent_of(node), tags };
        self.tree.remove(live.slot);
        self.stack.push(Action::True(truth));
    }

    /// Records that the node can never turn true any more.
    fn ends_false(&mut self, live: Live) {
        let parent = self.tree.parent_of(self.tree.at(live.slot));
        self.tree.remove(live.slot);
        self.stack.push(Action::False { parent });
    }

    fn turn_true(&mut self, truth: Truth) -> Result<(), TooMany> {
        let Truth { of, step, parent, tags } = truth;
        if of.is_some_and(|live| self.tree.get(live).is_none()) {
            return Ok(());
        }
        let Some(above) = parent else {
            self.turned.matches.push(tags);
            return Ok(());
        };
        if self.tree.get(above).is_none() {
            return Ok(());
        }
        match self.kind_of(above) {
            StepKind::Every => self.every_turns_true(above, step, tags),
            StepKind::Not if of.is_none() => self.ends_false(above),
            StepKind::Or if of.is_none() => self.ends_true(above, tags),
            StepKind::Or => self.stays_true(above, tags),
            StepKind::FollowedBy => self.follow(above, step, tags),
            StepKind::And => return self.conclude(above, step, tags),
            StepKind::Until(slots) => self.repeat(above, slots, Truth { of, step, parent, tags }),
            StepKind::Not | StepKind::Event { .. } | StepKind::Interval(_) | StepKind::At(_) => {}
        }
        Ok(())
    }

    fn every_turns_true(&mut self, every: Live, step: u32, tags: Tags) {
        let detail = &mut self.tree.at_mut(every.slot).detail;
        if matches!(detail, Detail::Beginning | Detail::BegunTrue) {
            *detail = Detail::BegunTrue;
            return;
        }
        self.stays_true(every, tags);
        if !matches!(self.plan.step(step).kind, StepKind::Event { .. }) {
            self.begin_anew(every);
        }
    }

    /// Starts the next part of a chain after one part turned true, with the match so far.
    fn follow(&mut self, chain: Live, step: u32, tags: Tags) {
        let node = self.tree.at(chain.slot);
        let next = self.plan.step(step).position as usize + 1;
        match self.plan.step(node.step).children.get(next) {
            Some(next) => {
                let child = self.add(*next, chain, &tags);
                self.stack.push(Action::Start(child));
            }
            None if self.tree.steps_below(node).next().is_none() => self.ends_true(chain, tags),
            None => self.stays_true(chain, tags),
        }
    }

    /// Handles a side of an `until` that turned true: its end ends it, its repeated part begins again.
    fn repeat(&mut self, until: Live, slots: &[u16], truth: Truth) {
        let is_end = self.plan.step(truth.step).position == 0;
        let node = self.tree.at_mut(until.slot);
        let Detail::Repetition(repetition) = &mut node.detail else { return };
        if is_end {
            let tags = repetition.ended(slots, &truth.tags);
            return self.ends_true(until, tags);
        }
        let weights = repetition.remember(slots, &truth.tags);
        let begun_with = node.tags.clone();
        weights.into_iter().for_each(|weight| self.tree.retain_repeated(weight));
        if let (None, Some(tags)) = (truth.of, begun_with) {
            let child = self.add(truth.step, until, &tags);
            self.stack.push(Action::Start(child));
        }
    }

    /// Handles one side of an `and` that turned true.
    fn conclude(&mut self, and: Live, step: u32, tags: Tags) -> Result<(), TooMany> {
        let position = self.plan.step(step).position as usize;
        let node = self.tree.at(and.slot);
        let Detail::Conjunction(conjunction) = &node.detail else { return Ok(()) };
        if !conjunction.completes(position) {
            self.remember(and, position, tags);
            return Ok(());
        }
        let mut combinations = conjunction.combinations(position, &tags)?;
        // The remaining children are `not`s, which can only turn false.
        let ends =
            self.tree.steps_below(node).all(|below| matches!(self.plan.step(below).kind, StepKind::Not));
        if ends {
            let last = combinations.pop().expect("a match that completes makes at least one combination");
            self.stack.push(Action::Ends(and, last));
        } else if self.tree.steps_below(node).any(|below| below != step) {
            self.remember(and, position, tags);
        }
        let node = self.tree.at(and.slot);
        let (step, parent) = (node.step, self.tree.parent_of(node));
        let truth = |tags| Action::True(Truth { of: Some(and), step, parent, tags });
        // The first combination is to be handled first, so it is pushed last.
        self.stack.extend(combinations.into_iter().rev().map(truth));
        Ok(())
    }

    fn remember(&mut self, and: Live, position: usize, tags: Tags) {
        self.tree.retain(&tags);
        if let Detail::Conjunction(conjunction) = &mut self.tree.at_mut(and.slot).detail {
            conjunction.remember(position, tags);
        }
    }

    /// Handles a part that can never turn true any more: an `every` restarts it, other parents end if they can never
    /// turn true either.
    fn turn_false(&mut self, parent: Option<Live>) {
        let Some(above) = parent else { return };
        let Some(node) = self.tree.get(above) else { return };
        let nothing_left = self.tree.steps_below(node).next().is_none();
        match self.kind_of(above) {
            StepKind::Every if matches!(node.detail, Detail::Plain) => self.begin_anew(above),
            StepKind::And | StepKind::Until(_) => self.ends_false(above),
            StepKind::Or | StepKind::FollowedBy if nothing_left => self.ends_false(above),
            _ => {}
        }
    }
}
