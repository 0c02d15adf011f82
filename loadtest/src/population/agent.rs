//! Simulates an agent: it executes the operations of its device one after the other, and spends time on each (R-08,
//!

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::sleep;

use super::Shared;
use crate::error::Error;
use crate::protocol::csv::session::CsvDevice;
use crate::protocol::operations::ledger::SeenBy;
use crate::protocol::operations::{self, Operation, Status};
use crate::target::Target;
use crate::target::connection::Connection;

/// An agent before it connects.
#[derive(Debug)]
pub(super) struct Agent {
    /// The index of its device.
    pub(super) number: u32,
    /// The managed object of its device.
    pub(super) id: String,
    /// The time from the start of an operation to its end.
    pub(super) takes: Duration,
}

/// The pending operations of an agent. They survive the sessions through which the agent received them.
#[derive(Debug)]
pub(super) struct Work {
    agent: Agent,
    /// The operations with the next status of each.
    operations: VecDeque<(Operation, Status)>,
    /// Whether the last request had no response, so that the server may have executed it.
    is_unsure: bool,
}

impl Agent {
    pub(super) fn work(self) -> Work {
        Work { agent: self, operations: VecDeque::new(), is_unsure: false }
    }
}

impl Work {
    /// Adds operations that the agent received.
    pub(super) fn take(&mut self, shared: &Shared, operations: Vec<Operation>, sight: SeenBy) {
        for operation in operations {
            if operation.mark().is_none_or(|mark| shared.run.is_own(mark))
                && shared.operations.lock().seen(self.agent.number, &operation, sight, shared.run.now())
            {
                self.operations.push_back((operation, Status::Executing));
            }
        }
    }

    /// Requests the operations that are PENDING, as an agent does after it subscribed.
    ///
    /// # Errors
    /// The server rejects the request or disconnects.
    pub(super) async fn find(
        &mut self,
        shared: &Shared,
        target: &Target,
        connection: &mut Connection,
        csv: Option<&CsvDevice>,
    ) -> Result<(), Error> {
        let found = match csv {
            Some(csv) => csv.pending(target, connection, &self.agent.id).await?,
            None => {
                let query = format!("agentId={}&status=PENDING", self.agent.id);
                operations::list(target, connection, &query).await?
            }
        };
        self.take(shared, found, SeenBy::Found);
        Ok(())
    }

    /// Returns whether all operations are done.
    pub(super) fn is_done(&self) -> bool {
        self.operations.is_empty()
    }

    /// Executes the pending operations.
    ///
    /// # Errors
    /// The connection broke, or the server rejects a status; the remaining operations stay.
    pub(super) async fn execute(
        &mut self,
        shared: &Shared,
        target: &Target,
        connection: &mut Connection,
        csv: Option<&CsvDevice>,
    ) -> Result<(), Error> {
        while let Some((operation, status)) = self.operations.front() {
            let status = *status;
            if status == Status::Successful && !self.is_unsure {
                sleep(self.agent.takes).await;
            }
            let was_unsure = std::mem::replace(&mut self.is_unsure, true);
            let advanced = match csv {
                Some(csv) => csv.advance(target, connection, operation, status).await,
                None => operations::advance(target, connection, operation, status).await,
            };
            match advanced {
                Ok(()) => {}
                // The server had already executed the request whose response did not arrive.
                Err(Error::Status { status: 400..=499, .. } | Error::Csv { .. }) if was_unsure => {}
                Err(error @ (Error::Status { status: 400..=499, .. } | Error::Csv { .. })) => {
                    shared.note(format!("operation rejected: {error}"));
                    self.is_unsure = false;
                    self.operations.pop_front();
                    continue;
                }
                Err(error) => return Err(error),
            }
            self.is_unsure = false;
            shared.operations.lock().advanced(&operation.id, status, shared.run.now());
            match status {
                Status::Executing => self.operations[0].1 = Status::Successful,
                _ => drop(self.operations.pop_front()),
            }
        }
        Ok(())
    }
}
