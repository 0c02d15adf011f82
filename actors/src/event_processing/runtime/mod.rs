//! A deployed module at work: a state machine without clock, thread or database.
//!
//! It is fed with what happens and with the time, in milliseconds since 1970, which never goes back; what it wants done comes out as
//! [`Effect`]s. So a test drives it by hand, and the same events at the same times give the same output.

mod accounts;
mod aggregates;
mod dispatch;
mod engine;
mod evaluate;
mod forwarded;
mod functions;
mod groups;
mod instance;
mod join;
mod join_conditions;
mod named_windows;
mod output_rate;
mod partitions;
mod pattern;
mod properties;
mod rate_limited;
mod results;
mod routes;
mod schedule;
mod scope;
mod statement;
mod step;
mod switching_off;
#[cfg(test)]
mod tests;
mod timers;
mod triggers;
mod views;

use std::fmt;
use std::sync::Arc;

pub(crate) use engine::Runtime;
pub(crate) use scope::{Scope, World};
pub(crate) use switching_off::{Excess, OffCause};

use super::plan::expression::Finder;
use super::stream::{Depth, OutputStream, Row};
use super::value::Value;

/// What a module wants done.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// Tell the row on the channel of the statement. The statement by its place in the module.
    Tell { statement: usize, row: Arc<Row> },
    /// Write to the platform, or send something.
    Perform { statement: usize, stream: OutputStream, row: Arc<Row>, depth: Depth },
    /// Hand the row to other modules that read this stream.
    Forward { stream: Arc<str>, row: Arc<Row> },
}

/// Something that went wrong while a statement ran; its other events and the other statements go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) Arc<str>);

impl Fault {
    pub(crate) fn new(message: impl Into<Arc<str>>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What came out of a step.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// In the order they were made.
    pub(crate) effects: Vec<Effect>,
    /// By the place of the statement.
    pub(crate) faults: Vec<(usize, Fault)>,
    /// Statements that were switched off, by their place.
    pub(crate) off: Vec<(usize, OffCause)>,
}

/// The one way from expressions to the store. It may wait, so a module that looks up runs where that is allowed.
pub(crate) trait LookUps {
    /// # Errors
    /// A [`Fault`] when the store cannot be read, or `One` finds none or several.
    fn find(&self, finder: &Finder, arguments: &[Value]) -> Result<Value, Fault>;
}

/// What a module may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// What windows, patterns, groups and partitions may retain, all together.
    pub(crate) retained: Retained,
    /// Expressions evaluated for one event or timer.
    pub(crate) evaluations: u64,
    /// Statements, one feeding the other, that one event may set going.
    pub(crate) chain: u8,
    /// Timers that go off in one step; the rest waits for the next.
    pub(crate) timers: usize,
}

/// What is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Retained {
    /// An event counts once for each window that holds it, a row that waits for an output and a pattern under way count one each.
    /// Groups and partitions count by their bytes: a hundred events of each of a thousand devices are a hundred thousand.
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

impl Retained {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.events += 1;
        self.bytes += bytes;
    }

    pub(crate) fn remove(&mut self, bytes: usize) {
        self.events -= 1;
        self.bytes -= bytes;
    }

    /// Whether it is more than may be.
    pub(crate) fn exceeds(self, most: Self) -> bool {
        self.events > most.events || self.bytes > most.bytes
    }

    /// What a part of it was is now something else.
    fn replace(&mut self, before: Self, after: Self) {
        self.events = (self.events + after.events).saturating_sub(before.events);
        self.bytes = (self.bytes + after.bytes).saturating_sub(before.bytes);
    }
}
