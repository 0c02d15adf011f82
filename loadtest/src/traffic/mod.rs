//! The traffic of a run: posts and the times at which they are due, the clients that receive notifications, and the
//! comparison with what is stored.

pub(crate) mod audience;
pub(crate) mod poster;
pub(crate) mod read_back;
pub(crate) mod schedule;
