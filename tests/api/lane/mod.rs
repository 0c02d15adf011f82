//! The fast lane only saves cost: a client gets the same responses with and without it.
//!
//! [`Pair`] is two servers on one database, of which one has the lane. [`corpus`] is what clients send, [`hostile`]
//! what they should not; the other files are about what a connection does over time.

mod corpus;
mod data;
mod direct;
mod early_refusals;
mod endings;
mod flawed_heads;
mod framing;
mod fuzzed_refusals;
mod half_closed;
mod hostile;
mod old_clients;
mod order;
pub(crate) mod pair;
pub(crate) mod responses;
pub(crate) mod sample;
mod slow_readers;
mod slow_senders;
mod stop;
mod upgrade_offers;

use crate::harness::prelude::*;
