//! Knows which servers are ready, as a balancer does: it checks each server regularly, and notices requests without a
//! response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::error::Error;
use crate::target::Target;

const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// A server that does not respond within this time is not ready.
const CHECK_LIMIT: Duration = Duration::from_secs(1);
const CHECKED_PATH: &str = "/health/ready";

/// The readiness of each server.
#[derive(Debug)]
pub(super) struct Balancer {
    are_ready: Vec<AtomicBool>,
}

impl Balancer {
    /// Creates a balancer that assumes that all servers are ready.
    pub(super) fn new(servers: usize) -> Self {
        Self { are_ready: (0..servers).map(|_| AtomicBool::new(true)).collect() }
    }

    /// Returns the first server that is ready, starting with the one whose turn it is. If none is ready, returns that
    /// one.
    pub(super) fn server_from(&self, turn: usize) -> usize {
        let servers = self.are_ready.len();
        let mut in_turn = (0..servers).map(|offset| (turn + offset) % servers);
        let ready = in_turn.find(|server| self.are_ready[*server].load(Ordering::Relaxed));
        ready.unwrap_or(turn % servers)
    }

    /// Excludes a server until it responds to the next check.
    pub(super) fn leave_out(&self, server: usize) {
        self.are_ready[server].store(false, Ordering::Relaxed);
    }

    /// Checks all servers until the set is dropped.
    pub(super) fn check(self: &Arc<Self>, targets: &[Arc<Target>]) -> JoinSet<()> {
        let mut checks = JoinSet::new();
        for (server, target) in targets.iter().cloned().enumerate() {
            let balancer = Arc::clone(self);
            checks.spawn(async move {
                loop {
                    let checked = timeout(CHECK_LIMIT, is_ready(&target)).await;
                    let is_ready = matches!(checked, Ok(Ok(true)));
                    balancer.are_ready[server].store(is_ready, Ordering::Relaxed);
                    sleep(CHECK_INTERVAL).await;
                }
            });
        }
        checks
    }
}

async fn is_ready(target: &Target) -> Result<bool, Error> {
    let mut connection = target.connect().await?;
    Ok(connection.call("checking", &target.get(CHECKED_PATH)).await?.status == 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_take_turns_and_those_that_are_not_ready_are_left_out() {
        let balancer = Balancer::new(3);
        let chosen = || (1..5).map(|turn| balancer.server_from(turn)).collect::<Vec<_>>();
        assert_eq!(chosen(), [1, 2, 0, 1]);
        balancer.leave_out(1);
        assert_eq!(chosen(), [2, 2, 0, 2]);
        (0..3).for_each(|server| balancer.leave_out(server));
        assert_eq!(chosen(), [1, 2, 0, 1]);
    }
}
