//! The Bayeux protocol: a message array in, replies out, for every transport (docs/rules.md#real-time-notifications;
//! B-01 to B-24).
//!
//! This module uses no type of a transport. It returns the connect of a long poll as [`Held`]; the session sends
//! notifications to a WebSocket directly.

mod connecting;
mod consuming;
mod held;
mod lists;
mod moved;
mod pace;
mod replies;
mod snapshots;
mod subscribing;
pub mod websocket;

use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, Recipient};
use actix_web::web;
use platform_actors::session::{
    AttachSocket, ClientId, Consume, Disconnect, FrameWriterKey, SessionActor, SessionTemplates,
    SetSocketAside, SocketMessage, UseTemplates,
};
use platform_actors::{NewSession, Platform, Tenant};
use platform_model::error::Error;
use platform_model::links::Links;
use platform_model::naming::naming;
use platform_model::realtime::bayeux::channel::Endpoint;
use platform_model::realtime::bayeux::{Advice, Batch, HandshakeCredentials, Reply, RequestMessage, error};
use platform_store::tenancy::tenant_limits::Counted;
use tokio::time::Instant;

use crate::auth::{Authenticator, Caller, RequestSource};
use crate::http::compatibility::ClientCompatibility;
use crate::http::error::{ApiError, Result};
pub(crate) use connecting::Connecting;
pub use held::{Held, Text};
use moved::{Found, Known, LONGEST};
pub(crate) use pace::count_patiently;
use replies::Replies;

/// The channel on which a client waits for notifications (B-10).
const CONNECT: &str = "/meta/connect";
/// The channel on which a client ends its session.
const DISCONNECT: &str = "/meta/disconnect";

/// The components that the protocol uses.
pub struct Realtime {
    /// The sessions.
    pub platform: Arc<Platform>,
    /// Authenticates handshakes.
    pub authenticator: web::Data<Authenticator>,
    /// Whether first connects and requests without `Accept` get the responses that existing clients expect (C-20).
    pub compatibility: ClientCompatibility,
}

/// The transport of the messages, as far as the protocol depends on it.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A POST. Notifications travel with the replies to connects.
    LongPolling,
    /// A POST without `Accept`, whose response nobody reads. No notification may leave the queue (C-08).
    Mute,
    /// A WebSocket. Notifications are sent to it directly.
    Socket(Recipient<SocketMessage>, FrameWriterKey),
}

/// The server's side of the protocol for one request or socket.
pub struct Exchange<'e> {
    /// The components that the protocol uses.
    pub realtime: &'e Realtime,
    /// The endpoint, which determines the channels that can be used.
    pub endpoint: Endpoint,
    /// The transport of the messages.
    pub transport: Transport,
    /// The host name of the request, for credentials that name no tenant.
    pub host: &'e str,
    /// The base for links in lists; `None` if the client can request no lists.
    pub links: Option<Links>,
    /// The address of the client, by which failed logins are counted.
    pub source: RequestSource,
    /// The authenticated sender. Over a WebSocket, a handshake may set it (B-19).
    pub caller: &'e mut Option<Caller>,
    /// The sessions that this socket serves. They may belong to different users.
    pub attached: &'e mut Vec<(ClientId, Addr<SessionActor>)>,
    /// The templates that a handshake or subscription of a CSV client adds to its session (S-52).
    pub templates: Option<SessionTemplates>,
}

/// The result of processing a message array.
pub enum Outcome {
    /// Replies, as a JSON array.
    Replies(Vec<u8>),
    /// Replies of which one is to a disconnect. The reply to the connect that the disconnect ended is sent first,
    /// because CometD closes its socket only when no connect is outstanding (B-24).
    Farewell(Vec<u8>),
    /// A connect that came alone and waits.
    Held(Held),
}

