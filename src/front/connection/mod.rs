//! Connections below HTTP: the byte stream, the [`handle`] by which handlers reach it, its time limits.

mod clock;
mod discard;
mod framing;
mod handle;
mod patience;
mod serving;
mod stream;
pub mod upgraded;

use std::time::Duration;

use actix_http::header::HeaderName;

pub use clock::{Clock, Deadline};
pub use discard::Discard;
pub use framing::{Flaw, HEAD_BYTES, HEADERS, REPLACED, TARGET_BYTES};
pub use handle::{BodyIs, Connection, ConnectionHandle, FOR_A_SILENT_PEER};
pub use patience::{Pace, Terms, at_stop};
pub use serving::{HandedOver, OverHttp, Serving, ToHttp, Why};
pub use stream::Stream;

/// The time for which an idle connection is kept, long enough for devices that return every minute.
pub const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// The header by which a response announces [`KEEP_ALIVE`], so that clients do not use a connection that is about to be
/// closed (B-21c).
pub const KEPT: HeaderName = HeaderName::from_static("keep-alive");
/// The value of [`KEPT`].
pub const KEEP_ALIVE_TIMEOUT: &str = "timeout=75";
/// The time within which a request head must have arrived.
pub const REQUEST_HEAD: Duration = Duration::from_secs(20);
