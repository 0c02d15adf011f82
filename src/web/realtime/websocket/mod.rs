//! Bayeux over WebSocket (B-19). The actor of this module is only a transport: it joins frames into messages, passes
//! them to the exchange, and writes the notifications of the sessions, one frame at a time. No other module uses
//! `actix-web-actors`.

mod closing;
mod frames;
mod received;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, web};
use actix_web_actors::ws::{self, CloseCode, WebsocketContext};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use platform_actors::hub::Notification;
use platform_actors::session::{
    ClientId, FrameWriterRegistration, LARGE, SessionActor, SocketClosed, SocketMessage,
};
use platform_front::connection::ConnectionHandle;
use platform_front::connection::upgraded::DirectWriter;
use platform_model::error::Error;
use platform_model::limits::SOCKET_HANDSHAKE;
use platform_model::links::Links;
use platform_model::realtime::bayeux::channel::Endpoint;
use tokio::task::yield_now;

use super::pace::{CountedSocket, count_patiently};
use super::{Exchange, Held, Outcome, Realtime, Transport};
use crate::auth::{Authenticator, Caller, RequestSource, cors};
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::{base, client_address};
use closing::{close, close_because, end};
use frames::{Frames, array_of, into_text};
use received::ReceivedFrames;

/// `GET /notification/realtime` with `Upgrade: websocket`. The request may come without credentials; the Bayeux
/// handshake then carries them.
///
/// # Errors
/// 401 for wrong credentials, 403 when the tenant has reached its limit of sockets (Z-20), 405 without an upgrade.
pub async fn realtime(request: HttpRequest, stream: web::Payload) -> Result<HttpResponse> {
    upgrade(Endpoint::Realtime, request, stream).await
}

/// `GET /notification/operations` with `Upgrade: websocket`.
///
/// # Errors
/// The errors of [`realtime`].
pub async fn operations(request: HttpRequest, stream: web::Payload) -> Result<HttpResponse> {
    upgrade(Endpoint::Operations, request, stream).await
}

async fn upgrade(endpoint: Endpoint, request: HttpRequest, payload: web::Payload) -> Result<HttpResponse> {
    let upgrades = request.headers().contains_key("upgrade");
    // A browser adds stored credentials to requests of another site's page. Such a page must send credentials of its
    // own.
    let brings = request.headers().contains_key("authorization") && !cors::is_unasked(&request).await;
    // A handshake cannot carry the access token that a gateway requires (T-05).
    let caller = if brings || !upgrades || request.state::<Authenticator>().demands_tokens() {
        Some(Caller::extract(&request).await?)
    } else {
        // The client of a certificate that is refused may log in with its handshake.
        Caller::by_certificate(&request).await
    };
    if !upgrades {
        return Err(ApiError::MethodNotAllowed { allow: "POST".into() });
    }
    let realtime = request.state::<Realtime>().clone();
    let counted = CountedSocket::agreed(caller.as_ref(), realtime.platform.database()).await?;
    if let Some(line) = request.conn_data::<ConnectionHandle>() {
        line.bound_send_buffer();
    }
    let limits = realtime.platform.limits();
    let frame = limits.bayeux_bytes;
    let now = Instant::now();
    let expires = caller.as_ref().and_then(|caller| caller.remaining()).map(|remaining| now + remaining);
    let connection = request.extensions_mut().remove::<DirectWriter>();
    let frames = Rc::new(Frames::new(connection));
    let socket = WebSocket {
        registration: FrameWriterRegistration::new(frames.clone()),
        frames,
        endpoint,
        links: Links::new(base(&request)),
        source: RequestSource::of(client_address(&request)),
        caller,
        counted,
        // Few sockets serve more than one session.
        attached: Vec::with_capacity(1),
        fragments: None,
        connects: 0,
        is_leaving: false,
        vacant_since: now,
        timer: SpawnHandle::default(),
        heard: now,
        ping: now + limits.socket_ping,
        expires,
        realtime,
    };
    let mut response =
        ws::handshake(&request).map_err(|error| Error::Malformed(format!("No WebSocket: {error}")))?;
    // The context gets an empty stream, because it would keep the bytes of the last message for as long as it reads.
    Ok(response.streaming(WebsocketContext::with_factory(stream::empty(), move |ctx| {
        ctx.add_stream(ReceivedFrames::new(payload, frame));
        socket
    })))
}

/// One WebSocket. It may serve several sessions, and a session may move to another socket later.
struct WebSocket {
    frames: Rc<Frames>,
    registration: FrameWriterRegistration,
    realtime: web::Data<Realtime>,
    endpoint: Endpoint,
    /// The address that the client used.
    links: Links,
    source: RequestSource,
    caller: Option<Caller>,
    /// The socket among those of its tenant, as soon as that is known.
    counted: Option<CountedSocket>,
    attached: Vec<(ClientId, Addr<SessionActor>)>,
    /// The frames received so far of a message that is split into several frames.
    fragments: Option<BytesMut>,
    /// The number of connects that are held.
    connects: usize,
    /// Whether the socket closes as soon as it holds no connect.
    is_leaving: bool,
    /// The time since which the socket has served no session. It is meaningful only while `attached` is empty.
    vacant_since: Instant,
    timer: SpawnHandle,
    /// The time of the last frame from the peer.
    heard: Instant,
    /// The time at which the next ping is due.
    ping: Instant,
    /// The time at which the credentials that opened the socket expire.
    expires: Option<Instant>,
}

