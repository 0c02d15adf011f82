//! The event-processing language (docs/rules.md#event-processing-modules; ): statements over a tenant's
//! live event stream.
//!
//! # Reading order
//!
//! [`language`] parses the text of a module into a syntax tree, or reports where it is invalid; [`plan`] resolves names
//! and types against the streams of the tenant and turns the tree into a plan; [`runtime`] executes a plan: it is a
//! state machine without clock, thread or database that receives events and the current time. [`stream`] and [`value`]
//! define the data that flows through it.

#[cfg(test)]
mod documentation;
pub mod language;
pub mod plan;
pub mod runtime;
#[cfg(test)]
mod samples;
pub mod stream;
pub mod value;
