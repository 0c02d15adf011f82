//! One event or one timer as the statements handle it: the parts of the module that they see, and the place for their
//! results.

use std::sync::Arc;

use platform_model::origin::Depth;

use super::{Fault, Retained, Scope, World};
use crate::plan::ViewPlan;
use crate::plan::expression::Expression;
use crate::value::{Key, Row, StreamEvent, Value};

/// A row that a statement made.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) row: Arc<Row>,
    /// The event to insert: the row, or the event that is passed on unchanged.
    pub(super) event: StreamEvent,
}

/// The cause that triggered a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// An event, at this depth from the request of a client.
    Event(Depth),
    /// A timer, which begins a new chain.
    Timer,
}

/// The handling of an event or timer by one statement.
pub(super) struct Step<'a> {
    pub(super) world: &'a World<'a>,
    pub(super) cause: Cause,
    /// The maximum number of statements in a chain.
    pub(super) chain: u8,
    pub(super) retained: &'a mut Retained,
    pub(super) made: &'a mut Vec<Made>,
    pub(super) faults: &'a mut Vec<Fault>,
}

/// The number of faults that are reported per statement and event; more would be repetitive.
const FAULTS: usize = 10;

/// The maximum size, in bytes, of a key of a unique view or of a join: it is kept with each event.
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

    /// Returns the value, or records the fault and returns none.
    pub(super) fn checked<T>(&mut self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.fault(fault)).ok()
    }

    /// Returns the key of an event that the expressions define; none when it cannot be evaluated.
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

    /// Returns the key of an event in a view: `Some(None)` where the view is not unique, `None` when it cannot be
    /// evaluated.
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

    /// Returns whether a filter, if there is one, admits an event; a filter that fails does not.
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

    /// Returns whether the budget of evaluations is used up.
    pub(super) fn is_spent(&self) -> bool {
        self.world.evaluations.get() == 0
    }

    /// Returns the depth of a row that is made from these events.
    ///
    /// # Errors
    /// A [`Fault`] when its chain is too long.
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
