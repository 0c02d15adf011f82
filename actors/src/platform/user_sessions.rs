//! The limit of sessions per user counts the sessions at all servers (B-23). If there is such a limit, each server
//! stores the sessions of its users every second while there are other servers, and a handshake reads those of the
//! others.

use std::collections::HashMap;
use std::sync::Arc;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_store::realtime::session_moves::SessionsOfUser;

use super::{Platform, Tenant};
use crate::session::ClientId;

/// The sessions at this server by tenant and user; the clientIds are sorted.
type ByUser = HashMap<(TenantId, Arc<str>), Vec<ClientId>>;

/// The sessions of users that other servers know to be at this one.
#[derive(Debug, Default)]
pub struct NotedSessions(ByUser);

impl Platform {
    /// Notes the sessions of users if there are other servers. A session counts elsewhere only after the next call, and
    /// continues to count until the call after its end.
    ///
    /// # Errors
    /// `Unavailable` or `Database`; the next call notes what this one could not.
    pub async fn note_user_sessions(&self, noted: &mut NotedSessions) -> Result<()> {
        if self.database.publications().is_alone() {
            return Ok(());
        }
        let mut now = ByUser::new();
        for session in self.all_sessions().await {
            now.entry((session.tenant, session.user)).or_default().push(session.client);
        }
        now.values_mut().for_each(|clients| clients.sort_unstable());
        self.note_changes(&noted.0, &now).await?;
        noted.0 = now;
        Ok(())
    }

    async fn note_changes(&self, before: &ByUser, now: &ByUser) -> Result<()> {
        let text = |clients: &Vec<ClientId>| clients.iter().map(ToString::to_string).collect();
        let changed = now.iter().filter(|(user, clients)| before.get(*user) != Some(*clients));
        let changed =
            changed.map(|((tenant, user), clients)| SessionsOfUser { tenant, user, clients: text(clients) });
        let ended = before.keys().filter(|user| !now.contains_key(*user));
        let ended = ended.map(|(tenant, user)| SessionsOfUser { tenant, user, clients: Vec::new() });
        let changes: Vec<_> = changed.chain(ended).collect();
        if changes.is_empty() {
            return Ok(());
        }
        self.database.note_sessions_of_users(&changes).await
    }
}

impl Tenant {
    /// Returns the sessions that a user has at other servers, if there is a limit and there are other servers.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn sessions_elsewhere(&self, user: &str) -> Result<Vec<ClientId>> {
        let context = self.context();
        if self.sessions_per_user.is_none() || context.database.publications().is_alone() {
            return Ok(Vec::new());
        }
        let listed = context.database.list_sessions_elsewhere(&context.tenant, user).await?;
        Ok(listed.iter().filter_map(|client| ClientId::parse(client)).collect())
    }
}
