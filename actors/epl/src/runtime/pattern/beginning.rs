//! Starts the parts of a pattern.

use std::sync::Arc;

use super::conjunction::Conjunction;
use super::repetition::Repetition;
use super::tree::{Detail, Live, Tags};
use super::turn::{Action, PatternTurn};
use super::waiting::Bucket;
use crate::plan::expression::Expression;
use crate::plan::pattern::{About, Equality, Filter, StepKind};
use crate::plan::periods::{self, PeriodPlan};
use crate::runtime::{Fault, Scope, schedule};
use crate::value::{StreamEvent, Value};

impl PatternTurn<'_> {
    pub(super) fn add(&mut self, step: u32, parent: Live, tags: &Tags) -> Live {
        self.tree.insert(step, Some(parent), Arc::clone(tags))
    }

    pub(super) fn start(&mut self, live: Live) {
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
            StepKind::Event { filter, .. } => self.wait_for_event(live, filter.as_ref()),
            StepKind::Until(slots) => {
                self.tree.at_mut(live.slot).detail =
                    Detail::Repetition(Box::new(Repetition::new(slots.len())));
                let Some(tags) = self.tree.at(live.slot).tags.clone() else { return };
                self.add_all(live, &step.children, &tags);
            }
            StepKind::Interval(period) => self.start_interval(live, period),
            StepKind::At(schedule) => {
                if let Some(due) = schedule::next_after(schedule, self.now) {
                    let live = self.tree.renew(live);
                    self.tree.wait_until(live, due);
                }
            }
        }
    }

    fn start_interval(&mut self, live: Live, period: &PeriodPlan) {
        match self.millis_of(period, live) {
            Ok(0) => self.true_by_time(live),
            Ok(millis) => {
                let live = self.tree.renew(live);
                self.tree.wait_until(live, self.now.saturating_add(millis));
            }
            // A timer without a valid period never comes.
            Err(fault) => {
                self.turned.faults.push(fault);
                self.tree.wait_in_vain(live);
            }
        }
    }

    /// Returns the milliseconds of a timer that begins now.
    ///
    /// # Errors
    /// A fault when the period is null, is not within its limits or cannot be evaluated.
    fn millis_of(&self, period: &PeriodPlan, live: Live) -> Result<i64, Fault> {
        let (millis, least) = match period {
            PeriodPlan::Fixed(period) => return Ok(i64::try_from(period.as_millis()).unwrap_or(i64::MAX)),
            PeriodPlan::Computed { millis, least } => (millis, *least),
        };
        let matched = self.tree.at(live.slot).tags.clone().map(StreamEvent::Match);
        let (world, keys) = self.world;
        let scope = Scope { sources: [matched.as_ref(), None], aggregates: &[], keys, world };
        let millis = match millis.evaluate(&scope)? {
            Value::Integer(millis) => millis as f64,
            Value::Double(millis) => millis,
            _ => return Err(Fault::new("the period of a timer is not a number")),
        };
        periods::check(millis, least).map_err(Fault::new)?;
        // The cast loses nothing, because the value is between 0 and the longest period.
        Ok(millis.round() as i64)
    }

    fn wait_for_event(&mut self, live: Live, filter: Option<&Filter>) {
        let live = self.tree.renew(live);
        // A filter that does not depend on the match is the same for all nodes of the step, so they need no buckets.
        let filter = filter.filter(|filter| filter.about == About::Match);
        let equality = filter.and_then(|filter| filter.equality.as_ref());
        match equality.map_or(Bucket::Unknown, |equality| self.bucket_of_match(equality, live)) {
            // Null never equals anything. The node waits in vain, like one whose filter rejects every event.
            Bucket::Nothing => self.tree.wait_in_vain(live),
            Bucket::Unknown => self.tree.wait_for(live, None),
            Bucket::Found(bucket) => self.tree.wait_for(live, Some(bucket)),
        }
    }

    fn bucket_of_match(&self, equality: &Equality, live: Live) -> Bucket {
        let Some(tags) = &self.tree.at(live.slot).tags else { return Bucket::Unknown };
        let (world, keys) = self.world;
        let matched = StreamEvent::Match(Arc::clone(tags));
        let scope = Scope { sources: [Some(&matched), None], aggregates: &[], keys, world };
        values(&equality.matched, &scope).map_or(Bucket::Unknown, |values| self.tree.bucket(&values))
    }

    /// Adds children and starts them in order.
    fn start_all(&mut self, live: Live, steps: &[u32]) {
        let Some(tags) = self.tree.take_tags(live.slot) else { return };
        self.add_all(live, steps, &tags);
    }

    fn add_all(&mut self, live: Live, steps: &[u32], tags: &Tags) {
        let first = self.stack.len();
        for step in steps {
            let child = self.add(*step, live, tags);
            self.stack.push(Action::Start(child));
        }
        self.stack[first..].reverse();
    }

    /// Starts the part below an `every` once more.
    pub(super) fn begin_anew(&mut self, every: Live) {
        let node = self.tree.at_mut(every.slot);
        node.detail = Detail::Beginning;
        let Some(tags) = node.tags.clone() else { return };
        let step = self.plan.step(node.step).children[0];
        let child = self.add(step, every, &tags);
        self.stack.push(Action::Begun { every, child });
        self.stack.push(Action::Start(child));
    }

    /// Handles the started child of an `every`. A child that is true at once would start again without end, so it is
    /// abandoned.
    pub(super) fn begun(&mut self, every: Live, child: Live) {
        let Some(node) = self.tree.get_mut(every) else { return };
        let detail = std::mem::take(&mut node.detail);
        if matches!(detail, Detail::BegunTrue) && self.tree.get(child).is_some() {
            self.tree.remove(child.slot);
        }
    }
}

/// Evaluates several expressions; the result is none when one of them fails.
pub(super) fn values(expressions: &[Expression], scope: &Scope<'_>) -> Option<Vec<Value>> {
    expressions.iter().map(|expression| expression.evaluate(scope).ok()).collect()
}
