//! The budget of a step.

use std::cell::Cell;

use super::Fault;

/// The number of bytes read or written that count as one evaluation.
const BYTES: usize = 512;

/// The number of expressions that may still be evaluated in a step.
#[derive(Debug)]
pub struct EvaluationsLeft(Cell<u64>);

impl EvaluationsLeft {
    /// Creates a budget of this many evaluations.
    pub fn new(count: u64) -> Self {
        Self(Cell::new(count))
    }

    /// Returns the number of evaluations that are left.
    pub fn get(&self) -> u64 {
        self.0.get()
    }

    /// Replaces the number of evaluations that are left.
    pub(crate) fn set(&self, count: u64) {
        self.0.set(count);
    }

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
        match self.0.get().checked_sub(count) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => Err(Fault::new("one event sets more going than a module may do at a time")),
        }
    }
}
