//! The rows of a statement with `output`: the rows that a change adds to the waiting ones, and the rows that an
//! output releases. [`output_rate`] determines the time, and has the table of the rows that are output.
//!
//! [`output_rate`]: super::output_rate

use super::groups::GroupId;
use super::output_rate::OutputRate;
use super::results::{Remembered, Results, Sources};
use super::step::Step;
use crate::language::syntax::OutputKind;
use crate::plan::{Rows, SelectPlan};

impl Results {
    /// Outputs the rows that are due; `contents` are the events in the window.
    pub(super) fn put_out<'e>(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        contents: impl Iterator<Item = (Sources<'e>, &'e Remembered)>,
    ) {
        let Some(mut output) = self.output.take() else { return };
        let waiting = output.release(step.retained);
        step.made.extend(waiting);
        match (output.kind, plan.rows) {
            (OutputKind::First, _) => {}
            (OutputKind::Snapshot, Rows::PerEvent | Rows::PerEventWithAggregates) => {
                for (sources, remembered) in contents {
                    if let Some(number) = remembered.number() {
                        self.put_row(plan, step, sources, number);
                    }
                }
            }
            (OutputKind::Default | OutputKind::All, Rows::ForAll) if output.has_changes => {}
            (OutputKind::Default, Rows::PerEvent | Rows::PerEventWithAggregates | Rows::PerGroup) => {}
            (OutputKind::Last, Rows::PerEvent | Rows::PerEventWithAggregates) => {
                for number in &output.touched {
                    let made =
                        self.groups.get_mut(*number).and_then(|group| group.output.release(step.retained));
                    step.made.extend(made);
                }
            }
            (_, Rows::ForAll) => self.put_row(plan, step, [None, None], 0),
            (OutputKind::Last, Rows::PerGroup) => self.put_groups(plan, step, output.touched.clone()),
            (OutputKind::All | OutputKind::Snapshot, Rows::PerGroup) => {
                self.put_groups(plan, step, self.groups.numbers());
            }
            (OutputKind::All, Rows::PerEvent | Rows::PerEventWithAggregates) => {
                self.put_silent_groups(plan, step)
            }
        }
        self.touched.append(&mut output.touched);
        self.forget(step);
        output.begin_next();
        self.output = Some(output);
    }

    /// Adds a change between two outputs.
    pub(super) fn take_in<'e>(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        entered: impl Iterator<Item = (Sources<'e>, GroupId)>,
        output: &mut OutputRate,
    ) {
        match (output.kind, plan.rows) {
            (OutputKind::Snapshot, _)
            | (OutputKind::Last, Rows::ForAll | Rows::PerGroup)
            | (OutputKind::All, Rows::PerGroup) => {}
            (OutputKind::First, _) => self.take_first(plan, step, entered, output),
            (OutputKind::Last, _) if self.groups.is_grouped() => {
                for (sources, number) in entered {
                    let made = self.row(plan, step, sources, number);
                    if let (Some(made), Some(group)) = (made, self.groups.get_mut(number)) {
                        group.output.wait(made, step.retained);
                    }
                }
            }
            (OutputKind::Last, _) => self.rows_of_change(plan, step, entered, |_, step, made| {
                output.wait_alone(made, step.retained);
            }),
            (OutputKind::All, Rows::PerEventWithAggregates) if self.groups.is_grouped() => {
                for (sources, number) in entered {
                    if let Some(group) = self.groups.get_mut(number) {
                        group.output.has_rows = true;
                    }
                    if let Some(made) = self.row(plan, step, sources, number) {
                        output.wait(made, step.retained);
                    }
                }
            }
            (OutputKind::Default | OutputKind::All, _) => {
                self.rows_of_change(plan, step, entered, |_, step, made| output.wait(made, step.retained));
            }
        }
        if output.kind == OutputKind::First && self.groups.is_grouped() {
            self.forget(step);
        } else {
            self.hand_on_touched(output);
        }
    }

    /// Moves the groups of this change to those of the output, and resets their marks for the next change.
    fn hand_on_touched(&mut self, output: &mut OutputRate) {
        for number in self.touched.drain(..) {
            if let Some(group) = self.groups.get_mut(number) {
                group.touched = false;
                if !group.output.is_listed {
                    group.output.is_listed = true;
                    output.touched.push(number);
                }
            }
        }
    }

    fn take_first<'e>(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        entered: impl Iterator<Item = (Sources<'e>, GroupId)>,
        output: &mut OutputRate,
    ) {
        if !self.groups.is_grouped() {
            if !output.had_first {
                self.rows_of_change(plan, step, entered, |_, step, made| {
                    if !std::mem::replace(&mut output.had_first, true) {
                        step.made.push(made);
                    }
                });
            }
            return;
        }
        let now = step.world.now;
        let candidates: Vec<_> = match plan.rows {
            Rows::PerGroup => self.touched.iter().map(|number| (None, *number)).collect(),
            _ => entered.map(|(sources, number)| (Some(sources), number)).collect(),
        };
        for (sources, number) in candidates {
            let made = match sources {
                Some(sources) => self.row(plan, step, sources, number),
                None => self.row_of_group(plan, step, number),
            };
            if let (Some(made), Some(group)) = (made, self.groups.get_mut(number))
                && output.may_come(&mut group.output, now)
            {
                step.made.push(made);
            }
        }
    }

    fn put_groups(&mut self, plan: &SelectPlan, step: &mut Step<'_>, numbers: Vec<GroupId>) {
        for number in numbers {
            if let Some(made) = self.row_of_group(plan, step, number) {
                step.made.push(made);
            }
        }
    }

    /// For `all`: outputs the last event of each group without a waiting row, with the current aggregates.
    fn put_silent_groups(&mut self, plan: &SelectPlan, step: &mut Step<'_>) {
        if !self.groups.is_grouped() {
            return;
        }
        for number in self.groups.numbers() {
            let Some(group) = self.groups.get_mut(number) else { continue };
            if !std::mem::take(&mut group.output.has_rows)
                && let Some(made) = self.row_of_group(plan, step, number)
            {
                step.made.push(made);
            }
        }
    }
}
