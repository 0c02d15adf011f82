//! The bodies of posts, operations, and the protocols of notifications.

pub(crate) mod bayeux;
pub(crate) mod body;
pub(crate) mod consumer;
pub(crate) mod csv;
pub(crate) mod nchan;
pub(crate) mod object_kind;
pub(crate) mod operations;
pub(crate) mod year;
