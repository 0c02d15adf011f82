//! Lists and counts sessions for operators. The dispatcher of each thread describes the sessions of its thread.

use std::collections::HashMap;

use actix::prelude::*;
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::Subscription;
use platform_model::realtime::client_session::{SessionFilter, SessionTransport};
use platform_model::realtime::session_move::SessionTraces;

use super::dispatcher::SessionDispatcher;
use super::{ClientId, SessionActor};

/// The sums over the sessions of a tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SessionSums {
    /// The number of sessions.
    pub(crate) sessions: i64,
    /// The number of sessions whose client waits with a held long poll.
    pub(crate) polls: i64,
    /// The number of sessions with a WebSocket.
    pub(crate) sockets: i64,
    /// The number of notifications in the queues of the sessions.
    pub(crate) queued: i64,
}

impl SessionSums {
    pub(crate) fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.polls += other.polls;
        self.sockets += other.sockets;
        self.queued += other.queued;
    }
}

/// Requests the sums over the sessions of a thread, by tenant.
#[derive(Debug, Message)]
#[rtype(result = "HashMap<TenantId, SessionSums>")]
pub(crate) struct SumSessions;

impl Handler<SumSessions> for SessionDispatcher {
    type Result = MessageResult<SumSessions>;

    fn handle(&mut self, _: SumSessions, _: &mut Self::Context) -> Self::Result {
        let mut sums: HashMap<TenantId, SessionSums> = HashMap::new();
        self.look_at_each(|session| {
            let own = session.sums();
            match sums.get_mut(&session.environment.id) {
                Some(sum) => sum.add(own),
                None => drop(sums.insert(session.environment.id.clone(), own)),
            }
        });
        MessageResult(sums)
    }
}

/// The present state of a session of this thread.
#[derive(Debug)]
pub(crate) struct SessionNow {
    pub(crate) client: ClientId,
    pub(crate) user: String,
    pub(crate) traces: SessionTraces,
    pub(crate) transport: SessionTransport,
    pub(crate) subscriptions: Box<[Subscription]>,
    pub(crate) queued: u64,
    pub(crate) holds_connect: bool,
}

/// Requests the sessions of a tenant on a thread that match a filter. The id in the filter is ignored.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Vec<SessionNow>")]
pub(crate) struct DescribeSessions {
    pub(crate) tenant: TenantId,
    pub(crate) filter: SessionFilter,
}

impl Handler<DescribeSessions> for SessionDispatcher {
    type Result = MessageResult<DescribeSessions>;

    fn handle(&mut self, describe: DescribeSessions, _: &mut Self::Context) -> Self::Result {
        let mut found = Vec::new();
        self.look_at_each(|session| {
            if session.environment.id == describe.tenant && session.matches(&describe.filter) {
                found.push(session.now());
            }
        });
        MessageResult(found)
    }
}

impl SessionActor {
    fn matches(&self, SessionFilter { id: _, user, channel, device }: &SessionFilter) -> bool {
        let mut patterns = self.subscriptions.iter().map(|subscription| &subscription.pattern);
        user.as_ref().is_none_or(|user| **user == *self.user)
            && channel.as_ref().is_none_or(|channel| patterns.clone().any(|one| one.receives(channel)))
            && device.is_none_or(|device| patterns.any(|pattern| pattern.concerns(device)))
    }

    fn now(&self) -> SessionNow {
        let transport = match (&self.socket, &self.templates) {
            (Some(_), _) => SessionTransport::WebSocket,
            (None, Some(_)) => SessionTransport::Csv,
            (None, None) => SessionTransport::LongPolling,
        };
        SessionNow {
            client: self.client,
            user: self.user.to_string(),
            traces: self.traces,
            transport,
            subscriptions: self.subscriptions.clone(),
            queued: self.queue.len() as u64,
            holds_connect: self.parked.is_some(),
        }
    }

    fn sums(&self) -> SessionSums {
        let has_socket = self.socket.is_some();
        SessionSums {
            sessions: 1,
            polls: (self.parked.is_some() && !has_socket).into(),
            sockets: has_socket.into(),
            queued: self.queue.len() as i64,
        }
    }
}
