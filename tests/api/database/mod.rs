//! The connections to a PostgreSQL of the operator: TLS, and several hosts.

mod failover;
mod read_only;
mod tls;
