//! The process of the server: what it uses, and how it is started and stopped.

pub(crate) mod child;
pub(crate) mod process;
