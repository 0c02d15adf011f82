//! The sessions of a tenant at all servers, for its administrators.

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::Subscription;
use platform_model::realtime::client_session::{ClientSession, SessionFilter, SessionsOfServer};
use platform_model::realtime::session_move::ServerMessage;
use platform_model::realtime::trace::record::EndReason;
use platform_model::timestamp::Timestamp;
use time::OffsetDateTime;
use tokio::time::timeout;

use super::Platform;
use super::questions::{LONGEST, Responses};
use crate::session::ClientId;
use crate::session::listing::{DescribeSessions, SessionNow};

/// The filter and the page of a list of sessions.
#[derive(Debug, Clone, Default)]
pub struct WantedSessions {
    /// The filter.
    pub filter: SessionFilter,
    /// The id after which the page begins.
    pub after: Option<String>,
    /// The size of the page.
    pub limit: usize,
}

/// The sessions that were found.
#[derive(Debug, Clone, Default)]
pub struct FoundSessions {
    /// The total count at the servers that responded, and the sessions of the page, sorted by id.
    pub found: SessionsOfServer,
    /// The names of the servers that did not respond.
    pub missing: Vec<String>,
}

/// The action on the sessions that are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Stay,
    End,
}

impl Platform {
    /// Returns the sessions of a tenant at all servers.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn list_sessions(&self, tenant: &TenantId, wanted: WantedSessions) -> Result<FoundSessions> {
        self.look_everywhere(tenant, wanted, Then::Stay).await
    }

    /// Ends the session of a tenant with this id, at whichever server it is. Its client gets 402.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn end_shown_session(&self, tenant: &TenantId, id: &str) -> Result<FoundSessions> {
        let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
        let wanted = WantedSessions { filter, after: None, limit: 1 };
        self.look_everywhere(tenant, wanted, Then::End).await
    }

    async fn look_everywhere(
        &self,
        tenant: &TenantId,
        wanted: WantedSessions,
        then: Then,
    ) -> Result<FoundSessions> {
        let message = |request, by| {
            let (WantedSessions { filter, after, limit }, tenant) = (wanted.clone(), tenant.to_string());
            ServerMessage::Show { request, by, tenant, filter, after, limit, ends: then == Then::End }
        };
        let here = self.sessions_here(tenant, &wanted, then);
        let Responses { responses, missing } = self.ask_servers(&self.questions, message, here).await?;
        let mut found = SessionsOfServer::default();
        for of_server in responses {
            found.count += of_server.count;
            found.sessions.extend(of_server.sessions);
        }
        found.sessions.sort_by(|one, other| one.id.cmp(&other.id));
        // A session that moves may be listed by two servers.
        found.sessions.dedup_by(|one, other| one.id == other.id);
        found.sessions.truncate(wanted.limit);
        Ok(FoundSessions { found, missing })
    }

    /// Responds to another server that requests the sessions of this one.
    pub(super) async fn show_sessions(
        &self,
        to: (i64, u64),
        tenant: &str,
        wanted: WantedSessions,
        ends: bool,
    ) {
        let (by, request) = to;
        let then = if ends { Then::End } else { Then::Stay };
        let found = match TenantId::parse(tenant) {
            Ok(tenant) => self.sessions_here(&tenant, &wanted, then).await,
            Err(_) => SessionsOfServer::default(),
        };
        let from = self.database.session_moves().server();
        self.database.session_moves().tell(by, ServerMessage::Shown { request, from, found });
    }

    /// Returns the sessions of a tenant at this server.
    async fn sessions_here(
        &self,
        tenant: &TenantId,
        wanted: &WantedSessions,
        then: Then,
    ) -> SessionsOfServer {
        let describe = DescribeSessions { tenant: tenant.clone(), filter: wanted.filter.clone() };
        let mut all: Vec<(String, SessionNow)> = Vec::new();
        for dispatcher in self.dispatchers().await {
            let described = timeout(LONGEST, dispatcher.send(describe.clone())).await;
            let sessions = described.ok().and_then(|sessions| sessions.ok()).unwrap_or_default();
            all.extend(sessions.into_iter().map(|now| (self.transfers.ids().shown(now.client), now)));
        }
        all.retain(|(id, _)| wanted.filter.id.as_ref().is_none_or(|wanted| wanted == id));
        let count = all.len() as u64;
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let after = wanted.after.as_deref().unwrap_or_default();
        let page = all.into_iter().filter(|(id, _)| &**id > after).take(wanted.limit);
        let mut sessions = Vec::new();
        for (id, now) in page {
            if then == Then::End {
                self.end_client(tenant, now.client).await;
            }
            sessions.push(self.shown(id, now));
        }
        SessionsOfServer { count, sessions }
    }

    async fn end_client(&self, tenant: &TenantId, client: ClientId) {
        if let Some(session) = self.tenant(tenant).session(client) {
            self.end_session(&session, EndReason::Administrator).await;
        }
    }

    fn shown(&self, id: String, now: SessionNow) -> ClientSession {
        let time = |seconds: u32| {
            let time = OffsetDateTime::from_unix_timestamp(seconds.into());
            Timestamp::stored(time.unwrap_or(OffsetDateTime::UNIX_EPOCH), 0)
        };
        let delivered = now.traces.delivered;
        ClientSession {
            id,
            user: now.user,
            since: time(now.traces.began),
            address: now.traces.address,
            transport: now.transport,
            server: self.database.membership().name().unwrap_or_default().to_owned(),
            subscriptions: now.subscriptions.iter().map(|one| one.pattern.to_string()).collect(),
            filters: now.subscriptions.iter().filter_map(filter_of).collect(),
            queued: now.queued,
            last_delivery: (delivered > 0).then(|| time(delivered)),
            holds_connect: now.holds_connect,
        }
    }
}

/// Returns the channel and the filter of a subscription with a filter.
fn filter_of(Subscription { pattern, filter }: &Subscription) -> Option<(String, String)> {
    filter.as_ref().map(|filter| (pattern.to_string(), filter.text().to_owned()))
}
