//! What other servers ask of this one, and tell it, about sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::session_move::{Leaving, ServerMessage};
use platform_store::session_moves::Asked;

use super::{Holders, Platform};
use crate::session::dispatcher::SessionDispatcher;
use crate::session::{ClientId, EndSession, FindOwner, Owner, SessionActor, StartMove};
use crate::session_moves::Source;
use crate::tenant::TakeSession;

impl Platform {
    /// Handles a message of another server. It is called by the listening connection, and does not wait.
    pub(super) fn handle_message(self: &Arc<Self>, message: ServerMessage) {
        let messages = self.database.session_moves();
        match message {
            ServerMessage::Wanted { client, tenant, user, request, by } => {
                let client = ClientId::parse(&client);
                match client.and_then(|client| self.session_of(&tenant, client)) {
                    Some(session) => session.do_send(StartMove { user: Some(user), request, to: by }),
                    None if client.is_some_and(|client| self.transfers.is_leaving(client)) => {
                        messages.tell(by, ServerMessage::Moving { request });
                    }
                    None => messages.tell(by, ServerMessage::Absent { request }),
                }
            }
            ServerMessage::WhoOwns { client, request, by } => {
                let platform = self.clone();
                tokio::spawn(async move {
                    let owner = platform.owner_of(&client, request).await;
                    let is_leaving = || {
                        ClientId::parse(&client).is_some_and(|client| platform.transfers.is_leaving(client))
                    };
                    let owner = owner.unwrap_or_else(|| match is_leaving() {
                        true => ServerMessage::Moving { request },
                        false => ServerMessage::Absent { request },
                    });
                    platform.database.session_moves().tell(by, owner);
                });
            }
            ServerMessage::End { client, tenant } => {
                let Some(client) = ClientId::parse(&client) else { return };
                match self.session_of(&tenant, client) {
                    Some(session) => session.do_send(EndSession),
                    None if self.transfers.is_leaving(client) => {
                        let platform = self.clone();
                        tokio::spawn(async move { platform.end_where_it_is(client, tenant).await });
                    }
                    None => {}
                }
            }
            ServerMessage::Adopt { sessions } => {
                let platform = self.clone();
                tokio::spawn(async move { platform.adopt(sessions).await });
            }
            response => self.transfers.receive(response),
        }
    }

    /// Ends a session that has left this server.
    async fn end_where_it_is(&self, client: ClientId, tenant: String) {
        match self.transfers.end_elsewhere(client, tenant.clone()).await {
            // It has come back.
            Ok(Asked::Own) => {
                self.session_of(&tenant, client).into_iter().for_each(|session| session.do_send(EndSession));
            }
            Ok(Asked::Sent(_) | Asked::Nobody) => {}
            Err(error) => {
                tracing::warn!(%error, "a session that misses notifications could not be ended");
            }
        }
    }

    fn session_of(&self, tenant: &str, client: ClientId) -> Option<Addr<SessionActor>> {
        let tenant = TenantId::parse(tenant).ok()?;
        self.tenants.read().get(&tenant)?.session(client)
    }

    async fn owner_of(&self, client: &str, request: u64) -> Option<ServerMessage> {
        let (tenant, session) = self.find_session(ClientId::parse(client)?)?;
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
            let (user, dispatcher) = (Arc::<str>::from(user), threads[n % threads.len()].clone());
            let take = TakeSession { client, user: user.clone(), source: Source::stopping(), dispatcher };
            self.tenant(&tenant).address.do_send(take);
            users.entry(tenant).or_default().push(user);
        }
        // Rights that were withdrawn on their way count here; this waits until the sessions have arrived.
        for (tenant, users) in users {
            let of = Holders::Users(users.iter().map(|user| (&**user).into()).collect());
            self.end_sessions_without_rights(&tenant, of).await;
        }
    }

    /// Returns the threads on which sessions of other servers can live: those of connections, or else one that also
    /// lives when there are no connections.
    async fn threads_for_sessions(&self) -> Result<Vec<Addr<SessionDispatcher>>> {
        let threads = self.session_threads.lock().clone();
        if threads.is_empty() || self.transfers.is_stopping() {
            return Ok(vec![self.keeper().await?.dispatcher]);
        }
        Ok(threads)
    }
}
