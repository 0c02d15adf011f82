//! The body of a request on its way to a microservice: forwarded as it arrives, and no faster than the service takes
//! it.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::http::header;
use actix_web::rt::task::JoinHandle;
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::http::body::Incoming;

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(super) struct Running(JoinHandle<()>);

impl Running {
    pub(super) fn start(task: impl Future<Output = ()> + 'static) -> Self {
        Self(actix_web::rt::spawn(task))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of a request to a microservice.
#[derive(Debug)]
pub(super) enum Upload {
    /// The request has no body.
    None,
    /// The body that the client sends.
    Stream {
        /// The parts of the body; `None` marks the end. If the channel closes without it, the client disconnected.
        parts: mpsc::Receiver<Option<Bytes>>,
        /// The bytes still to come, if the client sent the length.
        left: Option<u64>,
        /// Whether the end mark arrived.
        ended: bool,
    },
}

/// The time at which the service last accepted a part of the client's body.
pub(super) type Moved = Rc<Cell<Instant>>;

impl Upload {
    /// Returns the body of a request and the task that forwards it. The HTTP parser is strict, so the headers tell
    /// reliably whether there is a body.
    pub(super) fn of(request: &HttpRequest, payload: web::Payload, moved: &Moved) -> (Self, Option<Running>) {
        let headers = request.headers();
        let announced =
            headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        if announced.is_none_or(|length| length == 0) && !headers.contains_key(header::TRANSFER_ENCODING) {
            return (Self::None, None);
        }
        let (sender, parts) = mpsc::channel(1);
        let running = Running::start(forward(Incoming::of(request, payload), sender, moved.clone()));
        (Self::Stream { parts, left: announced, ended: false }, Some(running))
    }

    /// Returns whether the length is unknown, so that the body must be sent in chunks.
    pub(super) fn is_chunked(&self) -> bool {
        matches!(self, Self::Stream { left: None, .. })
    }

    /// Returns whether there is no body, so that the request can be sent again.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

async fn forward(mut payload: Incoming, parts: mpsc::Sender<Option<Bytes>>, moved: Moved) {
    while let Some(part) = payload.next().await {
        // The client disconnected: the channel closes without an end mark.
        let Ok(part) = part else { return };
        if parts.send(Some(part)).await.is_err() {
            return;
        }
        moved.set(Instant::now());
    }
    // A receiver that is gone does not need the end mark.
    parts.send(None).await.ok();
}

/// The client disconnected in the middle of its body.
#[derive(Debug, thiserror::Error)]
#[error("the client disconnected")]
pub(super) struct ClientDisconnected;

impl Body for Upload {
    type Data = Bytes;
    type Error = ClientDisconnected;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ClientDisconnected>>> {
        let Self::Stream { parts, left, ended } = self.get_mut() else { return Poll::Ready(None) };
        if *ended {
            return Poll::Ready(None);
        }
        parts.poll_recv(cx).map(|part| match part {
            Some(Some(part)) => {
                if let Some(left) = left {
                    *left = left.saturating_sub(part.len() as u64);
                }
                Some(Ok(Frame::data(part)))
            }
            Some(None) => {
                *ended = true;
                None
            }
            None => Some(Err(ClientDisconnected)),
        })
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::None => true,
            Self::Stream { left, ended, .. } => *ended || *left == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::None => SizeHint::with_exact(0),
            Self::Stream { left: Some(left), .. } => SizeHint::with_exact(*left),
            Self::Stream { left: None, .. } => SizeHint::default(),
        }
    }
}
