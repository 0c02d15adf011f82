//! A server that its operator lets drain hands its sessions to the others, without ending connections. Clients that come
//! back to it all the same are served.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_model::error::Result;
use tokio::time::sleep;

use super::Platform;
use crate::session::ClientId;

/// The pause between two groups of sessions, so that not all clients come to the other servers at once.
const PAUSE: Duration = Duration::from_millis(250);
/// The most sessions of one group.
const AT_ONCE: usize = 500;
/// How long a session stays that has come back, because a balancer does not yet know that this server drains.
const STAYS: Duration = Duration::from_secs(10);

impl Platform {
    /// Hands sessions to servers that take new clients while the operator lets this one drain, until the future is
    /// dropped. If there is no such server, the sessions stay.
    pub async fn hand_over_while_draining(self: Arc<Self>) {
        let mut offered = HashMap::new();
        loop {
            sleep(PAUSE).await;
            // A server that stops hands its sessions over in its own way.
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
        // Each of them gets a share.
        let share = sessions.len().div_ceil(successors.len()).max(1);
        for (sessions, to) in sessions.chunks(share).zip(&successors) {
            self.offer(sessions, std::slice::from_ref(to));
        }
        Ok(())
    }
}
