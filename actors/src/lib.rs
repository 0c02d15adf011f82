//! State, rules and storage of the platform. This crate knows no HTTP.
//!
//! # The tree
//!
//! ```text
//! Platform                     entry point of the HTTP crate; not an actor
//! └── TenantActor              the registry of a tenant's actors
//!     ├── NotificationHub      the subscriptions of all sessions by channel
//!     ├── DeviceActor          the order of a device's writes
//!     ├── BulkAlarmUpdate      a bulk update of alarms, step by step
//!     ├── BulkOperationActor   operations that are created one after the other
//!     └── SessionActor         subscriptions, queue, parked connect
//! Courier                      one per thread with sessions: dispatches notifications to them and wakes them
//! TenantRunner                 one per tenant whose event-processing modules this process runs
//! └── ModuleActor              statements over the tenant's live stream
//! Writer                       one per actor thread: group commit
//! Heartbeats                   one per actor thread: when devices were last heard
//! Presence                     the device users that are connected
//! ```
//!
//! # Reading order
//!
//! [`model`] (the data), [`device`] (writes), [`hub`] and [`session`] (notifications), `heartbeats`, `silence` and
//! `presence` (the availability of devices), and then the foundations: `writer`, [`store`], [`bayeux`].
//!
//! # Message rules
//!
//! - Looking up an actor is a table read ([`registry`]); starting one is a message to the tenant.
//! - Handlers that write return `AtomicResponse`, so the messages of a device are handled one after the other.
//! - `send` is for actors that write; `do_send` is only for actors that never await (hub, courier, session, heartbeats, presence).
//! - A crash means to drop the state and reload it: memory is a cache, PostgreSQL is the truth.
//! - Every write carries its conditions in SQL. When they no longer hold, the actor reloads and decides again.

pub mod abandoned_uploads;
pub mod bayeux;
mod bulk_alarm_update;
mod bulk_operation;
pub mod bulk_registration;
mod courier;
pub mod device;
pub mod error;
pub mod event_processing;
mod few;
mod heartbeats;
pub mod hub;
mod leases;
pub mod limits;
pub mod metrics;
pub mod model;
pub mod naming;
pub mod own_keys;
pub mod platform;
mod presence;
pub mod registry;
pub mod session;
mod silence;
pub mod store;
pub mod tenant;
mod writer;

pub use error::{Error, Noun, Result};
pub use platform::{BulkProgress, Changed, Holders, Names, Platform, Tenant};
pub use tenant::NewSession;
