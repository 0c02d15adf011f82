//! A module as a whole.

use std::sync::Arc;

use super::{Budget, LookUps, Outcome, Retained};
use crate::event_processing::plan::ModulePlan;
use crate::event_processing::stream::{Input, Row};

/// A deployed module and all it remembers.
pub(crate) struct Runtime {
    plan: Arc<ModulePlan>,
    budget: Budget,
}

impl Runtime {
    /// A module that has seen nothing yet. Its timers run from `now`.
    pub(crate) fn new(plan: Arc<ModulePlan>, budget: Budget, now: i64) -> Self {
        let _ = now;
        Self { plan, budget }
    }

    /// Something happened in the tenant. Timers that are due go off before.
    pub(crate) fn feed_input(
        &mut self,
        input: &Arc<Input>,
        now: i64,
        look_ups: &dyn LookUps,
        outcome: &mut Outcome,
    ) {
        let _ = (input, now, look_ups, outcome);
    }

    /// Another module inserted a row into a stream.
    pub(crate) fn feed_row(
        &mut self,
        stream: &str,
        row: &Arc<Row>,
        now: i64,
        look_ups: &dyn LookUps,
        outcome: &mut Outcome,
    ) {
        let _ = (stream, row, now, look_ups, outcome);
    }

    /// Time goes on: what is due goes off, in the order of its time and as much of it as one step may; when there is more,
    /// [`next_deadline`](Self::next_deadline) is in the past.
    pub(crate) fn advance(&mut self, now: i64, look_ups: &dyn LookUps, outcome: &mut Outcome) {
        let _ = (now, look_ups, outcome);
    }

    /// When it must be told of the time next.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        None
    }

    /// What it keeps in memory.
    pub(crate) fn retained(&self) -> Retained {
        Retained::default()
    }
}
