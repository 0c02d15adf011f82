//! What a process runs of a tenant: modules are planned together, run by one process at a time, and switched off when they ask for
//! too much.

pub(crate) mod changes;
pub(crate) mod planning;
