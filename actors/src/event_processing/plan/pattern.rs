//! Patterns with every name resolved.

use std::time::Duration;

use super::expression::Expression;
use crate::event_processing::language::syntax::Schedule;

#[derive(Debug)]
pub(crate) struct PatternPlan {
    pub(crate) root: PatternNode,
    /// How many tags a match has.
    pub(crate) tags: usize,
}

#[derive(Debug)]
pub(crate) enum PatternNode {
    Every(Box<PatternNode>),
    Not(Box<PatternNode>),
    And(Vec<PatternNode>),
    Or(Vec<PatternNode>),
    FollowedBy(Vec<PatternNode>),
    Event {
        /// Number of the tag under which the event is kept.
        tag: Option<u16>,
        /// Place among the module's streams.
        stream: usize,
        /// What was matched so far is source 0, by its tags; the event in question is source 1.
        filter: Option<Expression>,
    },
    Interval(Duration),
    At(Schedule),
}
