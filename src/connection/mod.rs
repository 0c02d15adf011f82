//! Connections below HTTP: the byte stream, the [`handle`] by which handlers reach it, its time limits.

mod clock;
mod framing;
mod handle;
mod patience;
mod serving;
mod stream;
pub(crate) mod upgraded;

use std::time::Duration;

pub(crate) use clock::{Clock, Deadline};
pub(crate) use framing::OVERLONG;
pub(crate) use handle::{BodyIs, Connection, ConnectionHandle, FOR_A_SILENT_PEER};
pub(crate) use patience::{Pace, WriteTimeout};
pub(crate) use serving::{HandedOver, OverHttp, Serving, ToHttp};
pub(crate) use stream::Stream;

/// The time for which an idle connection is kept, long enough for devices that return every minute.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// The time within which a request head must have arrived.
pub(crate) const REQUEST_HEAD: Duration = Duration::from_secs(20);
