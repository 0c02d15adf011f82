//! Connections below HTTP: the byte stream, the [`handle`] by which handlers reach it, its time limits.

mod clock;
mod discard;
mod framing;
mod handle;
mod patience;
mod serving;
mod stream;
pub(crate) mod upgraded;

use std::time::Duration;

use actix_web::http::header::HeaderName;

pub(crate) use clock::{Clock, Deadline};
pub(crate) use discard::Discard;
pub(crate) use framing::{Flaw, HEAD_BYTES, HEADERS, REPLACED, TARGET_BYTES};
pub(crate) use handle::{BodyIs, Connection, ConnectionHandle, FOR_A_SILENT_PEER};
pub(crate) use patience::{Pace, Terms, at_stop};
pub(crate) use serving::{HandedOver, OverHttp, Serving, ToHttp, Why};
pub(crate) use stream::Stream;

/// The time for which an idle connection is kept, long enough for devices that return every minute.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// The header by which a response announces [`KEEP_ALIVE`], so that clients do not use a connection that is about to be
/// closed (B-21c).
pub(crate) const KEPT: HeaderName = HeaderName::from_static("keep-alive");
/// The value of [`KEPT`].
pub(crate) const KEEP_ALIVE_TIMEOUT: &str = "timeout=75";
/// The time within which a request head must have arrived.
pub(crate) const REQUEST_HEAD: Duration = Duration::from_secs(20);
