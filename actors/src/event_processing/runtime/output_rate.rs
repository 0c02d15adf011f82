//! `output … every …`: when the rows of a statement come out, and which (Q-13; as in Esper where not said otherwise).
//!
//! The time of an output runs from the first event on that passed `where`, and goes on for good. Counted outputs come when so many
//! events came, or so many left, since the last one.
//!
//! | | a row for each event | one row for all | a row for each group |
//! |---|---|---|---|
//! | (no word) | all rows since the last output | all; if nothing happened, the row as it stands | all rows since |
//! | `all` | the same; with `group by` also, for groups in which nothing came, their last event anew | the same | every group as it stands |
//! | `last` | the last row; with `group by` of each group | the row as it stands | groups in which something happened, as they stand |
//! | `first` | the first row, then none until the next output; with `group by` of each group, from its last row on | the same | the same, for each group |
//! | `snapshot` | everything in the window | the row as it stands | every group in the window |
//!
//! `having` is asked where the row is made: at the event in the first column and where all rows come, at the output else. A group
//! whose last event left is shown once more by `all` and `last`, then forgotten.

use std::collections::VecDeque;

use super::Retained;
use super::groups::GroupId;
use super::step::Made;
use super::views::millis;
use crate::event_processing::language::syntax::OutputKind;
use crate::event_processing::plan::{EveryPlan, OutputPlan};

/// What is known of one group between two outputs.
#[derive(Debug, Default)]
pub(super) struct GroupOutput {
    /// The last row, where `last` waits for the output.
    last: Option<Made>,
    /// `all`: whether rows of it wait already.
    pub(super) has_rows: bool,
    /// Whether it is among [`OutputRate::touched`].
    pub(super) is_listed: bool,
    /// `first`: when it may come again, or how many more must come before.
    again: Option<i64>,
}

/// The outputs of a statement.
#[derive(Debug)]
pub(super) struct OutputRate {
    pub(super) kind: OutputKind,
    every: EveryPlan,
    next: Option<i64>,
    came: usize,
    left: usize,
    /// Rows that wait.
    waiting: VecDeque<Made>,
    /// Whether something happened since the last output.
    pub(super) has_changes: bool,
    /// `first`: whether it came already.
    pub(super) had_first: bool,
    /// Groups in which something came or left since the last output, in that order.
    pub(super) touched: Vec<GroupId>,
}

/// Whether the rows that wait come out now.
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

    /// So many events came and left.
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

    /// Time has come to `now`.
    pub(super) fn expire(&self, now: i64) -> Due {
        if self.next.is_some_and(|next| next <= now) { Due::Now } else { Due::No }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.next
    }

    /// An output took place: the next begins.
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

    /// Keeps a row instead of those that wait.
    pub(super) fn wait_alone(&mut self, made: Made, retained: &mut Retained) {
        self.release(retained);
        self.wait(made, retained);
    }

    /// The rows that wait.
    pub(super) fn release(&mut self, retained: &mut Retained) -> VecDeque<Made> {
        for made in &self.waiting {
            let_go(made, retained);
        }
        std::mem::take(&mut self.waiting)
    }

    /// `first`: whether a group may come out now; if so it may not until the next time.
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

/// About how many bytes a row takes that waits, besides its own.
const WAITING: usize = 64;

fn hold(made: &Made, retained: &mut Retained) {
    retained.add(made.row.weight as usize + WAITING);
}

fn let_go(made: &Made, retained: &mut Retained) {
    retained.remove(made.row.weight as usize + WAITING);
}
