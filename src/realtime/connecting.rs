//! How a connect comes to wait, which needs no future: sessions are looked up, and parking is a message that nobody waits for.

use std::time::Duration;

use actix::Addr;
use platform_actors::bayeux::{Batch, RequestMessage};
use platform_actors::session::{Carries, ClientId, Connect, FirstConnect, SessionActor};
use tokio::sync::oneshot;

use super::{CONNECT, Held, Transport};
use crate::auth::Caller;
use crate::server::Edge;

/// What it takes to connect.
pub(crate) struct Connecting<'e> {
    pub(crate) edge: &'e Edge,
    pub(crate) caller: &'e Caller,
    pub(crate) transport: &'e Transport,
}

impl Connecting<'_> {
    /// Parks a connect that came alone over long polling: what a fleet sends all the time. `None` when the text is anything
    /// else.
    pub(crate) fn park_alone(&self, text: &[u8]) -> Option<Held> {
        let messages = Batch::parse(text).ok()?.0;
        let [message] = &messages[..] else { return None };
        let is_meant =
            matches!(self.transport, Transport::LongPolling) && message.channel().as_deref() == Some(CONNECT);
        is_meant.then(|| Some(self.park(message, self.find_session(message)?, true, true)))?
    }

    /// The session a message names, of whatever user.
    pub(super) fn find_session(
        &self,
        message: &RequestMessage<'_>,
    ) -> Option<(Addr<SessionActor>, ClientId)> {
        let client = ClientId::parse(&message.client_id()?)?;
        Some((self.edge.platform.tenant(&self.caller.tenant).session(client)?, client))
    }

    /// Sends the connect to its session.
    pub(super) fn park(
        &self,
        message: &RequestMessage<'_>,
        (session, client): (Addr<SessionActor>, ClientId),
        alone: bool,
        waits: bool,
    ) -> Held {
        let user = self.caller.user.clone();
        let mut advice = message.advice();
        let carries = match (self.transport, alone) {
            (Transport::LongPolling, true) => Carries::Notifications,
            (Transport::LongPolling, false) => Carries::WhatIsThere,
            (Transport::Socket(_) | Transport::Mute, _) => Carries::Heartbeat,
        };
        if !waits {
            advice.get_or_insert_default().timeout = Some(Duration::ZERO);
        } else if let Some(remaining) = self.caller.remaining() {
            // What a token opens closes with it.
            let advice = advice.get_or_insert_default();
            let timeout = advice.timeout.unwrap_or(self.edge.limits().connect_timeout);
            advice.timeout = Some(timeout.min(remaining));
        }
        let first = match self.edge.client_compatibility {
            true => FirstConnect::AnsweredAtOnce,
            false => FirstConnect::Held,
        };
        let (reply_to, answer) = oneshot::channel();
        let acknowledged = message.acknowledged_batch();
        session.do_send(Connect { user, advice, acknowledged, carries, first, reply_to });
        let id = message.id().map(ToOwned::to_owned);
        Held { answer, session, client, id, answered: false }
    }
}
