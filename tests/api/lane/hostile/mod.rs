//! Bytes that no client library sends. The fast lane must treat them like the common transport: both reject the same
//! requests and find the same boundaries between requests.

mod heads;
mod lengths;
mod lines;
mod pipelining;
mod protocols;
mod splits;

use super::*;
