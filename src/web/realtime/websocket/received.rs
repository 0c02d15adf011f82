//! The frames that the peer of a WebSocket sends, and the messages that they contain.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use actix::prelude::*;
use actix_codec::Decoder;
use actix_http::ws::{Codec, Frame, Item, ProtocolError};
use actix_web::web::Payload;
use actix_web_actors::ws::{CloseCode, Message, WebsocketContext};
use bytes::BytesMut;
use futures_util::Stream;

use super::{WebSocket, close};

/// The decoded frames of an upgraded request. A socket that waits for bytes keeps no buffer, because most sockets send
/// a few messages and then only receive for hours.
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

/// The context requires a stream; this one is empty, and its end does not stop the socket.
impl StreamHandler<Result<Message, ProtocolError>> for WebSocket {
    fn handle(&mut self, _: Result<Message, ProtocolError>, _: &mut Self::Context) {}

    fn finished(&mut self, _: &mut Self::Context) {}
}

impl StreamHandler<Result<Frame, ProtocolError>> for WebSocket {
    fn handle(&mut self, frame: Result<Frame, ProtocolError>, ctx: &mut Self::Context) {
        self.heard = Instant::now();
        match frame {
            Ok(Frame::Text(text)) if str::from_utf8(&text).is_ok() => self.process(text, ctx),
            Ok(Frame::Text(_)) => close(ctx, CloseCode::Protocol, "protocol error"),
            Ok(Frame::Continuation(item)) => self.join(item, ctx),
            Ok(Frame::Ping(payload)) => ctx.pong(&payload),
            Ok(Frame::Pong(_)) => {}
            Ok(Frame::Binary(_)) => close(ctx, CloseCode::Unsupported, "text frames only"),
            Ok(Frame::Close(reason)) => {
                ctx.close(reason);
                ctx.stop();
            }
            Err(ProtocolError::Overflow) => close(ctx, CloseCode::Size, "message too large"),
            Err(_) => close(ctx, CloseCode::Protocol, "protocol error"),
        }
    }
}

impl WebSocket {
    /// Joins the frames of one message, up to the size limit of a message.
    fn join(&mut self, item: Item, ctx: &mut WebsocketContext<Self>) {
        let (part, last) = match item {
            Item::FirstText(part) => {
                self.fragments = Some(BytesMut::new());
                (part, false)
            }
            Item::Continue(part) => (part, false),
            Item::Last(part) => (part, true),
            Item::FirstBinary(_) => return close(ctx, CloseCode::Unsupported, "text frames only"),
        };
        let Some(joined) = &mut self.fragments else {
            return close(ctx, CloseCode::Protocol, "continuation of nothing");
        };
        if joined.len() + part.len() > self.realtime.platform.limits().bayeux_bytes {
            return close(ctx, CloseCode::Size, "message too large");
        }
        joined.extend_from_slice(&part);
        if last && let Some(joined) = self.fragments.take() {
            self.process(joined.freeze(), ctx);
        }
    }
}
