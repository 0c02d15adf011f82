//! The body of a request on its way to a microservice: passed on as it comes, and no faster than it is taken.

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

/// A task that ends with who holds this.
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

/// What a microservice is sent behind the head.
#[derive(Debug)]
pub(super) enum Upload {
    /// Nothing.
    None,
    /// What comes from the client.
    Stream {
        /// `None` ends it; without that it broke off.
        parts: mpsc::Receiver<Option<Bytes>>,
        /// Bytes that are still to come, when the client said how many.
        left: Option<u64>,
        /// Whether the end came.
        ended: bool,
    },
}

/// When the client's body last moved.
pub(super) type Moved = Rc<Cell<Instant>>;

impl Upload {
    /// The body of a request, and what passes it on. HTTP has been read strictly, so the headers say truly whether there is one.
    pub(super) fn of(request: &HttpRequest, payload: web::Payload, moved: &Moved) -> (Self, Option<Running>) {
        let headers = request.headers();
        let announced =
            headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        if announced.is_none_or(|length| length == 0) && !headers.contains_key(header::TRANSFER_ENCODING) {
            return (Self::None, None);
        }
        let (sender, parts) = mpsc::channel(1);
        let running = Running::start(pass_on(Incoming::of(request, payload), sender, moved.clone()));
        (Self::Stream { parts, left: announced, ended: false }, Some(running))
    }

    /// Whether its length is unknown, so that it must be sent in chunks.
    pub(super) fn is_chunked(&self) -> bool {
        matches!(self, Self::Stream { left: None, .. })
    }

    /// Whether there is no body, so that the request can be sent once more.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

async fn pass_on(mut payload: Incoming, parts: mpsc::Sender<Option<Bytes>>, moved: Moved) {
    while let Some(part) = payload.next().await {
        // A client that broke off: the channel closes without an end.
        let Ok(part) = part else { return };
        if parts.send(Some(part)).await.is_err() {
            return;
        }
        moved.set(Instant::now());
    }
    // Who does not wait for the end does not need it.
    parts.send(None).await.ok();
}

/// The client went away in the middle of its body.
#[derive(Debug, thiserror::Error)]
#[error("the client broke off")]
pub(super) struct BrokenOff;

impl Body for Upload {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
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
            None => Some(Err(BrokenOff)),
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
