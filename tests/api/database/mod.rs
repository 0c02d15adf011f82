//! Connections to an external PostgreSQL: TLS, and several hosts; and what clients see of its troubles.

mod access;
mod failover;
mod full_queue;
mod read_only;
mod slow_statements;
mod tls;

use crate::harness::prelude::*;
