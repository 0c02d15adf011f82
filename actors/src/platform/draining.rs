//! Hands the sessions of a draining server to other servers, without ending connections. Clients that still come to the
//! draining server are served.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_model::error::Result;
use tokio::time::sleep;

use super::Platform;
use crate::session::ClientId;

/// The pause between two groups of sessions, so that not all clients come to the other servers at once.
const PAUSE: Duration = Duration::from_millis(250);
/// The largest number of sessions in one group.
const AT_ONCE: usize = 500;
/// The time that a session stays if it comes back, because a load balancer may not know yet that this server drains.
const STAYS: Duration = Duration::from_secs(10);

impl Platform {
    /// Hands sessions to servers that take new clients while the operator lets this one drain, until the future is
    /// dropped. If there is no such server, the sessions stay.
    pub async fn hand_over_while_draining(self: Arc<Self>) {
        let mut offered = HashMap::new();
        loop {
            sleep(PAUSE).await;
            // A stopping server hands its sessions over in `hand_sessions_over`.
            if !self.database.membership().is_drained() || self.transfers.is_stopping() {
                offered.clear();
            } else if let Err(error) = self.offer_some(&mut offered).await {
                tracing::debug!(%error, "sessions cannot be handed over now");
            }
        }
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
