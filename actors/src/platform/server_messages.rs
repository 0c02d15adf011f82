//! Handles the messages about sessions that other servers send to this one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::session_move::{Leaving, ServerMessage};

use super::{Holders, Platform, WantedSessions};
use crate::session::dispatcher::SessionDispatcher;
use crate::session::starting::ArrivingSession;
use crate::session::{ClientId, EndSession, FindOwner, Owner, SessionActor, StartMove};
use crate::session_moves::{ArrivalSource, Destination};

impl Platform {
    /// Handles a message of another server. The listening connection calls it, so it must not wait.
    pub(super) fn handle_message(self: &Arc<Self>, message: ServerMessage) {
        let messages = self.database.session_moves();
        match message {
            ServerMessage::Wanted { client, tenant, user, request, by } => {
                let (client, destination) = (ClientId::parse(&client), Destination { server: by, request });
                match client.and_then(|client| self.session_of(&tenant, client)) {
                    Some(session) => session.do_send(StartMove { user: Some(user), destination }),
                    // The request was repeated, and the session has already left because of it.
                    None if client.is_some_and(|client| self.transfers.follows(client, destination)) => {}
                    None => messages.tell(by, self.transfers.refusal(client, request)),
                }
            }
            ServerMessage::WhoOwns { client, request, by } => {
                let platform = self.clone();
                tokio::spawn(async move {
                    let client = ClientId::parse(&client);
                    let owner = platform.owner_of(client, request).await;
                    let owner = owner.unwrap_or_else(|| platform.transfers.refusal(client, request));
                    platform.database.session_moves().tell(by, owner);
                });
            }
            ServerMessage::End { client, tenant } => {
                let Some(client) = ClientId::parse(&client) else { return };
                match self.session_of(&tenant, client) {
                    Some(session) => session.do_send(EndSession),
                    None if self.transfers.is_departing(client) => {
                        let platform = self.clone();
                        tokio::spawn(async move {
                            let here = || platform.session_of(&tenant, client);
                            platform.transfers.end_wherever_it_is(client, tenant.clone(), here).await;
                        });
                    }
                    None => {}
                }
            }
            ServerMessage::Adopt { sessions } => {
                let platform = self.clone();
                tokio::spawn(async move { platform.adopt(sessions).await });
            }
            ServerMessage::Show { request, by, tenant, filter, after, limit, ends } => {
                let platform = self.clone();
                let wanted = WantedSessions { filter, after, limit };
                tokio::spawn(
                    async move { platform.show_sessions((by, request), &tenant, wanted, ends).await },
                );
            }
            ServerMessage::Shown { request, from, found } => self.questions.receive(request, from, found),
            response => self.transfers.receive(response),
        }
    }

    fn session_of(&self, tenant: &str, client: ClientId) -> Option<Addr<SessionActor>> {
        let tenant = TenantId::parse(tenant).ok()?;
        self.tenants.read().get(&tenant)?.session(client)
    }

    async fn owner_of(&self, client: Option<ClientId>, request: u64) -> Option<ServerMessage> {
        let (tenant, session) = self.find_session(client?)?;
        let Owner { user, expires } = session.send(FindOwner).await.ok()?;
        let expires_in = expires.map(|expires| expires.saturating_duration_since(Instant::now()));
        let (tenant, user) = (tenant.to_string(), user.to_string());
        Some(ServerMessage::Owner { request, tenant, user, expires_in })
    }

    /// Takes over the sessions of a server that stops. Their clients come later.
    async fn adopt(&self, sessions: Vec<Leaving>) {
        if self.transfers.is_closed() {
            return;
        }
        let Ok(threads) = self.threads_for_sessions().await else { return };
        let mut users: HashMap<TenantId, Vec<Arc<str>>> = HashMap::new();
        for (n, Leaving { client, tenant, user }) in sessions.into_iter().enumerate() {
            let (Some(client), Ok(tenant)) = (ClientId::parse(&client), TenantId::parse(&tenant)) else {
                continue;
            };
            let user = Arc::<str>::from(user);
            let arriving = ArrivingSession { client, user: user.clone(), source: ArrivalSource::stopping() };
            self.tenant(&tenant).environment.take_session(arriving, &threads[n % threads.len()]);
            users.entry(tenant).or_default().push(user);
        }
        // Rights that were withdrawn during the moves take effect here; this waits until the sessions have arrived.
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
