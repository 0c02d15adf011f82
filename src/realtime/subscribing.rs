//! `/meta/subscribe` and `/meta/unsubscribe`: which channels a caller may receive (B-01, B-16, B-17).

use actix::Addr;
use platform_actors::bayeux::{Pattern, RequestMessage, error};
use platform_actors::model::access::{Ownership, Permission};
use platform_actors::session::{Belongs, SessionActor, Subscribe, Subscribed, Unsubscribe};
use platform_actors::{Error, store};

use super::{Exchange, Replies};
use crate::auth::Caller;
use crate::http::error::Result;

impl Exchange<'_> {
    /// Subscribes to one channel or several: to all of them or to none.
    ///
    /// # Errors
    /// `Unavailable` or `Database` when ownership cannot be looked up.
    pub(super) async fn subscribe(
        &mut self,
        message: &RequestMessage<'_>,
        session: &Addr<SessionActor>,
        replies: &mut Replies,
    ) -> Result<()> {
        let channel = "/meta/subscribe";
        let Some(caller) = self.caller.clone() else { return Ok(()) };
        if !session.send(Belongs { user: caller.user.clone() }).await.unwrap_or(false) {
            replies.unknown_client(message, channel);
            return Ok(());
        }
        let patterns = match self.patterns(message) {
            Ok(patterns) => patterns,
            Err(error) => {
                replies.refuse(message, Some(channel), error, None);
                return Ok(());
            }
        };
        for pattern in &patterns {
            if !self.may_receive(&caller, pattern).await? {
                replies.refuse(message, Some(channel), error::SUBSCRIBE_DENIED, None);
                return Ok(());
            }
        }
        let (user, templates) = (caller.user.clone(), self.templates.take());
        match session.send(Subscribe { user, patterns, templates }).await {
            Ok(Subscribed::Done) => replies.accept(message, channel),
            Ok(Subscribed::TooMany) => replies.refuse(message, Some(channel), error::SUBSCRIBE_DENIED, None),
            Ok(Subscribed::UnknownClient) | Err(_) => replies.unknown_client(message, channel),
        }
        Ok(())
    }

    /// Unsubscribes; from a channel that was never subscribed it is no error (B-16).
    pub(super) async fn unsubscribe(
        &mut self,
        message: &RequestMessage<'_>,
        session: &Addr<SessionActor>,
        replies: &mut Replies,
    ) {
        let channel = "/meta/unsubscribe";
        let patterns = match self.patterns(message) {
            Ok(patterns) => patterns,
            Err(error) => return replies.refuse(message, Some(channel), error, None),
        };
        let Some(user) = self.caller.as_ref().map(|caller| caller.user.clone()) else { return };
        match session.send(Unsubscribe { user, patterns }).await {
            Ok(Subscribed::Done) => replies.accept(message, channel),
            _ => replies.unknown_client(message, channel),
        }
    }

    fn patterns(&self, message: &RequestMessage<'_>) -> std::result::Result<Vec<Pattern>, &'static str> {
        if message.subscription().is_none() {
            return Err(error::SUBSCRIPTION_MISSING);
        }
        let names =
            message.subscriptions().filter(|names| !names.is_empty()).ok_or(error::SUBSCRIPTION_INVALID)?;
        names
            .iter()
            .map(|name| Pattern::parse(self.endpoint, name).ok_or(error::SUBSCRIPTION_INVALID))
            .collect()
    }

    /// The role of the channel; or the one object it is about is the caller's, or permitted whatever its fragments (B-01).
    async fn may_receive(&self, caller: &Caller, pattern: &Pattern) -> Result<bool> {
        let Some((id, api)) = pattern.object() else { return Ok(caller.roles.has(pattern.role())) };
        let authority = caller.authority(pattern.role(), api, Permission::Read);
        let (database, by) = (self.edge.platform.database(), (&authority, &*caller.user, Ownership::Counts));
        match Box::pin(store::access::authorize(database, &caller.tenant, id, by, |_, _| false)).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound { .. } | Error::Forbidden) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
