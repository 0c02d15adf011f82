//! Makes rows from the events that enter and leave: `where`, groups, aggregates, `having`, the select list.
//!
//! As in Esper, aggregates first include all events that entered with a change, then remove all that left, and only
//! then rows are made: the rows of a batch all show the same aggregates. Whether an event passed `where`, and its
//! group, is stored until it leaves. A fault in an expression affects only its event (the event does not enter, or
//! makes no row); an event that leaves evaluates no expression.

use std::sync::Arc;

use super::aggregates::{Memories, Memory, Span};
use super::groups::{GroupId, Groups};
use super::output_rate::{Due, OutputRate};
use super::step::{Made, Step};
use super::{Fault, Scope};
use crate::language::syntax::OutputKind;
use crate::plan::{Rows, SelectPlan};
use crate::value::{Key, Row, StreamEvent, Value};

/// The events that a row is made of: one, or two of a join.
pub(super) type Sources<'a> = [Option<&'a StreamEvent>; 2];

/// The part of an event that is remembered while it is in a window.
#[derive(Debug, Clone, Default)]
pub(super) struct Remembered {
    /// The group of the event; none when it did not pass `where`.
    group: Option<std::num::NonZeroU64>,
    /// The contributions of the event to the aggregates.
    values: Memories,
}

/// The results of a statement in one partition.
#[derive(Debug)]
pub(super) struct Results {
    keys: Arc<[Value]>,
    pub(super) groups: Groups,
    pub(super) output: Option<OutputRate>,
    span: Span,
    came: usize,
    left: usize,
    /// The groups in which an event entered or left by this change, in that order.
    pub(super) touched: Vec<GroupId>,
    arguments: Vec<Option<Value>>,
    memories: Vec<Memory>,
    values: Vec<Value>,
}

impl Results {
    pub(super) fn new(plan: &SelectPlan, keys: Arc<[Value]>, span: Span) -> Self {
        let has_groups =
            !plan.group_by.is_empty() && (plan.rows == Rows::PerGroup || !plan.aggregates.is_empty());
        Self {
            keys,
            groups: Groups::new(has_groups, &plan.aggregates, span),
            output: plan.output.map(OutputRate::new),
            span,
            came: 0,
            left: 0,
            touched: Vec::new(),
            arguments: Vec::new(),
            memories: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(super) fn keys(&self) -> &[Value] {
        &self.keys
    }

    /// Takes in a single event, or a pair of a join.
    pub(super) fn enter(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        sources: Sources<'_>,
    ) -> Remembered {
        let admitted = self.admit(plan, step, sources);
        let Some(Some(number)) = step.checked(admitted) else { return Remembered::default() };
        self.came += 1;
        let keeps_sample = self.groups.is_grouped();
        let Some(group) = self.groups.touch(number, &mut self.touched) else { return Remembered::default() };
        group.events += 1;
        if keeps_sample {
            group.keep(sources, step.retained);
        }
        let mut grown = 0;
        for (state, argument) in group.aggregates.iter_mut().zip(self.arguments.drain(..)) {
            let (memory, bytes) = state.enter(argument);
            grown += bytes;
            if self.span == Span::Window {
                self.memories.push(memory);
            }
        }
        group.grow(grown, step.retained);
        Remembered { group: remembered_number(number), values: Memories::take(&mut self.memories) }
    }

    /// Removes an event that was taken in. It evaluates no expression, so it cannot fail.
    pub(super) fn leave(&mut self, step: &mut Step<'_>, remembered: &Remembered) {
        let Some(number) = remembered.number() else { return };
        self.left += 1;
        let Some(group) = self.groups.touch(number, &mut self.touched) else { return };
        group.events = group.events.saturating_sub(1);
        let mut shrunk = 0;
        for (state, memory) in group.aggregates.iter_mut().zip(remembered.values.as_slice()) {
            shrunk += state.leave(memory);
        }
        group.shrink(shrunk, step.retained);
    }

    /// Makes the rows of a change: `entered` are the events that entered, with their stored memories.
    pub(super) fn finish<'e>(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        entered: impl Iterator<Item = (Sources<'e>, &'e Remembered)>,
    ) -> Due {
        let (came, left) = (std::mem::take(&mut self.came), std::mem::take(&mut self.left));
        if came == 0 && left == 0 {
            return Due::No;
        }
        let entered = entered.filter_map(|(sources, remembered)| Some((sources, remembered.number()?)));
        match self.output.take() {
            None => {
                self.rows_of_change(plan, step, entered, |_, step, made| step.made.push(made));
                self.forget(step);
                Due::No
            }
            Some(mut output) => {
                self.take_in(plan, step, entered, &mut output);
                let due = output.count(came, left, step.world.now);
                self.output = Some(output);
                due
            }
        }
    }

    /// Resets the groups: earlier events do not count (each event of a `unidirectional` source stands by itself).
    pub(super) fn clear(&mut self, plan: &SelectPlan, step: &mut Step<'_>) {
        self.groups.clear(&plan.aggregates, step.retained);
    }

    /// Returns whether an output is due at `now`.
    pub(super) fn expire(&self, now: i64) -> Due {
        self.output.as_ref().map_or(Due::No, |output| output.expire(now))
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.output.as_ref()?.next_deadline()
    }

    /// Returns whether the output needs the contents of the window.
    pub(super) fn needs_contents(plan: &SelectPlan) -> bool {
        let is_snapshot = plan.output.is_some_and(|output| output.kind == OutputKind::Snapshot);
        is_snapshot && matches!(plan.rows, Rows::PerEvent | Rows::PerEventWithAggregates)
    }

    /// Returns the group of an event that passes, and evaluates the values of its aggregates into `arguments`.
    fn admit(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        sources: Sources<'_>,
    ) -> Result<Option<GroupId>, Fault> {
        let scope = Scope { sources, aggregates: &[], keys: &self.keys, world: step.world };
        if let Some(condition) = &plan.condition
            && !condition.is_true(&scope)?
        {
            return Ok(None);
        }
        self.arguments.clear();
        for aggregate in &plan.aggregates {
            let argument =
                aggregate.argument.as_ref().map(|argument| argument.evaluate(&scope)).transpose()?;
            self.arguments.push(argument);
        }
        if !self.groups.is_grouped() {
            return Ok(Some(0));
        }
        let mut key = Vec::with_capacity(plan.group_by.len());
        for expression in &plan.group_by {
            key.push(expression.evaluate(&scope)?);
        }
        Ok(Some(self.groups.of_key(Key(key), &plan.aggregates, step.retained)))
    }

    /// Removes the touched groups that have become empty.
    pub(super) fn forget(&mut self, step: &mut Step<'_>) {
        for number in std::mem::take(&mut self.touched) {
            if let Some(group) = self.groups.get_mut(number) {
                group.touched = false;
                group.output.has_rows = false;
                group.output.is_listed = false;
            }
            self.groups.forget_if_empty(number, step.retained);
        }
    }

    /// Makes the rows of a change, according to the kind of the statement.
    pub(super) fn rows_of_change<'e>(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        entered: impl Iterator<Item = (Sources<'e>, GroupId)>,
        mut take: impl FnMut(&mut Self, &mut Step<'_>, Made),
    ) {
        match plan.rows {
            Rows::PerEvent | Rows::PerEventWithAggregates => {
                for (sources, number) in entered {
                    if let Some(made) = self.row(plan, step, sources, number) {
                        take(self, step, made);
                    }
                }
            }
            Rows::ForAll => {
                if let Some(made) = self.row(plan, step, [None, None], 0) {
                    take(self, step, made);
                }
            }
            Rows::PerGroup => {
                for at in 0..self.touched.len() {
                    if let Some(made) = self.row_of_group(plan, step, self.touched[at]) {
                        take(self, step, made);
                    }
                }
            }
        }
    }

