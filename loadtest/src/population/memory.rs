//! Measures the memory that each connected client costs the servers.

use std::time::Duration;

use tokio::time::sleep;

use crate::report::Memory;
use crate::target::process::Process;

/// The smallest number of clients whose memory stands out from that of everything else.
pub(crate) const FEWEST: usize = 1000;
/// Servers that have used more CPU seconds than these have memory from earlier work, which they use again.
const FRESH: f64 = 5.0;

/// The memory before and after the clients connected.
#[derive(Debug, Default)]
pub(super) struct ClientMemory {
    clients: usize,
    is_fresh: bool,
    before: Option<u64>,
    held: Option<u64>,
}

impl ClientMemory {
    /// Reads the memory before any client connects; nothing if there are too few clients.
    pub(super) fn before(servers: &[Process], clients: usize) -> Self {
        if clients < FEWEST {
            return Self::default();
        }
        let used: f64 = servers.iter().filter_map(|server| server.cpu_seconds()).sum();
        Self { clients, is_fresh: used < FRESH, before: memory(servers), held: None }
    }

    /// Reads the memory with all clients connected, after some seconds of rest.
    pub(super) async fn read_held(&mut self, servers: &[Process], rest: Duration) {
        if self.before.is_some() {
            sleep(rest).await;
            self.held = memory(servers);
        }
    }

    /// Returns the figures, given the servers at the end.
    pub(super) fn figures(&self, servers: &[Process]) -> Option<Memory> {
        let memory = Memory::of(self.clients, self.before, self.held, memory(servers))?;
        Some(memory.if_meant(self.is_fresh))
    }
}

fn memory(servers: &[Process]) -> Option<u64> {
    let all: Vec<u64> = servers.iter().filter_map(|server| server.memory()).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}
