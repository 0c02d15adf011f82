//! Starts sessions at this server, with a handshake or with the state that they had elsewhere. The calling thread does
//! it while it locks the sessions of users, so that no clientId is used twice and no user has more sessions than
//! allowed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use platform_model::error::Result;
use platform_model::units::SystemOfUnits;
use platform_store::tenancy::tenant_limits::Counted;

use super::dispatcher::{Beginning, NewSessionActor, SessionDispatcher};
use super::{ClientId, SessionActor, SessionEnvironment};
use crate::session_moves::ArrivalSource;

/// The properties of a session that a handshake opens.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The user who owns the session.
    pub user: Arc<str>,
    /// The time at which the user's token expires; `None` for a password.
    pub expires: Option<Instant>,
    /// The time that the session lives after a connect, if the client requests a value.
    pub interval: Option<Duration>,
    /// Whether batches are numbered (B-22).
    pub acknowledgement: AcknowledgementExtension,
    /// The system of units for measurements in notifications; `None` leaves them as stored (B-20).
    pub units: Option<SystemOfUnits>,
    /// The address of the client.
    pub address: Option<IpAddr>,
}

/// Whether the client requested numbered batches in its handshake (B-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcknowledgementExtension {
    /// `ext.ack` was true.
    Requested,
    /// `ext.ack` was absent or false.
    Absent,
}

/// A session that comes from another server, from another thread or from the table of stored sessions.
#[derive(Debug)]
pub(crate) struct ArrivingSession {
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
    pub(crate) source: ArrivalSource,
}

impl SessionEnvironment {
    /// Starts a session at a dispatcher. Returns `None` when the user has reached the limit of sessions (B-23), which
    /// includes sessions at other servers.
    ///
    /// # Errors
    /// `QuotaExceeded` when the tenant has reached its limit (Z-20).
    pub(crate) fn start_session(
        self: &Arc<Self>,
        new: NewSession,
        elsewhere: &[ClientId],
        dispatcher: &Addr<SessionDispatcher>,
    ) -> Result<Option<ClientId>> {
        let mut of_users = self.of_users.lock();
        self.of_tenant.check_one_more(Counted::Sessions, || self.sessions.len())?;
        if let Some(most) = self.limits.sessions_per_user {
            // A session that has left for another server is still listed here for some seconds, but counts there.
            let is_here = |client: &ClientId| self.sessions.find(client).is_some();
            let here = of_users.of(&new.user).filter(|client| is_here(client)).count();
            let there = elsewhere.iter().filter(|client| !is_here(client)).count();
            if here + there >= most {
                return Ok(None);
            }
        }
        let client = self.transfers.ids().make();
        of_users.insert(&new.user, client);
        let beginning = Beginning::New(new);
        let session = NewSessionActor { environment: self.clone(), client, beginning };
        SessionDispatcher::start_session(dispatcher, session);
        Ok(Some(client))
    }

    /// Takes a session over on the thread of the dispatcher. Returns the session, also if it is here already, or `None`
    /// if it has ended.
    pub(crate) fn take_session(
        self: &Arc<Self>,
        ArrivingSession { client, user, source }: ArrivingSession,
        dispatcher: &Addr<SessionDispatcher>,
    ) -> Option<Addr<SessionActor>> {
        let mut of_users = self.of_users.lock();
        match (&source, self.sessions.find(&client)) {
            (ArrivalSource::Here(session), Some(running)) if *session == running => {}
            (ArrivalSource::Here(_), _) => return None,
            (ArrivalSource::Elsewhere(_) | ArrivalSource::Stored(_), Some(running)) => return Some(running),
            (ArrivalSource::Elsewhere(_) | ArrivalSource::Stored(_), None) => {}
        }
        of_users.insert(&user, client);
        if matches!(source, ArrivalSource::Elsewhere(_)) {
            self.requested.insert(client, &user);
        }
        let beginning = Beginning::Arrival { user, source };
        let session = NewSessionActor { environment: self.clone(), client, beginning };
        Some(SessionDispatcher::start_session(dispatcher, session))
    }
}
