//! One event or one timer on its way through the statements: what they see of the module, and where they leave what they make.

use std::sync::Arc;

use super::{Fault, Retained, Scope, World};
use crate::event_processing::stream::{Depth, Row, StreamEvent};
use crate::event_processing::value::Value;

/// A row that was made.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) row: Arc<Row>,
    /// What is inserted: the row, or the event that is passed on.
    pub(super) event: StreamEvent,
}

/// What set a statement going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// An event, so far from what clients did.
    Event(Depth),
    /// The time: what follows is a beginning.
    Timer,
}

/// A statement at work.
pub(super) struct Step<'a> {
    pub(super) world: &'a World<'a>,
    pub(super) cause: Cause,
    /// How many statements may be in a chain.
    pub(super) chain: u8,
    pub(super) retained: &'a mut Retained,
    pub(super) made: &'a mut Vec<Made>,
    pub(super) faults: &'a mut Vec<Fault>,
}

/// Faults of one kind that are told of one statement and event; the rest would say the same.
const FAULTS: usize = 10;

impl<'a> Step<'a> {
    pub(super) fn scope<'s>(&'s self, sources: [Option<&'s StreamEvent>; 2], keys: &'s [Value]) -> Scope<'s> {
        Scope { sources, aggregates: &[], keys, world: self.world }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS {
            self.faults.push(fault);
        }
    }

    /// The value, or none and a fault.
    pub(super) fn checked<T>(&mut self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.fault(fault)).ok()
    }

    /// Whether nothing may be evaluated any more.
    pub(super) fn is_spent(&self) -> bool {
        self.world.evaluations.get() == 0
    }

    /// How deep a row is that is made of these.
    ///
    /// # Errors
    /// When the chain it is in is too long.
    pub(super) fn depth_of(&self, sources: [Option<&StreamEvent>; 2]) -> Result<Depth, Fault> {
        let mut depth = match self.cause {
            Cause::Timer => Depth::default(),
            Cause::Event(depth) => {
                sources.into_iter().flatten().map(StreamEvent::depth).fold(depth, Depth::max)
            }
        };
        depth.statements = depth.statements.saturating_add(1);
        if depth.statements > self.chain {
            return Err(Fault::new(format!(
                "statements feed each other more than {} times in a row",
                self.chain
            )));
        }
        Ok(depth)
    }
}