impl Actor for WebSocket {
    type Context = WebsocketContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.arm(ctx);
    }

    fn stopping(&mut self, _: &mut Self::Context) -> Running {
        self.frames.hold_back();
        Running::Stop
    }

    fn stopped(&mut self, ctx: &mut Self::Context) {
        for (_, session) in &self.attached {
            session.do_send(SocketClosed { socket: ctx.address().recipient() });
        }
    }
}

impl Handler<SocketMessage> for WebSocket {
    type Result = ActorResponse<Self, ()>;

    fn handle(&mut self, message: SocketMessage, ctx: &mut Self::Context) -> Self::Result {
        match message {
            SocketMessage::Frame(frame) => {
                let notifications = frame.take();
                let count = notifications.len();
                if self.write(&notifications, ctx) > LARGE {
                    return ActorResponse::r#async(
                        taken().into_actor(self).map(move |(), _, _| frame.written(count)),
                    );
                }
                frame.written(count);
            }
            SocketMessage::Ended(client) => {
                if self.detach(client) {
                    self.vacant_since = Instant::now();
                    self.arm(ctx);
                }
            }
            SocketMessage::Gone(client) => {
                if self.detach(client) {
                    close(ctx, CloseCode::Normal, "the session ended or uses another connection");
                }
            }
            SocketMessage::Leave => {
                self.is_leaving = true;
                self.leave_when_answered(ctx);
            }
        }
        ActorResponse::reply(())
    }
}

/// Resolves when the connection has accepted the written bytes, because the actor is polled again only then.
async fn taken() {
    yield_now().await;
}

impl WebSocket {
    /// Writes the notifications as one frame, unless their session took them back. Returns the number of bytes written.
    fn write(&self, notifications: &[Arc<Notification>], ctx: &mut WebsocketContext<Self>) -> usize {
        if notifications.is_empty() {
            return 0;
        }
        let text = array_of(notifications);
        let bytes = text.len();
        ctx.text(text);
        bytes
    }

    /// Holds a connect until its session replies.
    fn hold(&mut self, mut held: Held, ctx: &mut WebsocketContext<Self>) {
        self.connects += 1;
        let answered = async move {
            let answer = held.answer().await;
            let text = held.text(answer);
            (held, text)
        };
        ctx.spawn(answered.into_actor(self).map(|(mut held, text), socket, ctx| {
            if text.is_large() {
                held.writing_takes_a_while();
                ctx.spawn(taken().into_actor(socket).map(|(), _, _| drop(held)));
            }
            ctx.text(into_text(text.into_bytes()));
            socket.connects -= 1;
            socket.leave_when_answered(ctx);
        }));
    }

    /// Detaches a session from this socket. Returns whether the socket now serves no session.
    fn detach(&mut self, client: ClientId) -> bool {
        self.attached.retain(|(attached, _)| *attached != client);
        self.attached.is_empty()
    }

    /// Closes the socket of a server that is stopping as soon as all its connects have their replies (B-24).
    fn leave_when_answered(&self, ctx: &mut WebsocketContext<Self>) {
        if self.is_leaving && self.connects == 0 {
            close(ctx, CloseCode::Away, "the server is stopping");
        }
    }

    /// Returns the time of the next deadline: the end of a socket that serves no session or whose token expires, or
    /// else the next ping.
    fn due(&self) -> Instant {
        let handshake = self.attached.is_empty().then(|| self.vacant_since + SOCKET_HANDSHAKE);
        [handshake, self.expires].into_iter().flatten().fold(self.ping, Instant::min)
    }

    /// Sets the only timer of the socket.
    fn arm(&mut self, ctx: &mut WebsocketContext<Self>) {
        ctx.cancel_future(self.timer);
        self.timer = ctx.run_later(self.due().saturating_duration_since(Instant::now()), Self::timer_fired);
    }

    fn timer_fired(&mut self, ctx: &mut WebsocketContext<Self>) {
        let (now, interval) = (Instant::now(), self.realtime.platform.limits().socket_ping);
        // A socket that a token opened closes when the token expires, unless it was renewed (T-10).
        if self.expires.is_some_and(|expires| expires <= now) {
            self.expires = None;
            if self.caller.is_none() {
                return end(ctx);
            }
            self.check_caller(ctx);
        }
        if self.attached.is_empty() && self.vacant_since + SOCKET_HANDSHAKE <= now {
            return close(ctx, CloseCode::Policy, "no session");
        }
        if self.ping <= now {
            let silence = now.saturating_duration_since(self.heard);
            // Frames of the peer may wait unread since a pause of this process.
            let since_pause = self.realtime.platform.database().pauses().since_last();
            if since_pause.map_or(silence, |since| silence.min(since)) > interval * 5 / 2 {
                return close(ctx, CloseCode::Away, "not heard of");
            }
            ctx.ping(b"");
            self.check_caller(ctx);
            self.ping = now + interval;
        }
        self.arm(ctx);
    }

