//! `/meta/subscribe` and `/meta/unsubscribe`: which channels a caller may receive (B-01, B-16, B-17).

use std::sync::Arc;

use actix::Addr;
use platform_actors::session::{
    self, IsOwnedBy, Rights, SessionActor, Subscribe, Subscribed, Unsubscribe, Verdict,
};
use platform_actors::{Holders, Names};
use platform_model::error::Error;
use platform_model::realtime::bayeux::{Pattern, RequestMessage, error};
use platform_model::realtime::filter::NotificationFilter;
use platform_store::devices::groups;

use super::moved::Known;
use super::{Exchange, Replies};
use crate::auth::Caller;
use crate::http::error::Result;

/// The channels of a subscription, and the filter of their notifications.
type Wanted = (Vec<Pattern>, Option<Arc<NotificationFilter>>);

impl Exchange<'_> {
    /// Subscribes to one channel or several. Either all subscriptions succeed or none.
    ///
    /// # Errors
    /// `Unavailable` or `Database` when the owner of an object or a module cannot be looked up.
    pub(super) async fn subscribe(
        &mut self,
        message: &RequestMessage<'_>,
        session: &Addr<SessionActor>,
        replies: &mut Replies,
    ) -> Result<Known> {
        let channel = "/meta/subscribe";
        let Some(caller) = self.caller.clone() else { return Ok(Known::No) };
        if !session.send(IsOwnedBy { user: caller.user.clone() }).await.unwrap_or(false) {
            return Ok(Known::No);
        }
        let (patterns, filter) = match self.wanted(message) {
            Ok(wanted) => wanted,
            Err(error) => {
                replies.refuse(message, Some(channel), &error, None);
                return Ok(Known::Yes);
            }
        };
        if let Some(reason) = self.denial(&caller, &patterns).await? {
            replies.refuse(message, Some(channel), error::SUBSCRIBE_DENIED, None);
            replies.explain(&reason);
            return Ok(Known::Yes);
        }
        if let Some(extension) = message.snapshot() {
            let channels = (&*patterns, filter);
            let subscribed =
                self.subscribe_with_list(message, extension, (&caller, channels), session, replies);
            return Box::pin(subscribed).await;
        }
        // From here on, this server receives the tenant's notifications from other servers.
        let _subscription = Box::pin(self.realtime.platform.database().subscribe(&caller.tenant)).await?;
        // The session may move at this moment; it then repeats the subscription at its new server.
        let (user, templates) = (caller.user.clone(), self.templates.clone());
        match session.send(Subscribe { user, patterns, filter, templates }).await {
            Ok(Subscribed::Done) if self.may_still_receive(&caller, session).await => {
                replies.accept(message, channel);
            }
            Ok(Subscribed::TooMany | Subscribed::Denied) => {
                replies.refuse(message, Some(channel), error::SUBSCRIBE_DENIED, None);
                replies.explain("the session or the channel has too many subscriptions or filters");
            }
            Ok(Subscribed::Done | Subscribed::UnknownClient) | Err(_) => return Ok(Known::No),
        }
        Ok(Known::Yes)
    }

    /// Returns why the caller may not subscribe to channels, in words; `None` if it may.
    async fn denial(&self, caller: &Caller, patterns: &[Pattern]) -> Result<Option<String>> {
        let verdict = self.may_receive(caller, patterns).await?;
        if verdict == Verdict::Allowed {
            let unknown = self.names_no_group(caller, patterns).await?;
            if unknown.is_some() || self.name_deployed_modules(caller, patterns).await? {
                return Ok(unknown);
            }
        }
        let mut roles: Vec<&str> = patterns.iter().map(Pattern::role).collect();
        roles.sort_unstable();
        roles.dedup();
        let user = &caller.user;
        Ok(Some(match verdict {
            Verdict::Allowed => "no module of this name is deployed".to_owned(),
            Verdict::Denied => {
                format!("the user {user} holds neither {} nor a right to the object", roles.join(", "))
            }
            Verdict::Absent => "the object does not exist".to_owned(),
        }))
    }

    /// Unsubscribes. Unsubscribing from a channel without a subscription is not an error (B-16).
    pub(super) async fn unsubscribe(
        &mut self,
        message: &RequestMessage<'_>,
        session: &Addr<SessionActor>,
        replies: &mut Replies,
    ) -> Known {
        let channel = "/meta/unsubscribe";
        let patterns = match self.patterns(message) {
            Ok(patterns) => patterns,
            Err(error) => {
                replies.refuse(message, Some(channel), error, None);
                return Known::Yes;
            }
        };
        let Some(user) = self.caller.as_ref().map(|caller| caller.user.clone()) else { return Known::No };
        match session.send(Unsubscribe { user, patterns }).await {
            Ok(Subscribed::Done) => replies.accept(message, channel),
            _ => return Known::No,
        }
        Known::Yes
    }

    /// Returns the channels that a message subscribes to, and the filter of their notifications.
    ///
    /// # Errors
    /// The Bayeux error of the first value that is invalid.
    fn wanted(&self, message: &RequestMessage<'_>) -> std::result::Result<Wanted, String> {
        let patterns = self.patterns(message)?;
        let filter = message.filter().map_err(|error| format!("403::{error}"))?;
        Ok((patterns, filter))
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

    pub(super) async fn may_receive(&self, caller: &Caller, patterns: &[Pattern]) -> Result<Verdict> {
        let rights = Rights { user: &caller.user, roles: &caller.roles, permissions: &caller.permissions };
        let (database, asked) = (self.realtime.platform.database(), [(rights, patterns)]);
        let verdicts = Box::pin(session::may_receive(database, &caller.tenant, &asked)).await?;
        Ok(verdicts.first().copied().unwrap_or(Verdict::Denied))
    }

    /// Returns whether the session is still valid after a subscription. A request that revoked permissions of the user
    /// meanwhile did not see this subscription, so the permissions are checked here again.
    pub(super) async fn may_still_receive(&self, caller: &Caller, session: &Addr<SessionActor>) -> bool {
        if self.realtime.authenticator.is_current(caller) {
            return true;
        }
        let user = Holders::Users(Names::from([(&*caller.user).into()]));
        Box::pin(self.realtime.platform.end_sessions_without_rights(&caller.tenant, user)).await;
        session.send(IsOwnedBy { user: caller.user.clone() }).await.unwrap_or(false)
    }

    /// Returns which channel of a group names no group, or one with an invalid query, in words (B-39).
    async fn names_no_group(&self, caller: &Caller, patterns: &[Pattern]) -> Result<Option<String>> {
        let database = self.realtime.platform.database();
        for pattern in patterns {
            let Pattern::Group(channel) = pattern else { continue };
            match Box::pin(groups::find_membership(database, &caller.tenant, channel.group)).await {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Some(format!("there is no group {}", channel.group))),
                Err(Error::Invalid(fault)) => {
                    return Ok(Some(format!("the group {} has an invalid query: {fault}", channel.group)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Returns whether every module channel names a deployed module; any other first segment is a spelling error
    /// (S-52a). The statements of the module are not checked, because they may change during the subscription.
    async fn name_deployed_modules(&self, caller: &Caller, patterns: &[Pattern]) -> Result<bool> {
        let database = self.realtime.platform.database();
        for pattern in patterns {
            if let Pattern::Module { module, .. } = pattern
                && !Box::pin(platform_store::applications::modules::is_deployed(
                    database,
                    &caller.tenant,
                    module,
                ))
                .await?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
