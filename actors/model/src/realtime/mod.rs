//! Changes on their way to clients and modules: messages of Bayeux, sessions, and what servers exchange.

pub mod bayeux;
pub mod change;
pub mod client_session;
pub mod consumer;
pub mod filter;
pub mod input_stream;
pub mod module;
pub mod publication;
pub mod session_move;
pub mod trace;
pub mod transactions;
