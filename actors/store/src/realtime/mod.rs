//! Servers send each other publications, announcements of changes and sessions that move, all of them with signatures.
//! This room also has the list of servers and the connection on which each of them listens.

pub mod announcements;
pub mod consumers;
pub mod journal;
pub(crate) mod panics;
pub(crate) mod pauses;
pub mod publications;
pub mod servers;
pub mod session_moves;
pub mod signatures;
pub mod watch;
