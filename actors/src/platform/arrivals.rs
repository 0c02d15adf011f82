//! Takes sessions over from other servers: for a message of their client, and when their server stops.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::future::join_all;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::session_move::Leaving;
use tokio::time::Instant;

use super::{Holders, Platform};
use crate::session::arriving::{Arrival, AwaitArrival};
use crate::session::dispatcher::SessionDispatcher;
use crate::session::starting::ArrivingSession;
use crate::session::{ClientId, SessionActor};
use crate::session_moves::ArrivalSource;

/// The time for which a session is requested again because requests for other users did not bring it.
const LONGEST: Duration = Duration::from_secs(3);

/// The result of a request for a session of another server.
#[derive(Debug)]
pub enum Pulled {
    /// The session is here now, with these subscriptions.
    Here(Addr<SessionActor>, Box<[Pattern]>),
    /// The session has ended, or belongs to another user.
    Unknown,
    /// The session may exist, but cannot move to this server at the moment (B-16a).
    NotNow,
}

impl Platform {
    /// Moves a session of the user to the calling thread.
    ///
    /// # Errors
    /// `Unavailable` while the database is not reachable.
    pub async fn pull_session(&self, tenant: &TenantId, client: ClientId, user: &Arc<str>) -> Result<Pulled> {
        if !self.has_made(client) {
            return Ok(Pulled::Unknown);
        }
        self.database.ensure_reachable()?;
        let to = SessionDispatcher::here();
        Ok(self.take_for(tenant, (client, user), ArrivalSource::elsewhere, &to).await)
    }

    /// Takes a session over for a user, and waits until it has arrived. The session may be on its way for another user
    /// who is not its owner; then it is requested again when that request has failed.
    async fn take_for(
        &self,
        tenant: &TenantId,
        (client, user): (ClientId, &Arc<str>),
        source: fn() -> ArrivalSource,
        dispatcher: &Addr<SessionDispatcher>,
    ) -> Pulled {
        let tenant = self.tenant(tenant);
        let deadline = Instant::now() + LONGEST;
        loop {
            let arriving = ArrivingSession { client, user: user.clone(), source: source() };
            let Some(session) = tenant.environment.take_session(arriving, dispatcher) else {
                return Pulled::Unknown;
            };
            match session.send(AwaitArrival { user: user.clone() }).await {
                Ok(Arrival::Here(patterns)) => return Pulled::Here(session, patterns),
                Ok(Arrival::Unknown) | Err(_) => return Pulled::Unknown,
                Ok(Arrival::NotNow) => return Pulled::NotNow,
                Ok(Arrival::ForAnother) if Instant::now() >= deadline => return Pulled::NotNow,
                Ok(Arrival::ForAnother) => {}
            }
        }
    }

    /// Takes over the sessions of a server that stops. Their clients come later.
    pub(super) async fn adopt(&self, sessions: Vec<Leaving>) {
        if self.transfers.is_closed() {
            return;
        }
        let Ok(threads) = self.threads_for_sessions().await else { return };
        let (mut users, mut taken): (HashMap<TenantId, Vec<Arc<str>>>, _) = (HashMap::new(), Vec::new());
        for (n, Leaving { client, tenant, user }) in sessions.into_iter().enumerate() {
            let (Some(client), Ok(tenant)) = (ClientId::parse(&client), TenantId::parse(&tenant)) else {
                continue;
            };
            let (user, thread) = (Arc::<str>::from(user), &threads[n % threads.len()]);
            users.entry(tenant.clone()).or_default().push(user.clone());
            let take = async move {
                drop(self.take_for(&tenant, (client, &user), ArrivalSource::stopping, thread).await);
            };
            taken.push(take);
        }
        join_all(taken).await;
        // Rights that were withdrawn during the moves take effect here.
        for (tenant, users) in users {
            let of = Holders::Users(users.iter().map(|user| (&**user).into()).collect());
            self.end_sessions_without_rights(&tenant, of).await;
        }
    }

    /// Returns the threads on which sessions of other servers can live: those of connections, or, if there are none,
    /// one that exists without connections.
    async fn threads_for_sessions(&self) -> Result<Vec<Addr<SessionDispatcher>>> {
        let threads = self.session_threads.lock().clone();
        if threads.is_empty() || self.transfers.is_stopping() {
            return Ok(vec![self.keeper().await?.dispatcher]);
        }
        Ok(threads)
    }
}
