//! What happens to a population, for those who look at it once a second.

use std::sync::{Arc, Mutex};

use super::series::Second;
use super::shared::{Happened, Shared, lock};
use crate::server_process::Process;

/// Looks at a population while it lives.
#[derive(Debug, Clone)]
pub(crate) struct Observer {
    pub(super) shared: Arc<Shared>,
    pub(super) processes: Option<Arc<Mutex<Vec<u32>>>>,
    pub(super) keeper: Option<u32>,
    /// How the database is reached, if the run started its servers.
    pub(crate) database_url: Option<String>,
}

impl Observer {
    /// Returns what happened since the last time.
    pub(crate) fn second(&self) -> Second {
        self.shared.series.take()
    }

    /// Returns how many clients have a session.
    pub(crate) fn sessions(&self) -> usize {
        self.shared.sessions()
    }

    /// Returns the servers of the run, if it started any.
    pub(crate) fn servers(&self) -> Option<Vec<Process>> {
        self.processes.as_ref().map(|pids| lock(pids).iter().map(|pid| Process::with_pid(*pid)).collect())
    }

    /// Returns the process whose PostgreSQL the servers of the run use, if it is private.
    pub(crate) fn keeper(&self) -> Option<Process> {
        self.keeper.map(Process::with_pid)
    }

    /// Returns what was done to servers and clients.
    pub(crate) fn happened(&self) -> Vec<Happened> {
        lock(&self.shared.happened).clone()
    }
}
