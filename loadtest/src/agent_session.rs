//! The session of an agent, in JSON or in CSV, with the same steps (R-08, R-09).

use crate::agents::Agent;
use crate::bayeux;
use crate::csv::session::{CsvAgent, CsvSession};
use crate::error::Error;
use crate::long_polling::LongPolling;
use crate::operations::{self, Operation, Status};

/// The protocol of an agent.
#[derive(Debug, Clone)]
pub(crate) enum Language {
    /// Bayeux messages and REST.
    Json,
    /// Rows of the CSV protocol.
    Csv(CsvAgent),
}

/// A subscribed session.
#[derive(Debug)]
pub(crate) enum Session {
    /// A session in JSON.
    Json(LongPolling),
    /// A session in CSV.
    Csv(CsvSession, CsvAgent),
}

impl Session {
    /// Sends the handshake and subscribes, but sends no poll yet.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(crate) async fn subscribe(agent: &Agent) -> Result<Self, Error> {
        match &agent.language {
            Language::Json => {
                let channel = format!("/{}", agent.id);
                LongPolling::subscribe(&agent.target, bayeux::OPERATIONS, &channel).await.map(Self::Json)
            }
            Language::Csv(csv) => {
                let session = CsvSession::subscribe(&agent.target, csv, &agent.id).await?;
                Ok(Self::Csv(session, csv.clone()))
            }
        }
    }

    /// Returns the operations that are PENDING. No poll may be held meanwhile.
    ///
    /// # Errors
    /// The server rejects the request or disconnects.
    pub(crate) async fn pending(&mut self, agent: &Agent) -> Result<Vec<Operation>, Error> {
        match self {
            Self::Json(session) => {
                let query = format!("agentId={}&status=PENDING", agent.id);
                operations::list(&agent.target, session.between_polls(), &query).await
            }
            Self::Csv(session, csv) => session.pending(&agent.target, csv, &agent.id).await,
        }
    }

    /// Waits for the response to the held poll and returns its operations.
    ///
    /// # Errors
    /// The connection broke, or the response has anything else.
    pub(crate) async fn notified(&mut self) -> Result<Vec<Operation>, Error> {
        match self {
            Self::Json(session) => bayeux::notifications(session.batch().await?),
            Self::Csv(session, csv) => session.notified(csv).await,
        }
    }

    /// Updates the status of an operation. No poll may be held meanwhile.
    ///
    /// # Errors
    /// The server rejects the request or disconnects.
    pub(crate) async fn advance(
        &mut self,
        agent: &Agent,
        operation: &Operation,
        status: Status,
    ) -> Result<(), Error> {
        let session = match self {
            Self::Json(session) => session,
            Self::Csv(session, csv) => return session.advance(&agent.target, csv, operation, status).await,
        };
        let word = if status == Status::Executing { "EXECUTING" } else { "SUCCESSFUL" };
        let step = "setting the status";
        let path = format!("{}/{}", operations::PATH, operation.id);
        let request = agent.target.put_quietly(&path, &format!(r#"{{"status":"{word}"}}"#));
        let response = session.between_polls().call(step, &request).await?;
        match response.status {
            200 => Ok(()),
            status => Err(Error::status(step, status, response.body)),
        }
    }

    /// Sends the next poll.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn poll_again(&mut self) -> Result<(), Error> {
        match self {
            Self::Json(session) => session.poll_again().await,
            Self::Csv(session, _) => session.poll_again().await,
        }
    }
}