impl Exchange<'_> {
    /// Processes the messages of one request in order (B-15).
    ///
    /// # Errors
    /// `Malformed` when the text is not an array of messages; every other error is a reply.
    pub async fn process(&mut self, text: &[u8]) -> Result<Outcome> {
        let mut messages = Batch::parse(text)?.0;
        // Other messages in the same request as a handshake are ignored (B-08).
        if let Some(at) = messages.iter().position(|m| m.channel().as_deref() == Some("/meta/handshake")) {
            messages = vec![messages.swap_remove(at)];
        }
        let alone = messages.len() == 1;
        let mut replies = Replies::default();
        for (place, message) in messages.iter().enumerate() {
            if place > 0 {
                self.count_another().await;
            }
            if let Some(held) = self.process_one(message, alone, &mut replies).await? {
                return Ok(Outcome::Held(held));
            }
        }
        self.trace_refusals(&mut replies);
        Ok(if messages.iter().any(|message| message.channel().as_deref() == Some(DISCONNECT)) {
            Outcome::Farewell(replies.finish())
        } else {
            Outcome::Replies(replies.finish())
        })
    }

    /// Records rejected messages, if a trace concerns the caller (B-37).
    fn trace_refusals(&self, replies: &mut Replies) {
        if let Some(caller) = &*self.caller {
            for refusal in replies.take_refusals() {
                self.realtime.platform.trace_refusal(&caller.tenant, &caller.user, refusal);
            }
        }
    }

    /// Counts a further message of a frame over a WebSocket for the tenant. It waits while the tenant exceeds its rate.
    /// The messages of a long-polling request are counted before they are processed.
    async fn count_another(&self) {
        let Transport::Socket(..) = self.transport else { return };
        if let Some(caller) = self.caller.as_ref().filter(|caller| caller.limits.requests().is_limited()) {
            Box::pin(count_patiently(caller, 1, self.realtime.platform.limits())).await;
        }
    }

    async fn process_one(
        &mut self,
        message: &RequestMessage<'_>,
        alone: bool,
        replies: &mut Replies,
    ) -> Result<Option<Held>> {
        let Some(channel) = message.channel() else {
            replies.refuse(message, None, error::CHANNEL_MISSING, None);
            return Ok(None);
        };
        match &*channel {
            // The futures of rare messages are boxed, so that the future of every connect stays small.
            "/meta/handshake" => Box::pin(self.handshake(message, replies)).await?,
            "/meta/subscribe" | "/meta/unsubscribe" | CONNECT | DISCONNECT => {
                let (session, client) = match self.session(message).await? {
                    Found::Session(session, client) => (session, client),
                    Found::Unknown => {
                        Box::pin(self.refuse_unknown(message, &channel, replies)).await;
                        return Ok(None);
                    }
                    Found::NotNow => {
                        replies.not_now(message, &channel);
                        return Ok(None);
                    }
                };
                match &*channel {
                    CONNECT => return Ok(self.connect(message, (session, client), alone, replies).await),
                    _ => Box::pin(self.change((message, &channel), (session, client), replies)).await?,
                }
            }
            _ => replies.refuse(message, Some(&channel), error::PUBLISH_DENIED, None),
        }
        Ok(None)
    }

    /// Starts a session for the caller (B-08).
    async fn handshake(&mut self, message: &RequestMessage<'_>, replies: &mut Replies) -> Result<()> {
        let channel = "/meta/handshake";
        if let Some(credentials) = message.credentials(&naming().authentication_extension) {
            // This future is boxed because most clients send their credentials with the request instead.
            match Box::pin(self.authenticate(&credentials)).await {
                Ok(caller) => *self.caller = Some(caller),
                Err(error) => {
                    *self.caller = None;
                    replies.refuse(message, Some(channel), error::HANDSHAKE_DENIED, Some(after(&error)));
                    return Ok(());
                }
            }
        }
        let Some(caller) = self.caller.clone() else {
            replies.refuse(message, Some(channel), error::HANDSHAKE_DENIED, Some(Advice::NONE));
            return Ok(());
        };
        let common = connecting::common_types(message);
        if common.is_empty() {
            replies.refuse(message, Some(channel), error::NO_CONNECTION_TYPE, Some(Advice::NONE));
            return Ok(());
        }
        // A client that received other units than it requested would show wrong numbers, so the handshake fails at
        // once.
        let Ok(units) = message.system_of_units() else {
            replies.refuse(message, Some(channel), error::HANDSHAKE_DENIED, Some(Advice::NONE));
            return Ok(());
        };
        let Some(consumer) = Box::pin(self.consumer(&caller, message, replies)).await? else { return Ok(()) };
        let (acknowledgement, enabled) = consuming::acknowledgement(message, consumer.as_ref());
        let interval = message.advice().and_then(|advice| advice.interval);
        let (user, expires) = (caller.user.clone(), caller.expires());
        let address = Some(self.source.address());
        let new = NewSession { user, expires, interval, acknowledgement, units, address };
        let tenant = self.tenant(&caller);
        let Some(client) = tenant.start_session(new).await? else {
            replies.refuse(message, Some(channel), error::HANDSHAKE_DENIED, Some(Advice::NONE));
            return Ok(());
        };
        if let Some(session) = tenant.session(client) {
            consumer.into_iter().for_each(|consumer| session.do_send(Consume(consumer)));
            self.templates.take().into_iter().for_each(|templates| session.do_send(UseTemplates(templates)));
            self.detach_others().await;
            self.attach(&session, client, &caller.user).await;
        }
        replies.push(&Reply {
            id: message.id(),
            channel: Some(channel),
            version: Some("1.0"),
            minimum_version: Some("1.0"),
            supported_connection_types: Some(&common),
            client_id: Some(&client.to_string()),
            successful: true,
            advice: self.connecting().map(|to| Advice::retry(Duration::ZERO, to.default_hold())),
            ext: enabled,
            ..Reply::default()
        });
        Ok(())
    }

    /// Authenticates the token, which has the format of the value after `Basic` in an `Authorization` header (B-19),
    /// or of a whole header with `Bearer`. A code of the second factor completes a password (C-27).
    async fn authenticate(&self, credentials: &HandshakeCredentials) -> Result<Caller> {
        let token = credentials.token.trim();
        // An access token or a JWT names its scheme (T-10).
        let header = match token.strip_prefix("Bearer ") {
            Some(_) => token.to_owned(),
            None => format!("Basic {}", token.strip_prefix("Basic ").unwrap_or(token)),
        };
        let (authenticator, code) = (&self.realtime.authenticator, credentials.code.as_deref());
        let caller = authenticator.authenticate(header.as_bytes(), code, self.host, self.source).await?;
        let caller = caller.able_to_listen()?;
        if matches!(self.transport, Transport::Socket(..)) {
            // The socket is counted for this caller when the messages of its frame are processed.
            self.realtime.platform.database().agree_on(&caller.limits, Counted::WebSockets).await;
        }
        Ok(caller)
    }

    fn tenant(&self, caller: &Caller) -> Arc<Tenant> {
        self.realtime.platform.tenant(&caller.tenant)
    }

    /// Looks up the session that a message names, or takes it over from the server that has it. A socket is attached to
    /// that session (B-18).
    ///
    /// # Errors
    /// `Unavailable` or `Database` when the session of another server, or the user of a session that a socket resumes,
    /// cannot be looked up.
    async fn session(&mut self, message: &RequestMessage<'_>) -> Result<Found> {
        let of_socket = matches!(self.transport, Transport::Socket(..));
        if of_socket && self.caller.is_none() {
            *self.caller = Box::pin(self.caller_of_session(message)).await?;
        }
        let deadline = Instant::now() + LONGEST;
        loop {
            let Some(connecting) = self.connecting() else { return Ok(Found::Unknown) };
            let found = match connecting.find_session(message) {
                Some((session, client)) => Found::Session(session, client),
                None => Box::pin(self.pull_session(message)).await?,
            };
            let (Found::Session(session, client), Some(caller), true) = (&found, &*self.caller, of_socket)
            else {
                return Ok(found);
            };
            let user = caller.user.clone();
            if Box::pin(self.attach(session, *client, &user)).await {
                return Ok(found);
            }
            if self.is_of_another_user(session, *client) {
                return Ok(Found::Unknown);
            }
            // The session left while the socket was attached to it.
            if Instant::now() >= deadline {
                return Ok(Found::NotNow);
            }
        }
    }

    fn connecting(&self) -> Option<Connecting<'_>> {
        let Self { realtime, transport, .. } = self;
        Some(Connecting { realtime, caller: self.caller.as_ref()?, transport })
    }

    /// Attaches the socket to the session. Returns `false` when the session does not belong to the caller.
    async fn attach(&mut self, session: &Addr<SessionActor>, client: ClientId, user: &Arc<str>) -> bool {
        let Transport::Socket(socket, writer) = &self.transport else { return true };
        let attach = AttachSocket { user: user.clone(), socket: socket.clone(), writer: *writer };
        let own = session.send(attach).await.unwrap_or(false);
        if own && !self.attached.iter().any(|(attached, _)| *attached == client) {
            self.attached.push((client, session.clone()));
        }
        own
    }

    /// Detaches all sessions without a held connect from the socket, because another session starts on it. They return
    /// with their next message.
    async fn detach_others(&mut self) {
        let Transport::Socket(socket, _) = &self.transport else { return };
        let mut staying = Vec::with_capacity(1);
        for (client, session) in self.attached.drain(..) {
            // A session that ended is detached, too.
            if !session.send(SetSocketAside { socket: socket.clone() }).await.unwrap_or(true) {
                staying.push((client, session));
            }
        }
        *self.attached = staying;
    }

    async fn disconnect(
        &mut self,
        message: &RequestMessage<'_>,
        session: &Addr<SessionActor>,
        replies: &mut Replies,
    ) -> Known {
        let Some(user) = self.caller.as_ref().map(|caller| caller.user.clone()) else { return Known::No };
        match session.send(Disconnect { user }).await {
            Ok(true) => replies.accept(message, DISCONNECT),
            _ => return Known::No,
        }
        Known::Yes
    }

    /// Processes a connect. Over long polling it waits if it came alone; among other messages it receives its reply
    /// immediately, with the notifications that are queued (B-15). Over a WebSocket it is the heartbeat.
    async fn connect(
        &self,
        message: &RequestMessage<'_>,
        session: (Addr<SessionActor>, ClientId),
        alone: bool,
        replies: &mut Replies,
    ) -> Option<Held> {
        let waits = alone && !matches!(self.transport, Transport::Mute);
        let connect = self.connecting()?.park(message, session, waits);
        if waits {
            return Some(connect);
        }
        Box::pin(answer_at_once(connect, replies)).await;
        None
    }
}

async fn answer_at_once(mut connect: Held, replies: &mut Replies) {
    let answer = connect.answer().await;
    replies.connected(&connect, &answer);
}

/// Returns the advice for a rejected handshake: not to retry with wrong credentials, but to repeat the handshake when
/// the server is busy or its database is unavailable.
fn after(refusal: &ApiError) -> Advice {
    match refusal {
        ApiError::TooManyRequests { .. } | ApiError::Moved | ApiError::Platform(Error::Unavailable(_)) => {
            Advice::HANDSHAKE
        }
        _ => Advice::NONE,
    }
}
