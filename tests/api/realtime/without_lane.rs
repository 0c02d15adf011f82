//! The tests of notifications whose result depends on the transport, for connections without the fast lane: what is
//! held, when a response begins and ends, its headers, its size. Rights, channels and the content of notifications are
//! the work of a session, whatever transport it has; their tests run over the fast lane and at two servers.

mod acknowledgement;
mod buffer;
mod connect;
mod endpoints;
mod errors;
mod handshake;
mod keep_alive;
mod overflow;
mod slow_clients;
mod subscribe;
mod vanished_clients;

use crate::harness::prelude::*;
