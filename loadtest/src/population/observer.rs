//! Observes a population once a second.

use std::sync::Arc;

use parking_lot::Mutex;

use super::series::Second;
use super::shared::{Happened, Shared};
use crate::target::process::Process;

/// Observes a population while it runs.
#[derive(Debug, Clone)]
pub(crate) struct Observer {
    pub(super) shared: Arc<Shared>,
    pub(super) processes: Option<Arc<Mutex<Vec<u32>>>>,
    pub(super) keeper: Option<u32>,
    /// The address of the database, if the run started its servers.
    pub(crate) database_url: Option<String>,
}

impl Observer {
    /// Returns the events since the last call.
    pub(crate) fn second(&self) -> Second {
        self.shared.series.take()
    }

    /// Returns the number of clients with a session.
    pub(crate) fn sessions(&self) -> usize {
        self.shared.sessions()
    }

    /// Returns the servers of the run, if it started any.
    pub(crate) fn servers(&self) -> Option<Vec<Process>> {
        self.processes.as_ref().map(|pids| pids.lock().iter().map(|pid| Process::with_pid(*pid)).collect())
    }

    /// Returns the process whose PostgreSQL the servers of the run use, if it is private.
    pub(crate) fn keeper(&self) -> Option<Process> {
        self.keeper.map(Process::with_pid)
    }

    /// Returns the faults that were caused at servers and clients.
    pub(crate) fn happened(&self) -> Vec<Happened> {
        self.shared.happened.lock().clone()
    }
}