    pub(super) fn put_row(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        sources: Sources<'_>,
        number: GroupId,
    ) {
        if let Some(made) = self.row(plan, step, sources, number) {
            step.made.push(made);
        }
    }

    pub(super) fn row_of_group(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        number: GroupId,
    ) -> Option<Made> {
        let sample = self.groups.get(number)?.sample.clone();
        self.row(plan, step, [sample[0].as_ref(), sample[1].as_ref()], number)
    }

    pub(super) fn row(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        sources: Sources<'_>,
        number: GroupId,
    ) -> Option<Made> {
        self.values.clear();
        if let Some(group) = self.groups.get(number) {
            self.values.extend(group.aggregates.iter().map(super::aggregates::AggregateState::value));
        }
        let made = self.made(plan, step, sources);
        step.checked(made).flatten()
    }

    fn made(&self, plan: &SelectPlan, step: &Step<'_>, sources: Sources<'_>) -> Result<Option<Made>, Fault> {
        let scope = Scope { sources, aggregates: &self.values, keys: &self.keys, world: step.world };
        if let Some(having) = &plan.having
            && !having.is_true(&scope)?
        {
            return Ok(None);
        }
        let depth = step.depth_of(sources)?;
        let mut values = Vec::with_capacity(plan.select.len());
        for expression in &plan.select {
            values.push(expression.evaluate(&scope)?);
        }
        let row = Arc::new(Row::new(plan.columns.clone(), values.into_boxed_slice(), depth));
        let event = match (plan.passes_on, sources[0]) {
            (true, Some(input @ StreamEvent::Input(_))) => input.clone(),
            _ => StreamEvent::Row(row.clone()),
        };
        Ok(Some(Made { row, event }))
    }
}

impl Remembered {
    /// Returns the memory of an event in the one group that exists without `group by`.
    pub(super) fn of_all() -> Self {
        Self { group: remembered_number(0), values: Memories::default() }
    }

    pub(super) fn number(&self) -> Option<GroupId> {
        self.group.map(|number| number.get() - 1)
    }

    /// Returns a copy without the contributions, which are not needed while the event is new.
    pub(super) fn without_values(&self) -> Self {
        Self { group: self.group, values: Memories::default() }
    }

    /// Returns whether the event passed, so that its leaving has an effect.
    pub(super) fn passed(&self) -> bool {
        self.group.is_some()
    }
}

/// Converts a group number, which begins at 0, to a number from 1 on, which leaves room for none.
fn remembered_number(number: GroupId) -> Option<std::num::NonZeroU64> {
    std::num::NonZeroU64::new(number.saturating_add(1))
}
