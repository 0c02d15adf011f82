//! Proving who asks, beside plain Basic credentials (which are in `callers`): tokens, and what guessing costs.

mod jwt;
mod open_connections;
mod throttling;
