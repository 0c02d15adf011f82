//! Hands the sessions of a draining server to other servers, without ending connections. Clients that still come to the
//! draining server are served.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use platform_model::error::Result;

use super::Platform;
use crate::session::ClientId;

/// The largest number of sessions in one group.
const AT_ONCE: usize = 500;
/// The time that a session stays if it comes back, because a load balancer may not know yet that this server drains.
const STAYS: Duration = Duration::from_secs(10);

/// The sessions that were offered to other servers a short time ago.
#[derive(Debug, Default)]
pub struct OfferedSessions(HashMap<ClientId, Instant>);

impl Platform {
    /// Hands a group of sessions to servers that take new clients, if the operator lets this one drain. If there is no
    /// such server, the sessions stay.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn hand_over_while_draining(&self, offered: &mut OfferedSessions) -> Result<()> {
        // A stopping server hands its sessions over in `hand_sessions_over`.
        if !self.database.membership().is_drained() || self.transfers.is_stopping() {
            offered.0.clear();
            return Ok(());
        }
        self.offer_some(&mut offered.0).await
    }

    async fn offer_some(&self, offered: &mut HashMap<ClientId, Instant>) -> Result<()> {
        let mut successors = self.database.find_successors().await?;
        successors.retain(|successor| successor.is_up);
        if successors.is_empty() {
            return Ok(());
        }
        offered.retain(|_, at| at.elapsed() < STAYS);
        let mut sessions = self.all_sessions().await;
        sessions.retain(|session| !offered.contains_key(&session.client));
        sessions.truncate(AT_ONCE);
        offered.extend(sessions.iter().map(|session| (session.client, Instant::now())));
        // Each successor gets an equal share.
        let share = sessions.len().div_ceil(successors.len()).max(1);
        for (sessions, to) in sessions.chunks(share).zip(&successors) {
            self.offer(sessions, std::slice::from_ref(to));
        }
        Ok(())
    }
}
