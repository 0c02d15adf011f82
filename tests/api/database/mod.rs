//! Connections to an external PostgreSQL: TLS, and several hosts.

mod failover;
mod read_only;
mod tls;
