//! The sessions of users at each server, for a limit that applies to all servers together (B-23).

use platform_model::error::Result;
use platform_model::id::TenantId;

use crate::Database;
use crate::query::prepared::PreparedQueries;

const LIST_ELSEWHERE: &str = include_str!("../../../../../sql/queries/session_moves/list_elsewhere.sql");
const NOTE: &str = include_str!("../../../../../sql/queries/session_moves/note_of_user.sql");
const FORGET: &str = include_str!("../../../../../sql/queries/session_moves/forget_of_user.sql");

/// The sessions that a user has at this server.
#[derive(Debug)]
pub struct SessionsOfUser<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The name of the user.
    pub user: &'a str,
    /// The clientIds.
    pub clients: Vec<String>,
}

impl Database {
    /// Lists the clientIds of the sessions that a user has at other servers, as they last stored them. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn list_sessions_elsewhere(&self, tenant: &TenantId, user: &str) -> Result<Vec<String>> {
        let own = self.session_moves.server();
        let rows = self.reader().await?.rows(LIST_ELSEWHERE, &[&tenant.as_str(), &user, &own]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Stores the sessions of users at this server. One transaction.
    ///
    /// # Errors
    /// `Unavailable` or `Database`: nothing is stored.
    pub async fn note_sessions_of_users(&self, changed: &[SessionsOfUser<'_>]) -> Result<()> {
        let mut client = self.loader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL synchronous_commit = off").await?;
        let note = transaction.prepare_cached(NOTE).await?;
        let forget = transaction.prepare_cached(FORGET).await?;
        let own = self.session_moves.server();
        for SessionsOfUser { tenant, user, clients } in changed {
            if clients.is_empty() {
                transaction.execute(&forget, &[&tenant.as_str(), user, &own]).await?;
            } else {
                transaction.execute(&note, &[&tenant.as_str(), user, clients, &own]).await?;
            }
        }
        transaction.commit().await?;
        Ok(())
    }
}
