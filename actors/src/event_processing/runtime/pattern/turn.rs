//! How truth spreads through the live nodes when an event or a time makes one of them true.
//!
//! A node that turned true for the last time is gone when the node above is told; so is one that can never turn true again. What is to
//! be done waits in a stack instead of the program's own, since a chain of `->` can be as long as a text.

use std::sync::Arc;

use super::conjunction::{Conjunction, TooMany};
use super::tree::{Detail, Live, Tags, Tree};
use super::waiting::Bucket;
use super::{ACTIONS, BURST};
use crate::event_processing::plan::expression::Expression;
use crate::event_processing::plan::pattern::{Equality, PatternPlan, StepKind};
use crate::event_processing::runtime::schedule;
use crate::event_processing::runtime::{Scope, World};
use crate::event_processing::stream::StreamEvent;
use crate::event_processing::value::Value;

/// What spreads from one event or time.
pub(super) struct Turn<'a> {
    plan: &'a PatternPlan,
    tree: &'a mut Tree,
    /// The time from which timers run that are started now.
    now: i64,
    /// With the keys of the partition. None while the pattern itself begins.
    world: Option<(&'a World<'a>, &'a [Value])>,
    matches: &'a mut Vec<Tags>,
    stack: Vec<Action>,
    /// How many nodes lived before.
    before: usize,
    actions: usize,
}

enum Action {
    /// Begin a node that was added.
    Start(Live),
    /// What an `every` began anew has been started.
    Begun {
        every: Live,
        child: Live,
    },
    True(Truth),
    /// The last truth of a node.
    Ends(Live, Tags),
    /// A child is gone without ever having turned true, or never can again.
    False {
        parent: Option<Live>,
    },
}

struct Truth {
    /// Who turned true, if it is still there to turn true again.
    of: Option<Live>,
    step: u32,
    parent: Option<Live>,
    tags: Tags,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        plan: &'a PatternPlan,
        tree: &'a mut Tree,
        now: i64,
        world: Option<(&'a World<'a>, &'a [Value])>,
        matches: &'a mut Vec<Tags>,
    ) -> Self {
        let before = tree.live();
        Self { plan, tree, now, world, matches, stack: Vec::new(), before, actions: 0 }
    }

    /// Begins the pattern.
    pub(super) fn begin(&mut self) -> Result<(), TooMany> {
        let root = self.tree.insert(0, None, Arc::clone(self.plan.nothing()));
        self.stack.push(Action::Start(root));
        self.run()
    }

    /// An event came that this node waits for; if it still waits.
    pub(super) fn meet(&mut self, live: Live, event: &StreamEvent) -> Result<(), TooMany> {
        let Some(node) = self.tree.get(live) else { return Ok(()) };
        let (StepKind::Event { tag, .. }, Some(tags)) = (&self.plan.step(node.step).kind, &node.tags) else {
            return Ok(());
        };
        let tags = match tag {
            None => Arc::clone(tags),
            Some(tag) => {
                let mut tags = tags.to_vec();
                tags[usize::from(*tag)] = Some(event.clone());
                tags.into()
            }
        };
        // An `every` right above would only start the same again.
        let repeats =
            self.tree.parent_of(node).is_some_and(|above| matches!(self.kind_of(above), StepKind::Every));
        if repeats {
            self.stays_true(live, tags)
        } else {
            self.ends_true(live, tags)
        }
        self.run()
    }

    /// The time came that this node waits for.
    pub(super) fn come(&mut self, live: Live) -> Result<(), TooMany> {
        self.true_by_time(live);
        self.run()
    }

    fn true_by_time(&mut self, live: Live) {
        if let Some(tags) = self.tree.get(live).and_then(|node| node.tags.clone()) {
            self.ends_true(live, tags);
        }
    }

