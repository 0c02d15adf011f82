//! Event-processing modules: statements over a tenant's live event stream
//! (docs/rules.md#event-processing-modules; ).
//!
//! # Reading order
//!
//! [`language`] parses the text of a module into a syntax tree, or reports where it is invalid; [`plan`]
//! resolves names and types against the streams of the tenant and turns the tree into a plan; [`runtime`]
//! executes a plan: it is a state machine without clock, thread or database that receives events and the
//! current time. [`stream`] and [`value`] define the data that flows through it. [`feed`] delivers committed
//! changes to it; [`requests`] defines the requests that it sends to other servers.

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
