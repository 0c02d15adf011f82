//! `output … every …`: the time and the selection of the rows that a statement outputs (Q-13; as in Esper unless
//! stated otherwise).
//!
//! The interval starts with the first event that passed `where` and repeats without end. Counted outputs happen when
//! that many events entered, or that many left, since the last one.
//!
//! | | a row for each event | one row for all | a row for each group |
//! |---|---|---|---|
//! | (no keyword) | all rows since the last output | all; if nothing happened, the current row | all rows since |
//! | `all` | the same; with `group by` also the last event of each idle group | the same | the rows of all groups |
//! | `last` | the last row; with `group by` of each group | the current row | the current rows of changed groups |
//! | `first` | the first row, then none until the next output | the same | the same, for each group |
//! | `snapshot` | everything in the window | the current row | every group in the window |
//!
//! With `group by`, `first` applies to each group, whose interval starts with its last row. `having` is evaluated
//! where the row is made: at the event in the first column and where all rows are output, otherwise at the output. A
//! group whose last event left is shown once more by `all` and `last`, then removed.

use std::collections::VecDeque;

use super::Retained;
use super::groups::GroupId;
use super::step::Made;
use super::views::millis;
use crate::language::syntax::OutputKind;
use crate::plan::{EveryPlan, OutputPlan};

/// The state of one group between two outputs.
#[derive(Debug, Default)]
pub(super) struct GroupOutput {
    /// The last row, if `last` waits for the output.
    last: Option<Made>,
    /// For `all`: whether rows of the group wait already.
    pub(super) has_rows: bool,
    /// Whether the group is listed in [`OutputRate::touched`].
    pub(super) is_listed: bool,
    /// For `first`: the time at which the group may be output again, or the number of events until then.
    again: Option<i64>,
}

/// The state of the `output` clause of a statement.
#[derive(Debug)]
pub(super) struct OutputRate {
    pub(super) kind: OutputKind,
    every: EveryPlan,
    next: Option<i64>,
    came: usize,
    left: usize,
    /// The rows that wait for the output.
    waiting: VecDeque<Made>,
    /// Whether an event entered or left since the last output.
    pub(super) has_changes: bool,
    /// For `first`: whether the first row was output already.
    pub(super) had_first: bool,
    /// The groups in which an event entered or left since the last output, in that order.
    pub(super) touched: Vec<GroupId>,
}

/// Whether the waiting rows are output now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    No,
    Now,
}

impl OutputRate {
    pub(super) fn new(plan: OutputPlan) -> Self {
        Self {
            kind: plan.kind,
            every: plan.every,
            next: None,
            came: 0,
            left: 0,
            waiting: VecDeque::new(),
            has_changes: false,
            had_first: false,
            touched: Vec::new(),
        }
    }

    /// Counts events that entered and left. Returns whether that makes an output due.
    pub(super) fn count(&mut self, came: usize, left: usize, now: i64) -> Due {
        self.has_changes = true;
        match self.every {
            EveryPlan::Time(period) => {
                self.next.get_or_insert(now.saturating_add(millis(period)));
                Due::No
            }
            EveryPlan::Events(events) => {
                self.came += came;
                self.left += left;
                if self.came >= events || self.left >= events { Due::Now } else { Due::No }
            }
        }
    }

    /// Returns whether an output is due at `now`.
    pub(super) fn expire(&self, now: i64) -> Due {
        if self.next.is_some_and(|next| next <= now) { Due::Now } else { Due::No }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.next
    }

    /// Starts the next interval after an output.
    pub(super) fn begin_next(&mut self) {
        self.came = 0;
        self.left = 0;
        self.has_changes = false;
        self.had_first = false;
        if let (EveryPlan::Time(period), Some(next)) = (self.every, &mut self.next) {
            *next = next.saturating_add(millis(period));
        }
    }

    /// Keeps a row until the output.
    pub(super) fn wait(&mut self, made: Made, retained: &mut Retained) {
        hold(&made, retained);
        self.waiting.push_back(made);
    }

    /// Keeps a row in place of those that wait.
    pub(super) fn wait_alone(&mut self, made: Made, retained: &mut Retained) {
        self.release(retained);
        self.wait(made, retained);
    }

    /// Removes and returns the rows that wait.
    pub(super) fn release(&mut self, retained: &mut Retained) -> VecDeque<Made> {
        for made in &self.waiting {
            let_go(made, retained);
        }
        std::mem::take(&mut self.waiting)
    }

    /// For `first`: returns whether a group may be output now, and if so blocks it until the next time.
    pub(super) fn may_come(&self, group: &mut GroupOutput, now: i64) -> bool {
        match self.every {
            EveryPlan::Time(period) => {
                let may = group.again.is_none_or(|again| again <= now);
                if may {
                    group.again = Some(now.saturating_add(millis(period)));
                }
                may
            }
            EveryPlan::Events(events) => {
                let left = group.again.map_or(0, |left| left - 1);
                let may = left <= 0;
                group.again = Some(if may { i64::try_from(events).unwrap_or(i64::MAX) } else { left });
                may
            }
        }
    }
}

impl GroupOutput {
    /// Keeps the last row of the group.
    pub(super) fn wait(&mut self, made: Made, retained: &mut Retained) {
        self.release(retained);
        hold(&made, retained);
        self.last = Some(made);
    }

    pub(super) fn release(&mut self, retained: &mut Retained) -> Option<Made> {
        let made = self.last.take()?;
        let_go(&made, retained);
        Some(made)
    }
}

/// The approximate size of a waiting row in bytes, besides its own.
const WAITING: usize = 64;

fn hold(made: &Made, retained: &mut Retained) {
    retained.add(made.row.weight as usize + WAITING);
}

fn let_go(made: &Made, retained: &mut Retained) {
    retained.remove(made.row.weight as usize + WAITING);
}
