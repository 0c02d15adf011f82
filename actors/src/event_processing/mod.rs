//! Event-processing modules in operation: their deployment, their actors and what they write
//! (docs/rules.md#event-processing-modules; ). The language itself is the crate `platform-epl`.
//!
//! # Reading order
//!
//! [`deployment`] decides which modules this process runs, [`feed`] delivers committed changes to them,
//! [`module_actor`] runs one of them, [`look_ups`] reads what a statement asks for, [`writes`] carries out what it
//! creates; [`requests`] defines the requests that it sends to other servers.

pub(crate) mod deployment;
pub(crate) mod look_ups;
pub(crate) mod module_actor;
pub(crate) mod requests;
pub(crate) mod writes;

pub use requests::{OutboundRequest, OutboundResponse, RESERVED_HEADERS};
