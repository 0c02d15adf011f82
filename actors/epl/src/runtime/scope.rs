//! The data that an expression can read while it is evaluated.

use std::cell::Cell;

use super::{Fault, LookUps};
use crate::stream::StreamEvent;
use crate::value::Value;

/// The data that is the same for all expressions of a step.
pub struct World<'a> {
    /// The values of the variables, by their positions in the plan.
    pub(crate) variables: &'a [Value],
    /// The current time in milliseconds since 1970.
    pub now: i64,
    pub(crate) look_ups: &'a dyn LookUps,
    /// The number of expressions that may still be evaluated in this step.
    pub evaluations: &'a Cell<u64>,
}

/// The data that one expression can read.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The events that the expression reads, as the plan determines.
    pub(crate) sources: [Option<&'a StreamEvent>; 2],
    /// The values of the aggregates, by their positions in the statement.
    pub(crate) aggregates: &'a [Value],
    /// The keys of the partition, where the statement has a context.
    pub(crate) keys: &'a [Value],
    pub(crate) world: &'a World<'a>,
}

/// The number of bytes read or written that count as one evaluation.
const BYTES: usize = 512;

impl World<'_> {
    /// Charges one evaluation to the budget.
    ///
    /// # Errors
    /// A [`Fault`] when the step used up its budget.
    pub fn spend(&self) -> Result<(), Fault> {
        self.spend_all(1)
    }

    /// Charges an operation whose cost grows with the number of bytes.
    ///
    /// # Errors
    /// See [`spend`](Self::spend).
    pub fn spend_for(&self, bytes: usize) -> Result<(), Fault> {
        self.spend_all((bytes / BYTES) as u64)
    }

    fn spend_all(&self, count: u64) -> Result<(), Fault> {
        match self.evaluations.get().checked_sub(count) {
            Some(left) => {
                self.evaluations.set(left);
                Ok(())
            }
            None => Err(Fault::new("one event sets more going than a module may do at a time")),
        }
    }
}
