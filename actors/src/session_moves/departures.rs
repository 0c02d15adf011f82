//! The sessions that leave this server.

use actix::prelude::*;
use platform_model::id::TenantId;
use platform_model::realtime::session_move::ServerMessage;
use platform_model::realtime::trace::record::EndReason;
use platform_store::realtime::publications::ListeningConnection;

use super::Transfers;
use crate::session::deliveries::DispatchToSessions;
use crate::session::dispatcher::{SessionDispatcher, SessionSlot};
use crate::session::{ClientId, EndSession, HandOver, SessionActor};

/// A session that another server has requested. It is registered until its actor ends, some time after the session has
/// left, because a server with outdated information may still request it here; that server is then asked to retry.
pub(super) struct Departure {
    destination: Destination,
    /// The session before the point of its move; `None` once the point is reached.
    before_point: Option<BeforePoint>,
}

/// The request that a session follows. Each server process numbers its requests from 1, so only the server and the
/// number together identify a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Destination {
    /// The server that takes the session over.
    pub(crate) server: i64,
    /// The number of its request.
    pub(crate) request: u64,
}

/// A session that was requested and has not reached the point of its move yet.
pub(crate) struct BeforePoint {
    pub(crate) tenant: TenantId,
    /// The listening connection through which the session receives the publications of other servers.
    pub(crate) listening_connection: ListeningConnection,
    pub(crate) slot: SessionSlot,
    pub(crate) dispatcher: Addr<SessionDispatcher>,
}

impl BeforePoint {
    /// Sends a message to the session on the path of notifications, so the session receives it after them.
    fn send<M>(self, message: M)
    where
        M: Message<Result = ()> + Clone + Send + 'static,
        SessionActor: Handler<M, Result = ()>,
    {
        let Self { tenant, slot, dispatcher, .. } = self;
        dispatcher.do_send(DispatchToSessions { tenant, message, to: vec![slot] });
    }
}

impl Transfers {
    /// Registers a session as leaving. Returns `false` if sessions may not leave now.
    #[must_use]
    pub(crate) fn leaving(
        &self,
        client: ClientId,
        destination: Destination,
        before_point: BeforePoint,
    ) -> bool {
        let mut departures = self.departures.lock();
        // `stay_until` raises `endings` before it reads the departures under this lock, so one of the two sees the
        // other.
        let may_leave = self.may_leave();
        if may_leave {
            departures.insert(client, Departure { destination, before_point: Some(before_point) });
        }
        may_leave
    }

    /// Ends the sessions of a tenant that wait for the point of their move, because this server may have missed the
    /// point.
    pub(super) fn end_those_before_point(&self, tenant: &TenantId) {
        for departure in self.departures.lock().values_mut() {
            if let Some(session) = departure.before_point.take_if(|before| before.tenant == *tenant) {
                session.send(EndSession(EndReason::Gap));
            }
        }
    }

    /// Ends a session that is leaving or has just left. `here` finds it if it has come back to this server.
    pub(crate) async fn end_departing(
        &self,
        client: ClientId,
        tenant: &TenantId,
        here: impl FnOnce() -> Option<Addr<SessionActor>>,
    ) {
        let before_point =
            self.departures.lock().get_mut(&client).and_then(|leaving| leaving.before_point.take());
        match before_point {
            Some(session) => session.send(EndSession(EndReason::Gap)),
            None => self.end_wherever_it_is(client, tenant.to_string(), here).await,
        }
    }

    /// Forgets that a session is leaving or has left, because its actor ended.
    pub(crate) fn forget_departure(&self, client: ClientId, destination: Destination) {
        let mut departures = self.departures.lock();
        if departures.get(&client).is_some_and(|departure| departure.destination == destination) {
            departures.remove(&client);
        }
    }

    /// Returns whether a session is leaving or has just left because of this request.
    pub(crate) fn follows(&self, client: ClientId, destination: Destination) -> bool {
        self.departures.lock().get(&client).is_some_and(|departure| departure.destination == destination)
    }

    /// Returns whether a session is leaving and the database may not name its new server yet.
    pub(super) fn is_before_point(&self, client: ClientId) -> bool {
        self.departures.lock().get(&client).is_some_and(|departure| departure.before_point.is_some())
    }

    /// Returns whether any session is leaving and has not reached its point yet.
    pub(super) fn has_some_before_point(&self) -> bool {
        self.departures.lock().values().any(|departure| departure.before_point.is_some())
    }

    /// Returns whether a session is leaving or has just left.
    pub(crate) fn is_departing(&self, client: ClientId) -> bool {
        self.departures.lock().contains_key(&client)
    }

    /// Returns the response to a request for a session that is not at this server.
    pub(crate) fn refusal(&self, client: Option<ClientId>, request: u64) -> ServerMessage {
        match client.is_some_and(|client| self.is_departing(client)) {
            true => ServerMessage::Moving { request },
            false => ServerMessage::Absent { request },
        }
    }

    /// Lets a session hand over the notifications it has received until now. A session that may have missed some ends
    /// instead.
    pub(super) fn hand_over(&self, client: ClientId, destination: Destination) {
        let mut departures = self.departures.lock();
        let departure = departures.get_mut(&client).filter(|departure| departure.destination == destination);
        if let Some(departure) = departure
            && let Some(session) = departure.before_point.take()
        {
            if self.database.publications().has_received_all_since(&session.listening_connection) {
                session.send(HandOver);
            } else {
                session.send(EndSession(EndReason::Gap));
            }
        }
    }
}
