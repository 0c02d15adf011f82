//! The runtime of a deployed module: a state machine without clock, thread or database.
//!
//! Its input is events and the time, in milliseconds since 1970, which never goes back; its output is [`Effect`]s. So
//! a test drives it by hand, and the same events at the same times give the same output.

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
mod join_sides;
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

use platform_model::limits::Limits;
use std::fmt;
use std::sync::Arc;

pub use engine::Runtime;
use platform_model::origin::Depth;
pub use scope::{Scope, World};
pub use switching_off::{Excess, OffCause};

use super::plan::expression::Finder;
use super::stream::{OutputStream, Row};
use super::value::Value;

/// An effect that a module requests.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Publish the row on the channel of the statement.
    Publish {
        /// The position of the statement in the module.
        statement: usize,
        /// The row that the statement produced.
        row: Arc<Row>,
    },
    /// Write to the platform, or send a request or message.
    Perform {
        /// The position of the statement in the module.
        statement: usize,
        /// The output stream, which determines what is written or sent.
        stream: OutputStream,
        /// The properties of what is created, changed or sent.
        row: Arc<Row>,
        /// The depth of the consequences.
        depth: Depth,
    },
    /// Forward the row to other modules that read this stream.
    Forward {
        /// The name of the stream.
        stream: Arc<str>,
        /// The row that the statement inserted.
        row: Arc<Row>,
    },
}

/// An error while a statement ran; its other events and the other statements are processed normally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub Arc<str>);

impl Fault {
    /// Creates a fault with a message for the author of the module.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The result of a step.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The effects, in the order they were made.
    pub effects: Vec<Effect>,
    /// The faults, with the positions of their statements.
    pub faults: Vec<(usize, Fault)>,
    /// The statements that were switched off, by their positions.
    pub off: Vec<(usize, OffCause)>,
}

/// The only access of expressions to the store. A look-up may block, so a module that uses them runs on a thread where
/// that is allowed.
pub trait LookUps {
    /// # Errors
    /// A [`Fault`] when the store cannot be read, or `One` finds none or several.
    fn find(&self, finder: &Finder, arguments: &[Value]) -> Result<Value, Fault>;
}

/// The limits of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The maximum that windows, patterns, groups and partitions may retain together.
    pub retained: Retained,
    /// The number of expressions that may be evaluated for one event or timer.
    pub evaluations: u64,
    /// The number of statements, one feeding the next, that one event may trigger.
    pub chain: u8,
    /// The number of timers that fire in one step; the others wait for the next.
    pub timers: usize,
}

impl Budget {
    /// Returns what the settings of the server allow.
    pub fn of(limits: &Limits) -> Self {
        let retained = Retained { events: limits.module_events, bytes: limits.module_bytes };
        Self { retained, evaluations: 1_000_000, chain: 64, timers: 1000 }
    }
}

/// The size of the state in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retained {
    /// An event counts once for each window that holds it; a row that waits for an output and an active pattern
    /// instance count one each. Groups and partitions count by their bytes only: a hundred events of each of a
    /// thousand devices are a hundred thousand.
    pub events: usize,
    /// The approximate size of everything that is retained.
    pub bytes: usize,
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

    /// Returns whether this exceeds a maximum.
    pub fn exceeds(self, most: Self) -> bool {
        self.events > most.events || self.bytes > most.bytes
    }

    /// Replaces the contribution of one part: `before` by `after`.
    fn replace(&mut self, before: Self, after: Self) {
        self.events = (self.events + after.events).saturating_sub(before.events);
        self.bytes = (self.bytes + after.bytes).saturating_sub(before.bytes);
    }
}
