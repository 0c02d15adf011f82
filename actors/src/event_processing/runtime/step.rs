//! One event or one timer on its way through the statements: what they see of the module, and where they leave what they make.

use std::sync::Arc;

use super::{Fault, Retained, Scope, World};
use crate::event_processing::plan::ViewPlan;
use crate::event_processing::plan::expression::Expression;
use crate::event_processing::stream::{Depth, Row, StreamEvent};
use crate::event_processing::value::{Key, Value};

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

/// Bytes of a key of a unique view or of a join: it is kept with each event.
const KEY: usize = 4096;

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

    /// The key of an event among those that are told apart by expressions; none when it cannot be had.
    pub(super) fn key(
        &mut self,
        expressions: &[Expression],
        sources: [Option<&StreamEvent>; 2],
        keys: &[Value],
    ) -> Option<Key> {
        let scope = self.scope(sources, keys);
        let values: Result<Vec<_>, _> =
            expressions.iter().map(|expression| expression.evaluate(&scope)).collect();
        let values = values.and_then(|values| {
            let bytes: usize = values.iter().map(|value| value.size().bytes).sum();
            if bytes > KEY {
                return Err(Fault::new(format!("a key is larger than {KEY} bytes")));
            }
            Ok(Key(values))
        });
        self.checked(values)
    }

    /// The key of an event in a view: none inside where the view is not unique, none at all when it cannot be had.
    pub(super) fn key_in(
        &mut self,
        view: Option<&ViewPlan>,
        event: &StreamEvent,
        keys: &[Value],
    ) -> Option<Option<Key>> {
        match view {
            Some(ViewPlan::Unique(expressions)) => self.key(expressions, [Some(event), None], keys).map(Some),
            _ => Some(None),
        }
    }

    /// Whether a filter, if there is one, lets an event through; not when it cannot be asked.
    pub(super) fn passes(
        &mut self,
        filter: Option<&Expression>,
        event: &StreamEvent,
        keys: &[Value],
    ) -> bool {
        let Some(filter) = filter else { return true };
        let passes = filter.is_true(&self.scope([Some(event), None], keys));
        self.checked(passes).unwrap_or(false)
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
