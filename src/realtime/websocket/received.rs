//! The frames that the peer of a WebSocket sends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_codec::Decoder;
use actix_http::ws::{Codec, Frame, ProtocolError};
use actix_web::web::Payload;
use bytes::BytesMut;
use futures_util::Stream;

/// The frames in the payload of an upgraded request. No memory is kept for bytes while none is waiting, because most
/// sockets send a few messages and then listen for hours.
pub(super) struct ReceivedFrames {
    payload: Payload,
    codec: Codec,
    /// The bytes that are not decoded yet.
    unread: BytesMut,
}

impl ReceivedFrames {
    /// `frame_bytes` is the size limit of a frame.
    pub(super) fn new(payload: Payload, frame_bytes: usize) -> Self {
        Self { payload, codec: Codec::new().max_size(frame_bytes), unread: BytesMut::new() }
    }

    fn decode(&mut self) -> Result<Option<Frame>, ProtocolError> {
        let frame = self.codec.decode(&mut self.unread);
        if self.unread.is_empty() {
            self.unread = BytesMut::new();
        }
        frame
    }
}

impl Stream for ReceivedFrames {
    type Item = Result<Frame, ProtocolError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(frame) = self.decode().transpose() {
                return Poll::Ready(Some(frame));
            }
            match ready!(Pin::new(&mut self.payload).poll_next(cx)) {
                Some(Ok(bytes)) if self.unread.is_empty() => self.unread = bytes.into(),
                Some(Ok(bytes)) => self.unread.extend_from_slice(&bytes),
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(io::Error::other(error.to_string()).into())));
                }
                None => return Poll::Ready(None),
            }
        }
    }
}