    /// Processes a message array before the next frame is read, so that replies keep the order of the requests.
    fn process(&mut self, text: Bytes, ctx: &mut WebsocketContext<Self>) {
        let transport = Transport::Socket(ctx.address().recipient(), self.registration.key());
        self.frames.hold_back();
        let (realtime, endpoint, source) = (self.realtime.clone(), self.endpoint, self.source);
        let (links, mut caller) = (self.links.clone(), self.caller.clone());
        let mut attached = std::mem::take(&mut self.attached);
        let work = async move {
            if let Err(outdated) = refresh(&realtime, &mut caller).await {
                return (Err(outdated), caller, attached);
            }
            if let Some(caller) = caller.as_ref().filter(|caller| caller.limits.requests().is_limited()) {
                Box::pin(count_patiently(caller, 1, realtime.platform.limits())).await;
            }
            let mut exchange = Exchange {
                realtime: &realtime,
                endpoint,
                transport,
                host: links.authority(),
                links: Some(links.clone()),
                source,
                caller: &mut caller,
                attached: &mut attached,
                templates: None,
            };
            let mut outcome = exchange.process(&text).await;
            // A handshake may have started before the user changed and have created its session after all other
            // sessions of the user were ended.
            if let Err(outdated) = refresh(&realtime, &mut caller).await {
                outcome = Err(outdated);
            }
            (outcome, caller, attached)
        };
        ctx.wait(work.into_actor(self).map(|(outcome, caller, attached), socket, ctx| {
            if socket.expires.is_none()
                && let Some(expires) = caller.as_ref().and_then(|caller| caller.expires())
            {
                // The session that this socket resumes was opened with a token.
                socket.expires = Some(expires);
                socket.arm(ctx);
            }
            (socket.caller, socket.attached) = (caller, attached);
            socket.frames.resume();
            match socket.count().map_err(ApiError::from).and(outcome) {
                Ok(Outcome::Replies(replies)) => ctx.text(into_text(replies)),
                Ok(Outcome::Farewell(replies)) => {
                    // This future is spawned after the futures of the held connects, so it writes after the reply to
                    // the connect.
                    let farewell = actix::fut::ready(into_text(replies)).into_actor(socket);
                    ctx.spawn(farewell.map(|replies, _, ctx| ctx.text(replies)));
                }
                Ok(Outcome::Held(held)) => socket.hold(held, ctx),
                Err(error) => close_because(ctx, &error),
            }
        }));
    }

    /// Counts the socket for the tenant of its caller, which a handshake may have named.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    fn count(&mut self) -> Result<(), Error> {
        let Some(caller) = &self.caller else { return Ok(()) };
        if !self.counted.as_ref().is_some_and(|counted| counted.is_of(caller)) {
            self.counted = None;
            self.counted = Some(CountedSocket::of(caller)?);
        }
        Ok(())
    }

    /// Closes the socket when its caller is no longer valid. The caller may have no session whose end would close the
    /// socket.
    fn check_caller(&self, ctx: &mut WebsocketContext<Self>) {
        let (realtime, Some(caller)) = (self.realtime.clone(), self.caller.clone()) else { return };
        let check = async move {
            let mut refreshed = Some(caller.clone());
            (refresh(&realtime, &mut refreshed).await, caller, refreshed)
        };
        ctx.spawn(check.into_actor(self).map(|(checked, caller, refreshed), socket, ctx| {
            // A handshake may have replaced the caller meanwhile.
            if socket.caller.as_ref().is_some_and(|now| now.is(&caller)) {
                socket.caller = refreshed;
                let caller = socket.caller.as_ref();
                // The expiry of a token stays when the database cannot be asked.
                if let Err(error) = checked {
                    return close_because(ctx, &error);
                }
                if caller.and_then(|now| now.remaining()) == Some(Duration::ZERO) {
                    return end(ctx);
                }
                socket.expires = caller.and_then(|now| now.expires());
                socket.arm(ctx);
            }
        }));
    }
}

/// Refreshes the caller from the current user. When the lookup fails, the socket stays as it is.
///
/// # Errors
/// `Unauthorized` when the caller is no longer valid, `Moved` when its tenant has moved to another deployment.
async fn refresh(realtime: &Realtime, caller: &mut Option<Caller>) -> Result<()> {
    let Some(known) = caller else { return Ok(()) };
    match realtime.authenticator.still(known).await {
        Ok(Some(current)) => *known = current,
        Ok(None) if realtime.authenticator.has_moved(&known.tenant).await => return Err(ApiError::Moved),
        Ok(None) => return Err(ApiError::Unauthorized),
        Err(_) => {}
    }
    Ok(())
}
