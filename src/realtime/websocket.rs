//! Bayeux over WebSocket (B-19). This actor is a transport: it joins frames to messages, hands them to the exchange,
//! and writes what sessions give it, one frame at a time. The only user of `actix-web-actors`.

use std::time::Instant;

use actix::prelude::*;
use actix_http::ws::Item;
use actix_web::{FromRequest, HttpRequest, HttpResponse, web};
use actix_web_actors::ws::{self, CloseCode, CloseReason, Message, ProtocolError, WebsocketContext};
use bytes::{Bytes, BytesMut};
use platform_actors::bayeux::channel::Endpoint;
use platform_actors::limits::SOCKET_HANDSHAKE;
use platform_actors::session::{ClientId, Frames, SocketClosed, SocketMessage};

use super::{Exchange, Outcome, Transport};
use crate::auth::Caller;
use crate::http::authority;
use crate::http::error::{ApiError, Result};
use crate::server::Edge;

/// `GET /notification/realtime` with `Upgrade: websocket`. May come without credentials: then the handshake brings them.
///
/// # Errors
/// 401 for wrong credentials, 405 when it is no upgrade.
pub async fn realtime(request: HttpRequest, stream: web::Payload) -> Result<HttpResponse> {
    upgrade(Endpoint::Realtime, request, stream).await
}

/// `GET /notification/operations` with `Upgrade: websocket`.
///
/// # Errors
/// As [`realtime`].
pub async fn operations(request: HttpRequest, stream: web::Payload) -> Result<HttpResponse> {
    upgrade(Endpoint::Operations, request, stream).await
}

async fn upgrade(endpoint: Endpoint, request: HttpRequest, stream: web::Payload) -> Result<HttpResponse> {
    let upgrades = request.headers().contains_key("upgrade");
    let caller = match request.headers().contains_key("authorization") || !upgrades {
        true => Some(Caller::extract(&request).await?),
        false => None,
    };
    if !upgrades {
        return Err(ApiError::MethodNotAllowed { allow: "POST" });
    }
    let edge = request.app_data::<web::Data<Edge>>().expect("every app has its edge").clone();
    let frame = edge.limits().bayeux_bytes;
    let socket = WebSocket {
        endpoint,
        host: authority(&request).unwrap_or_default().to_owned(),
        caller,
        attached: Vec::new(),
        fragments: None,
        heard: Instant::now(),
        edge,
    };
    ws::WsResponseBuilder::new(socket, &request, stream).frame_size(frame).start().map_err(|error| {
        ApiError::Http(error.as_response_error().status_code(), format!("No WebSocket: {error}"))
    })
}

/// One socket. It may be the way to several sessions, and a session may come by another socket later.
struct WebSocket {
    edge: web::Data<Edge>,
    endpoint: Endpoint,
    host: String,
    caller: Option<Caller>,
    attached: Vec<ClientId>,
    /// A message that comes in several frames, so far.
    fragments: Option<BytesMut>,
    /// When the peer was last heard.
    heard: Instant,
}

impl Actor for WebSocket {
    type Context = WebsocketContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_later(SOCKET_HANDSHAKE, |socket, ctx| {
            if socket.attached.is_empty() {
                close(ctx, CloseCode::Policy, "no handshake");
            }
        });
        ctx.run_interval(self.edge.limits().socket_ping, |socket, ctx| {
            match socket.heard.elapsed() > socket.edge.limits().socket_ping * 5 / 2 {
                true => close(ctx, CloseCode::Away, "not heard of"),
                false => ctx.ping(b""),
            }
        });
    }

    fn stopped(&mut self, ctx: &mut Self::Context) {
        let Some(caller) = &self.caller else { return };
        let tenant = self.edge.platform.tenant(&caller.tenant);
        for session in self.attached.iter().filter_map(|client| tenant.session(*client)) {
            session.do_send(SocketClosed { socket: ctx.address().recipient() });
        }
    }
}

