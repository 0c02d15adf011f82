//! State, rules and storage of the platform. This crate knows no HTTP.
//!
//! # The tree
//!
//! ```text
//! Platform                     found by the edge; not an actor
//! └── TenantActor              which children live
//!     ├── NotificationHub      who listens to what
//!     ├── DeviceActor          order of a device's writes
//!     ├── BulkAlarmUpdate      alarms that are changed together, step by step
//!     ├── BulkOperationActor   operations that are created one after the other
//!     └── SessionActor         subscriptions, queue, parked connect
//! Courier                      one per thread with sessions: brings them what they are told, wakes them
//! TenantRunner                 one per tenant whose event-processing modules this process runs
//! └── ModuleActor              statements over the tenant's live stream
//! Writer                       one per actor thread: group commit
//! Heartbeats                   one per actor thread: when devices were heard
//! Presence                     which device users are connected
//! ```
//!
//! # Reading order
//!
//! [`model`] (what there is), [`device`] (what is written), [`hub`] and [`session`] (what is told), `heartbeats`, `silence` and
//! `presence` (whether devices are there), then the parts they stand on: `writer`, [`store`], [`bayeux`].
//!
//! # Message rules
//!
//! - Look-up is a table read ([`registry`]), birth is a message to the tenant.
//! - Handlers that write return `AtomicResponse`: one message of a device is handled after the other.
//! - `send` towards actors that write; `do_send` only towards actors that never await (hub, courier, session, heartbeats, presence).
//! - A crash means forget and reload: memory is a cache, PostgreSQL is the truth.
//! - Every write carries its premise in SQL. When it no longer holds, the actor reloads and decides once more.

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
