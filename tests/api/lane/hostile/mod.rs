//! Bytes that no client library sends. The verdict is that of the common transport: what is refused there is refused here,
//! and nothing is taken for two requests, or for part of one, by the one and not by the other.

mod heads;
mod lengths;
mod lines;
mod pipelining;
mod protocols;
mod splits;
