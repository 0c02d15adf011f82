//! Event-processing modules: statements over a tenant's live stream (docs/rules.md#event-processing-modules; ).
//!
//! # Reading order
//!
//! [`language`] makes a tree of a text, or says where it is wrong; [`plan`] resolves names and types against the streams of the
//! tenant and makes a plan of the tree; [`runtime`] executes a plan: a state machine without clock, thread or database, fed with
//! events and the time. [`stream`] and [`value`] are what flows through it. [`feed`] brings it what was committed; [`requests`] is
//! what leaves it for other servers.

pub(crate) mod deployment;
#[cfg(test)]
mod documentation;
pub(crate) mod feed;
pub(crate) mod language;
pub(crate) mod look_ups;
pub(crate) mod module_actor;
pub(crate) mod plan;
pub(crate) mod requests;
pub(crate) mod runtime;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod stream;
pub(crate) mod value;
pub(crate) mod writes;

pub use requests::{OutboundRequest, OutboundResponse, RESERVED_HEADERS};
