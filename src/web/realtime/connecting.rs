//! Parks a `/meta/connect` message with its session. Parking needs no future: the session is looked up, and the connect
//! is sent to it as a message whose reply is not awaited.

use std::time::Duration;

use actix::Addr;
use platform_actors::session::{
    AcknowledgedTo, ClientId, Connect, FirstConnect, PollHere, ResponseContent, SessionActor, SessionHere,
};
use platform_model::realtime::bayeux::{Batch, CONNECTION_TYPES, RequestMessage};
use tokio::sync::oneshot;

use super::{CONNECT, Held, Realtime, Transport};
use crate::auth::Caller;

/// The context in which the server processes a connect.
pub(crate) struct Connecting<'e> {
    pub(crate) realtime: &'e Realtime,
    pub(crate) caller: &'e Caller,
    pub(crate) transport: &'e Transport,
}

impl Connecting<'_> {
    /// Parks a connect that is the only message of a long-polling request, which is the most frequent request of a
    /// fleet. A session that runs on this thread is called with it and calls the connection back, unless it has other
    /// things to do first. Returns `None` for every other text.
    /// `last` is the session of the last connect of this connection, which is usually the session of the next one.
    pub(crate) fn park_alone(
        &self,
        text: &[u8],
        here: PollHere,
        last: &mut Option<SessionHere>,
    ) -> Option<Held> {
        let messages = Batch::parse(text).ok()?.0;
        let [message] = &messages[..] else { return None };
        let is_meant =
            matches!(self.transport, Transport::LongPolling) && message.channel().as_deref() == Some(CONNECT);
        if !is_meant {
            return None;
        }
        if let Some((session, client)) = self.find_session_here(message, last)
            && session.connect(self.connect(message, true, here))
        {
            *last = Some(session.clone());
            return Some(Held::here(session, client, message));
        }
        Some(self.park(message, self.find_session(message)?, true))
    }

    /// Looks up the session that a message names, if it runs on this thread.
    fn find_session_here(
        &self,
        message: &RequestMessage<'_>,
        last: &mut Option<SessionHere>,
    ) -> Option<(SessionHere, ClientId)> {
        let client = ClientId::parse(&message.client_id()?)?;
        let tenant = self.realtime.platform.tenant(&self.caller.tenant);
        let session = match last.take().filter(|last| tenant.has_session_here(last, client)) {
            Some(session) => session,
            None => tenant.session_here(client)?,
        };
        Some((session, client))
    }

    /// Looks up the session that a message names. The session may belong to another user; the session checks its owner
    /// itself. A session that is on its way for another user is not found, because it may belong to this one.
    pub(super) fn find_session(
        &self,
        message: &RequestMessage<'_>,
    ) -> Option<(Addr<SessionActor>, ClientId)> {
        let client = ClientId::parse(&message.client_id()?)?;
        Some((
            self.realtime.platform.tenant(&self.caller.tenant).session_for(client, &self.caller.user)?,
            client,
        ))
    }

    /// Sends the connect to its session.
    pub(super) fn park(
        &self,
        message: &RequestMessage<'_>,
        (session, client): (Addr<SessionActor>, ClientId),
        waits: bool,
    ) -> Held {
        let (reply_to, answer) = oneshot::channel();
        session.do_send(self.connect(message, waits, reply_to));
        Held::new(answer, session, client, message)
    }

    fn connect<R>(&self, message: &RequestMessage<'_>, waits: bool, reply_to: R) -> Connect<R> {
        let wishes = message.advice();
        let asked = wishes.and_then(|wishes| wishes.timeout);
        let default = self.default_hold();
        let hold = match waits {
            // A connect ends at the latest when the caller's token expires.
            true => {
                asked.map_or(default, |asked| self.caller.remaining().map_or(asked, |rest| asked.min(rest)))
            }
            false => Duration::ZERO,
        };
        let carries = match self.transport {
            Transport::LongPolling => ResponseContent::Notifications,
            Transport::Socket(..) => ResponseContent::Heartbeat,
            Transport::Mute => ResponseContent::Nothing,
        };
        let first = if self.realtime.compatibility.is_on() {
            FirstConnect::AnsweredAtOnce
        } else {
            FirstConnect::Held
        };
        Connect {
            user: self.caller.user.clone(),
            expires: self.caller.expires(),
            hold,
            advised: wishes.map(|_| default),
            interval: wishes.and_then(|wishes| wishes.interval),
            acknowledged: acknowledged(message),
            carries,
            first,
            reply_to,
        }
    }

    /// Returns the hold time of a connect whose client requests no other, which is the timeout that the advice
    /// announces (B-08a). Clients keep the last advice and abandon a connect that lasts longer.
    pub(super) fn default_hold(&self) -> Duration {
        let longest = self.realtime.platform.limits().connect_timeout;
        self.caller.remaining().map_or(longest, |remaining| longest.min(remaining))
    }
}

/// Returns what a client has received: a batch, or the notifications of a consumer (B-34).
fn acknowledged(message: &RequestMessage<'_>) -> Option<AcknowledgedTo> {
    let batch = message.acknowledged_batch().map(AcknowledgedTo::Batch);
    batch.or_else(|| message.acknowledged_position().map(AcknowledgedTo::Position))
}

/// Returns the connection types that the client and this server have in common. Clients of the field leave the member
/// out, and then take what there is (M-05a).
pub(super) fn common_types(message: &RequestMessage<'_>) -> Vec<&'static str> {
    match message.connection_types() {
        Some(offered) => CONNECTION_TYPES.into_iter().filter(|t| offered.iter().any(|o| o == t)).collect(),
        None => CONNECTION_TYPES.to_vec(),
    }
}