    fn run(&mut self) -> Result<(), TooMany> {
        while let Some(action) = self.stack.pop() {
            self.actions += 1;
            let grown = self.tree.live().saturating_sub(self.before);
            if grown > BURST + self.plan.size() || self.matches.len() > BURST || self.actions > ACTIONS {
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

    fn add(&mut self, step: u32, parent: Live, tags: &Tags) -> Live {
        self.tree.insert(step, Some(parent), Arc::clone(tags))
    }

    fn start(&mut self, live: Live) {
        let Some(node) = self.tree.get(live) else { return };
        let plan = self.plan;
        let step = plan.step(node.step);
        match &step.kind {
            StepKind::Every => self.begin_anew(live),
            StepKind::Not => {
                let Some(tags) = self.tree.take_tags(live.slot) else { return };
                let child = self.add(step.children[0], live, &tags);
                self.stays_true(live, tags);
                self.stack.push(Action::Start(child));
            }
            StepKind::And => {
                self.tree.at_mut(live.slot).detail =
                    Detail::Conjunction(Box::new(Conjunction::new(step.children.len())));
                self.start_all(live, &step.children);
            }
            StepKind::Or => self.start_all(live, &step.children),
            StepKind::FollowedBy => self.start_all(live, &step.children[..1]),
            StepKind::Event { filter, .. } => {
                let live = self.tree.renew(live);
                let equality = filter.as_ref().and_then(|filter| filter.equality.as_ref());
                match equality.map_or(Bucket::Unknown, |equality| self.bucket_of_match(equality, live)) {
                    // Null equals nothing, ever. It stays as if it waited, as it would with a filter that is no equality.
                    Bucket::Nothing => self.tree.wait_in_vain(live),
                    Bucket::Unknown => self.tree.wait_for(live, None),
                    Bucket::Found(bucket) => self.tree.wait_for(live, Some(bucket)),
                }
            }
            StepKind::Interval(0) => self.true_by_time(live),
            StepKind::Interval(period) => {
                let live = self.tree.renew(live);
                self.tree.wait_until(live, self.now.saturating_add(*period));
            }
            StepKind::At(schedule) => {
                if let Some(due) = schedule::next_after(schedule, self.now) {
                    let live = self.tree.renew(live);
                    self.tree.wait_until(live, due);
                }
            }
        }
    }

    fn bucket_of_match(&self, equality: &Equality, live: Live) -> Bucket {
        let (Some((world, keys)), Some(tags)) = (self.world, &self.tree.at(live.slot).tags) else {
            return Bucket::Unknown;
        };
        let matched = StreamEvent::Match(Arc::clone(tags));
        let scope = Scope { sources: [Some(&matched), None], aggregates: &[], keys, world };
        values(&equality.matched, &scope).map_or(Bucket::Unknown, |values| self.tree.bucket(&values))
    }

    /// Adds children and starts them, the first first.
    fn start_all(&mut self, live: Live, steps: &[u32]) {
        let Some(tags) = self.tree.take_tags(live.slot) else { return };
        let first = self.stack.len();
        for step in steps {
            let child = self.add(*step, live, &tags);
            self.stack.push(Action::Start(child));
        }
        self.stack[first..].reverse();
    }

    /// Starts what stands below an `every` once more.
    fn begin_anew(&mut self, every: Live) {
        let node = self.tree.at_mut(every.slot);
        node.detail = Detail::Beginning;
        let Some(tags) = node.tags.clone() else { return };
        let step = self.plan.step(node.step).children[0];
        let child = self.add(step, every, &tags);
        self.stack.push(Action::Begun { every, child });
        self.stack.push(Action::Start(child));
    }

    /// What is true at once would begin anew without end, so it is given up.
    fn begun(&mut self, every: Live, child: Live) {
        let Some(node) = self.tree.get_mut(every) else { return };
        let detail = std::mem::take(&mut node.detail);
        if matches!(detail, Detail::BegunTrue) && self.tree.get(child).is_some() {
            self.tree.remove(child.slot);
        }
    }

    /// It turned true and may do so again.
    fn stays_true(&mut self, live: Live, tags: Tags) {
        let node = self.tree.at(live.slot);
        let truth = Truth { of: Some(live), step: node.step, parent: self.tree.parent_of(node), tags };
        self.stack.push(Action::True(truth));
    }

    /// It turned true, and that was all.
    fn ends_true(&mut self, live: Live, tags: Tags) {
        let Some(node) = self.tree.get(live) else { return };
        let truth = Truth { of: None, step: node.step, parent: self.tree.parent_of(node), tags };
        self.tree.remove(live.slot);
        self.stack.push(Action::True(truth));
    }

    /// It can never turn true any more.
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
            self.matches.push(tags);
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

    /// One part of a chain turned true: the next begins, with what was matched so far.
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

    /// One side of an `and` turned true.
    fn conclude(&mut self, and: Live, step: u32, tags: Tags) -> Result<(), TooMany> {
        let position = self.plan.step(step).position as usize;
        let node = self.tree.at(and.slot);
        let Detail::Conjunction(conjunction) = &node.detail else { return Ok(()) };
        if !conjunction.completes(position) {
            self.remember(and, position, tags);
            return Ok(());
        }
        let mut combinations = conjunction.combinations(position, &tags)?;
        // What is left of it are `not`s, which wait for nothing but to turn false.
        let ends =
            self.tree.steps_below(node).all(|below| matches!(self.plan.step(below).kind, StepKind::Not));
        if ends {
            let last = combinations.pop().expect("what completes makes one combination at least");
            self.stack.push(Action::Ends(and, last));
        } else if self.tree.steps_below(node).any(|below| below != step) {
            self.remember(and, position, tags);
        }
        let node = self.tree.at(and.slot);
        let (step, parent) = (node.step, self.tree.parent_of(node));
        let truth = |tags| Action::True(Truth { of: Some(and), step, parent, tags });
        // The first is to be told first, so it is pushed last.
        self.stack.extend(combinations.into_iter().rev().map(truth));
        Ok(())
    }

    fn remember(&mut self, and: Live, position: usize, tags: Tags) {
        self.tree.retain(&tags);
        if let Detail::Conjunction(conjunction) = &mut self.tree.at_mut(and.slot).detail {
            conjunction.remember(position, tags);
        }
    }

    /// An `and`, an `or`, … of which one part can never turn true any more.
    fn turn_false(&mut self, parent: Option<Live>) {
        let Some(above) = parent else { return };
        let Some(node) = self.tree.get(above) else { return };
        let nothing_left = self.tree.steps_below(node).next().is_none();
        match self.kind_of(above) {
            StepKind::Every if matches!(node.detail, Detail::Plain) => self.begin_anew(above),
            StepKind::And => self.ends_false(above),
            StepKind::Or | StepKind::FollowedBy if nothing_left => self.ends_false(above),
            _ => {}
        }
    }
}

/// What several expressions give; nothing when one fails.
pub(super) fn values(expressions: &[Expression], scope: &Scope<'_>) -> Option<Vec<Value>> {
    expressions.iter().map(|expression| expression.evaluate(scope).ok()).collect()
}
