//! The actors of the platform. This crate knows neither HTTP nor SQL: the nouns are in `platform-model`, the queries in
//! `platform-store`, the event-processing language in `platform-epl`.
//!
//! # The tree
//!
//! ```text
//! Platform                     used by the HTTP layer; not an actor. It creates each tenant with its tables
//! ├── NotificationHub          one per tenant: which sessions subscribed to which channels; not an actor
//! ├── TenantActor              one per tenant: starts its devices
//! │   └── DeviceActor          the order of a device's writes
//! ├── BulkAlarmUpdate          changes many alarms, step by step
//! └── BulkOperationActor       creates the operations of a bulk operation, one after the other
//! SessionDispatcher            one per thread with sessions: delivers notifications, wakes sessions
//! └── SessionActor             subscriptions, queue, parked connect
//! ConsumerReaders              one per tenant: who reads its consumers at this server; not an actor
//! TenantRunner                 one per tenant whose event-processing modules this process runs
//! └── ModuleActor              runs statements over the tenant's live stream
//! Writer                       one per actor thread: group commit
//! Heartbeats                   one per actor thread: writes the time of each device's last message
//! Presence                     which device users are connected
//! ```
//!
//! # Reading order
//!
//! [`device`] (writes), [`hub`] and [`session`] (notifications), [`background`] (availability of devices, bulk work),
//! [`event_processing`] (modules).
//!
//! # Message rules
//!
//! - Finding an actor is a table read ([`registry`]); a device is started by a message to the tenant, a session by the
//!   thread of its connection.
//! - Handlers that write return `AtomicResponse`, so a device handles one message after the other.
//! - Use `send` to actors that write, and `do_send` only to actors that never await (dispatcher, session, heartbeats,
//!   presence).
//! - After a crash an actor starts again from the database: memory is a cache, PostgreSQL is the truth.
//! - Every write carries its condition in SQL. If it no longer holds, the actor reloads and decides again.

pub mod background;
pub mod consumers;
pub mod device;
pub mod event_processing;
mod feed;
mod heartbeats;
pub mod hub;
pub mod metrics;
pub mod platform;
pub mod registry;
pub mod server_key_hasher;
pub mod session;
mod session_moves;
mod small_map;
mod tables;
pub mod tenant;
mod tenant_alarms;
mod traces;
pub mod writes;

pub use platform::{
    BulkProgress, Changed, DiagnosisRequest, FailedRequest, FoundRecords, FoundSessions, Holders, Names,
    Platform, Pulled, Refusal, Tenant, WantedSessions,
};
pub use session::NewSession;
pub use session_moves::OwnerElsewhere;
