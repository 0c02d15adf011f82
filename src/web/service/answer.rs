//! The body of a microservice's response on its way to the client: forwarded as it arrives, and no faster than the
//! client takes it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use tokio::time::{Instant, Sleep, sleep};

use super::calls::Call;
use super::patience::Patience;
use super::upload::Running;

/// The body of the response. Dropping it closes the connection to the service, because the rest is not needed then.
pub(super) struct ResponseBody {
    incoming: Incoming,
    size: BodySize,
    patience: Patience,
    silence: Pin<Box<Sleep>>,
    /// The client may still be sending its request body while the service responds.
    _upload: Option<Running>,
    _call: Call,
}

impl ResponseBody {
    /// Creates the body. `to_head` says whether the request was a HEAD, whose response has a length and no body.
    pub(super) fn new(
        response: hyper::Response<Incoming>,
        to_head: bool,
        patience: Patience,
        upload: Option<Running>,
        call: Call,
    ) -> Self {
        let size = if to_head {
            announced(response.headers())
        } else {
            response.body().size_hint().exact().map_or(BodySize::Stream, BodySize::Sized)
        };
        let silence = Box::pin(sleep(patience.with_part()));
        Self { incoming: response.into_body(), size, patience, silence, _upload: upload, _call: call }
    }
}

fn announced(headers: &HeaderMap) -> BodySize {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    length.map_or(BodySize::None, BodySize::Sized)
}

/// The reason why a response ends early. The client's connection is then closed in the middle of the body, so that
/// the client does not take the part for the whole.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResponseAborted {
    #[error("the microservice aborted its response: {0}")]
    Off(#[from] hyper::Error),
    #[error("the microservice sent nothing more of its response for {0:?}")]
    Silent(Duration),
}

impl MessageBody for ResponseBody {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        loop {
            match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let next = Instant::now() + self.patience.with_part();
                    self.silence.as_mut().reset(next);
                    // Trailers are dropped, because the head of the response announced none. An empty part would
                    // end the response.
                    if let Ok(part) = frame.into_data()
                        && !part.is_empty()
                    {
                        return Poll::Ready(Some(Ok(part)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(ResponseAborted::Off(error).into())));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    // The timeout may have become shorter.
                    let patience = self.patience.with_part();
                    let latest = Instant::now() + patience;
                    if latest < self.silence.deadline() {
                        self.silence.as_mut().reset(latest);
                    }
                    let silent = ResponseAborted::Silent(patience);
                    return self.silence.as_mut().poll(cx).map(|()| Some(Err(silent.into())));
                }
            }
        }
    }
}
