//! HTTP/1.1 over one connection after the other: what is sent, what comes back, and the server under load.

pub(crate) mod connection;
pub(crate) mod pages;
pub(crate) mod response;
pub(crate) mod stream;
pub(crate) mod target;
