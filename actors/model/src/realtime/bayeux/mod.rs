//! The Bayeux protocol as text: messages, replies, advice, error strings (docs/rules.md#real-time-notifications; B-01
//! to B-24).
//!
//! This module is pure: it has no sessions, actors or sockets.

pub mod channel;
pub mod reply;
pub mod request;
pub mod snapshot;
pub mod subscription;

pub use channel::{Channel, FamilyChannel, GroupChannel, GroupForm, Pattern, Resource};
pub use reply::{Advice, Reconnect, Reply};
pub use request::{Batch, HandshakeCredentials, RequestMessage};
pub use snapshot::{SnapshotList, SnapshotRequest};
pub use subscription::Subscription;

/// Error strings (B-14).
pub mod error {
    /// The clientId is unknown, has expired or belongs to another user.
    pub const UNKNOWN_CLIENT: &str = "402::Unknown client";
    /// The session exists, but cannot be used at the moment (B-16a).
    pub const NOT_NOW: &str = "503::The session is not available at the moment";
    /// The credentials are missing or wrong, the user has too many sessions, or the system of units is unknown.
    pub const HANDSHAKE_DENIED: &str = "403::Handshake denied";
    /// The caller may not subscribe to this channel, or has too many subscriptions.
    pub const SUBSCRIBE_DENIED: &str = "403::subscribe_denied";
    /// The member `subscription` is absent.
    pub const SUBSCRIPTION_MISSING: &str = "403::subscription_missing";
    /// The member `subscription` names no channel of this endpoint.
    pub const SUBSCRIPTION_INVALID: &str = "403::subscription_invalid";
    /// The member `channel` is absent.
    pub const CHANNEL_MISSING: &str = "400::channel missing";
    /// Clients must not publish.
    pub const PUBLISH_DENIED: &str = "403::publish denied";
    /// Client and server have no connection type in common (B-08).
    pub const NO_CONNECTION_TYPE: &str = "403::no supported connection type";
}

/// The member of `ext` about the named consumer whose notifications a session delivers.
pub const CONSUMER_EXTENSION: &str = "com.platform.consumer";

/// The member of `ext` with the filter of a subscription (B-35).
pub const FILTER_EXTENSION: &str = "com.platform.filter";

/// The connection types that this server supports, in the order in which they are offered.
pub const CONNECTION_TYPES: [&str; 2] = ["websocket", "long-polling"];