impl StreamHandler<Result<Message, ProtocolError>> for WebSocket {
    fn handle(&mut self, frame: Result<Message, ProtocolError>, ctx: &mut Self::Context) {
        self.heard = Instant::now();
        match frame {
            Ok(Message::Text(text)) => self.process(text.into_bytes(), ctx),
            Ok(Message::Continuation(item)) => self.join(item, ctx),
            Ok(Message::Ping(payload)) => ctx.pong(&payload),
            Ok(Message::Pong(_) | Message::Nop) => {}
            Ok(Message::Binary(_)) => close(ctx, CloseCode::Unsupported, "text frames only"),
            Ok(Message::Close(reason)) => {
                ctx.close(reason);
                ctx.stop();
            }
            Err(ProtocolError::Overflow) => close(ctx, CloseCode::Size, "message too large"),
            Err(_) => close(ctx, CloseCode::Protocol, "protocol error"),
        }
    }
}

impl Handler<SocketMessage> for WebSocket {
    type Result = ();

    fn handle(&mut self, message: SocketMessage, ctx: &mut Self::Context) {
        match message {
            SocketMessage::Frames(frames) => ctx.text(array_of(&frames)),
            SocketMessage::Closed => close(ctx, CloseCode::Normal, "the session ended"),
        }
    }
}

impl WebSocket {
    /// Joins the frames of one message, within the limit of a message.
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
        if joined.len() + part.len() > self.edge.limits().bayeux_bytes {
            return close(ctx, CloseCode::Size, "message too large");
        }
        joined.extend_from_slice(&part);
        if last && let Some(joined) = self.fragments.take() {
            self.process(joined.freeze(), ctx);
        }
    }

    /// Processes a message array before the next frame is looked at, so that replies keep the order of requests.
    fn process(&mut self, text: Bytes, ctx: &mut WebsocketContext<Self>) {
        let transport = Transport::Socket(ctx.address().recipient());
        let (edge, endpoint, host) = (self.edge.clone(), self.endpoint, std::mem::take(&mut self.host));
        let (mut caller, mut attached) = (self.caller.clone(), std::mem::take(&mut self.attached));
        let work = async move {
            let mut exchange = Exchange {
                edge: &edge,
                endpoint,
                transport,
                host: &host,
                caller: &mut caller,
                attached: &mut attached,
            };
            let outcome = exchange.process(&text).await;
            (outcome, caller, attached, host)
        };
        ctx.wait(work.into_actor(self).map(|(outcome, caller, attached, host), socket, ctx| {
            (socket.caller, socket.attached, socket.host) = (caller, attached, host);
            match outcome {
                Ok(Outcome::Replies(replies)) => ctx.text(into_text(replies)),
                Ok(Outcome::Held(replies, mut held)) => {
                    let heartbeat = async move {
                        let answer = held.answer().await;
                        held.encode(replies, &answer)
                    };
                    ctx.spawn(heartbeat.into_actor(socket).map(|text, _, ctx| ctx.text(into_text(text))));
                }
                Err(error) => close(ctx, CloseCode::Invalid, &error.to_string()),
            }
        }));
    }
}

fn close(ctx: &mut WebsocketContext<WebSocket>, code: CloseCode, why: &str) {
    // A close frame has room for 123 bytes of reason.
    let description = why.char_indices().take_while(|(at, _)| *at < 120).map(|(_, c)| c).collect::<String>();
    ctx.close(Some(CloseReason { code, description: Some(description) }));
    ctx.stop();
}

fn array_of(frames: &Frames) -> String {
    let mut text = Vec::with_capacity(frames.0.iter().map(|n| n.json().len() + 1).sum::<usize>() + 1);
    for notification in &frames.0 {
        text.push(if text.is_empty() { b'[' } else { b',' });
        text.extend_from_slice(notification.json());
    }
    text.push(b']');
    into_text(text)
}

fn into_text(json: Vec<u8>) -> String {
    String::from_utf8(json).expect("JSON is written as UTF-8")
}
