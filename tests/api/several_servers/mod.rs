//! Several servers on one database: each session hears what any server writes, once and in order.

mod agents;
mod failures;
mod modules;
mod notifications;
mod sessions;
mod stops;
