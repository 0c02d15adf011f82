//! Handles the messages about sessions that other servers send to this one.

use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use platform_model::id::TenantId;
use platform_model::realtime::session_move::ServerMessage;
use platform_model::realtime::trace::record::EndReason;

use super::{Platform, WantedSessions};
use crate::session::{ClientId, EndSession, FindOwner, Owner, SessionActor, StartMove};
use crate::session_moves::Destination;

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
                    Some(session) => session.do_send(EndSession(EndReason::Gap)),
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
            other => self.handle_question(other),
        }
    }

    /// Handles a request of an administrator at another server, or a response to such a request.
    fn handle_question(self: &Arc<Self>, message: ServerMessage) {
        match message {
            ServerMessage::Show { request, by, tenant, filter, after, limit, ends } => {
                let platform = self.clone();
                let wanted = WantedSessions { filter, after, limit };
                tokio::spawn(
                    async move { platform.show_sessions((by, request), &tenant, wanted, ends).await },
                );
            }
            ServerMessage::Shown { request, from, found } => self.questions.receive(request, from, found),
            ServerMessage::ShowRecords { request, by, tenant, filter } => {
                self.show_records((by, request), &tenant, &filter)
            }
            ServerMessage::RecordsShown { request, from, records } => {
                self.receive_records(request, from, records)
            }
            response => self.transfers.receive(response),
        }
    }

    fn session_of(&self, tenant: &str, client: ClientId) -> Option<Addr<SessionActor>> {
        let tenant = TenantId::parse(tenant).ok()?;
        self.tenants.read().get(&tenant)?.session(client)
    }

    async fn owner_of(&self, client: Option<ClientId>, request: u64) -> Option<ServerMessage> {
        let (tenant, session) = self.find_session(client?)?;
        let Owner { user, expires } = session.send(FindOwner).await.ok()??;
        let expires_in = expires.map(|expires| expires.saturating_duration_since(Instant::now()));
        let (tenant, user) = (tenant.to_string(), user.to_string());
        Some(ServerMessage::Owner { request, tenant, user, expires_in })
    }
}
