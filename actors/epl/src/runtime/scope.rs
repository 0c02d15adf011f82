//! The data that an expression can read while it is evaluated.

use super::LookUps;
use crate::value::{EvaluationsLeft, StreamEvent, Value};

/// The data that is the same for all expressions of a step.
pub struct World<'a> {
    /// The values of the variables, by their positions in the plan.
    pub(crate) variables: &'a [Value],
    /// The current time in milliseconds since 1970.
    pub now: i64,
    pub(crate) look_ups: &'a dyn LookUps,
    /// The number of expressions that may still be evaluated in this step.
    pub evaluations: &'a EvaluationsLeft,
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
