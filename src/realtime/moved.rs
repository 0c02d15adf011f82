//! Messages for sessions of another server. No message is forwarded: the session moves to the server that its client
//! uses now.

use std::time::Duration;

use actix::Addr;
use platform_actors::session::{ClientId, FindOwner, SessionActor, Verdict};
use platform_model::bayeux::{Advice, Reply, RequestMessage};

use super::{CONNECT, DISCONNECT, Exchange, Replies};
use crate::auth::Caller;
use crate::http::error::Result;

/// The most attempts for a message whose session is moving at the moment.
const ATTEMPTS: usize = 5;
/// The delay after which a client of a stopping server reconnects. A balancer will then probably choose another server.
const COME_BACK: Duration = Duration::from_millis(500);

/// Whether the session exists for this caller. If not, no reply was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    No,
}

impl Exchange<'_> {
    /// Looks up the owner of the session that a message names. A browser cannot set headers on a WebSocket, so there
    /// the clientId of a live session serves as the credential: it cannot be guessed, and it is valid as long as the
    /// permissions of its user (B-18a).
    pub(super) async fn caller_of_session(&self, message: &RequestMessage<'_>) -> Result<Option<Caller>> {
        let Some(client) = message.client_id().and_then(|client| ClientId::parse(&client)) else {
            return Ok(None);
        };
        let (tenant, user, expires) = match self.realtime.platform.find_session(client) {
            Some((tenant, session)) => {
                let Ok(owner) = session.send(FindOwner).await else { return Ok(None) };
                (tenant, owner.user, owner.expires)
            }
            None => match self.realtime.platform.find_owner_elsewhere(client).await? {
                Some(owner) => (owner.tenant, owner.user, owner.expires),
                None => return Ok(None),
            },
        };
        self.realtime.authenticator.caller_of(&tenant, &user, expires).await
    }

    /// Moves the session that a message names to this server, if another server has it and it belongs to the caller.
    /// The session ends if its user has lost the right to one of its channels.
    ///
    /// # Errors
    /// `Unavailable` while the database is not reachable.
    pub(super) async fn pull_session(
        &mut self,
        message: &RequestMessage<'_>,
    ) -> Result<Option<(Addr<SessionActor>, ClientId)>> {
        let client = message.client_id().and_then(|client| ClientId::parse(&client));
        let (Some(client), Some(caller)) = (client, self.caller.clone()) else { return Ok(None) };
        let platform = &self.realtime.platform;
        let connects = message.channel().as_deref() == Some(CONNECT);
        if connects && platform.is_handing_over() {
            return Ok(None);
        }
        let pulled = platform.pull_session(&caller.tenant, client, &caller.user).await?;
        let Some((session, patterns)) = pulled else { return Ok(None) };
        if self.may_receive(&caller, &patterns).await? == Verdict::Denied {
            platform.end_session(&session).await;
            return Ok(None);
        }
        Ok(self.may_still_receive(&caller, &session).await.then_some((session, client)))
    }

    /// Processes a message that changes a session: a subscription, an unsubscription, or a disconnect. If the session
    /// moves in the meantime, the message is repeated for its new place.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn change(
        &mut self,
        (message, channel): (&RequestMessage<'_>, &str),
        (mut session, client): (Addr<SessionActor>, ClientId),
        replies: &mut Replies,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let known = match channel {
                "/meta/subscribe" => self.subscribe(message, &session, replies).await?,
                "/meta/unsubscribe" => self.unsubscribe(message, &session, replies).await,
                DISCONNECT => self.disconnect(message, &session, replies).await,
                _ => Known::No,
            };
            if known == Known::Yes {
                return Ok(());
            }
            let Some(caller) = &*self.caller else { break };
            let now = self.realtime.platform.tenant(&caller.tenant).session(client);
            if now.is_some_and(|now| now == session) {
                // The session belongs to another user.
                break;
            }
            match self.session(message).await? {
                Some((moved, _)) => session = moved,
                None => break,
            }
        }
        replies.unknown_client(message, channel);
        Ok(())
    }

    /// Rejects a message whose session does not exist. A stopping server accepts a connect, because the session may be
    /// at another server.
    pub(super) fn refuse_unknown(&self, message: &RequestMessage<'_>, channel: &str, replies: &mut Replies) {
        let platform = &self.realtime.platform;
        let text = message.client_id();
        let client = text.as_deref().and_then(ClientId::parse);
        let is_elsewhere = channel == CONNECT
            && self.caller.is_some()
            && platform.is_handing_over()
            && client.is_some_and(|client| platform.has_made(client));
        if !is_elsewhere {
            return replies.unknown_client(message, channel);
        }
        let advice = Advice::retry(COME_BACK, platform.limits().connect_timeout);
        replies.push(&Reply {
            id: message.id(),
            channel: Some(channel),
            client_id: text.as_deref(),
            successful: true,
            advice: Some(advice),
            ..Reply::default()
        });
    }
}
