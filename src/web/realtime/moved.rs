//! Messages for sessions of another server. No message is forwarded: the session moves to the server that its client
//! uses now.

use std::time::Duration;

use actix::Addr;
use platform_actors::Pulled;
use platform_actors::session::{ClientId, FindOwner, SessionActor, Verdict};
use platform_model::realtime::bayeux::reply::Acknowledgement;
use platform_model::realtime::bayeux::{Advice, Reply, RequestMessage};
use platform_model::realtime::trace::record::EndReason;
use tokio::time::{Instant, sleep};

use super::{CONNECT, DISCONNECT, Exchange, Replies};
use crate::auth::Caller;
use crate::http::error::Result;

/// The time for which a message is repeated whose session other servers take meanwhile.
pub(super) const LONGEST: Duration = Duration::from_secs(3);
/// The time after which a stopping server responds to a connect whose session it does not have. A balancer will then
/// probably choose another server. The client itself is not advised to wait, because it would do so for ever (B-09a).
const COME_BACK: Duration = Duration::from_millis(500);

/// The session that a message names.
pub(super) enum Found {
    Session(Addr<SessionActor>, ClientId),
    /// No such session exists for this caller.
    Unknown,
    /// The session may exist, but cannot be used here at the moment (B-16a).
    NotNow,
}

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
        let here = match self.realtime.platform.find_session(client) {
            Some((tenant, session)) => {
                let owner = session.send(FindOwner).await.ok().flatten();
                owner.map(|owner| (tenant, owner.user, owner.expires))
            }
            None => None,
        };
        // A session that was on its way for another user is elsewhere.
        let (tenant, user, expires) = match here {
            Some(owner) => owner,
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
    pub(super) async fn pull_session(&mut self, message: &RequestMessage<'_>) -> Result<Found> {
        let client = message.client_id().and_then(|client| ClientId::parse(&client));
        let (Some(client), Some(caller)) = (client, self.caller.clone()) else { return Ok(Found::Unknown) };
        let platform = &self.realtime.platform;
        let connects = message.channel().as_deref() == Some(CONNECT);
        if connects && platform.is_handing_over() {
            return Ok(Found::Unknown);
        }
        let (session, patterns) = match platform.pull_session(&caller.tenant, client, &caller.user).await? {
            Pulled::Here(session, patterns) => (session, patterns),
            Pulled::Unknown => return Ok(Found::Unknown),
            Pulled::NotNow => return Ok(Found::NotNow),
        };
        if self.may_receive(&caller, &patterns).await? == Verdict::Denied {
            platform.end_session(&session, EndReason::Revoked).await;
            return Ok(Found::Unknown);
        }
        // If not, the session has ended or is at another server again.
        let is_here = self.may_still_receive(&caller, &session).await;
        Ok(if is_here { Found::Session(session, client) } else { Found::NotNow })
    }

    /// Returns whether a session that does not accept a message is the one of this clientId here, so that it belongs
    /// to another user. Otherwise it has ended or left meanwhile.
    pub(super) fn is_of_another_user(&self, session: &Addr<SessionActor>, client: ClientId) -> bool {
        let Some(caller) = &*self.caller else { return false };
        let now = self.realtime.platform.tenant(&caller.tenant).session(client);
        now.is_some_and(|now| now == *session)
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
        let deadline = Instant::now() + LONGEST;
        loop {
            let known = match channel {
                "/meta/subscribe" => self.subscribe(message, &session, replies).await?,
                "/meta/unsubscribe" => self.unsubscribe(message, &session, replies).await,
                DISCONNECT => self.disconnect(message, &session, replies).await,
                _ => Known::No,
            };
            if known == Known::Yes {
                return Ok(());
            }
            let found = if self.is_of_another_user(&session, client) {
                Found::Unknown
            } else if Instant::now() >= deadline {
                Found::NotNow
            } else {
                self.session(message).await?
            };
            match found {
                Found::Session(moved, _) => session = moved,
                Found::Unknown => {
                    replies.unknown_client(message, channel);
                    return Ok(());
                }
                Found::NotNow => {
                    replies.not_now(message, channel);
                    return Ok(());
                }
            }
        }
    }

    /// Rejects a message whose session does not exist. A stopping server accepts a connect, because the session may be
    /// at another server.
    pub(super) async fn refuse_unknown(
        &self,
        message: &RequestMessage<'_>,
        channel: &str,
        replies: &mut Replies,
    ) {
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
        sleep(COME_BACK).await;
        let advice = Advice::retry(Duration::ZERO, platform.limits().connect_timeout);
        replies.push(&Reply {
            id: message.id(),
            channel: Some(channel),
            client_id: text.as_deref(),
            successful: true,
            advice: Some(advice),
            ext: message.acknowledged_batch().map(Acknowledgement::Batch),
            ..Reply::default()
        });
    }
}
