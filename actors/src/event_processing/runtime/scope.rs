//! What an expression can see while it is evaluated.

use std::cell::Cell;

use super::{Fault, LookUps};
use crate::event_processing::stream::StreamEvent;
use crate::event_processing::value::Value;

/// What is the same for all expressions of a step.
pub(crate) struct World<'a> {
    /// By the places of the plan.
    pub(crate) variables: &'a [Value],
    /// Milliseconds since 1970.
    pub(crate) now: i64,
    pub(crate) look_ups: &'a dyn LookUps,
    /// How many more expressions may be evaluated in this step.
    pub(crate) evaluations: &'a Cell<u64>,
}

/// What one expression can see.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The events it is about; what they are the plan says.
    pub(crate) sources: [Option<&'a StreamEvent>; 2],
    /// By the places of the statement.
    pub(crate) aggregates: &'a [Value],
    /// Of the partition, where the statement has a context.
    pub(crate) keys: &'a [Value],
    pub(crate) world: &'a World<'a>,
}

/// So many bytes that are read or written count as one evaluation.
const BYTES: usize = 512;

impl World<'_> {
    /// Counts an evaluation.
    ///
    /// # Errors
    /// When the step used up what it may.
    pub(crate) fn spend(&self) -> Result<(), Fault> {
        self.spend_all(1)
    }

    /// Counts what takes longer the more bytes it has.
    ///
    /// # Errors
    /// See [`spend`](Self::spend).
    pub(crate) fn spend_for(&self, bytes: usize) -> Result<(), Fault> {
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
