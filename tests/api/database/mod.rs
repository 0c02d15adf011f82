//! Connections to an external PostgreSQL: TLS, and several hosts; what clients see of its troubles; and the schema.

mod access;
mod failover;
mod full_queue;
mod read_only;
mod sides;
mod tls;

use crate::harness::prelude::*;
