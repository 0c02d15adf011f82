//! The session of an agent in CSV: one connection that holds one poll (S-50 to S-59), and sends rows in
//! between.

use super::lines::lines;
use super::poll_response::{listed, notified};
use super::template_set::ASK_PENDING;
use super::{ACCEPT, PATH, STATIC, x_id};
use crate::bayeux::OPERATIONS;
use crate::connection::Connection;
use crate::error::Error;
use crate::operations::{Operation, Status};
use crate::target::Target;

/// The protocol settings of an agent.
#[derive(Debug, Clone)]
pub(crate) struct CsvAgent {
    /// The template set it uses.
    pub(crate) x_id: String,
    /// The serial by which lines of the static set name it (H-13).
    pub(crate) serial: String,
    /// Whether it updates operations by their ids (504, 506) instead of the oldest with the fragment (501,
    /// 503).
    pub(crate) by_id: bool,
}

/// A subscribed session. The poll's bytes are built once and sent after every response.
#[derive(Debug)]
pub(crate) struct CsvSession {
    connection: Connection,
    poll: Box<[u8]>,
}

impl CsvSession {
    /// Sends the handshake and subscribes to the agent's channel, with its set and the static one, but sends
    /// no poll yet.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(crate) async fn subscribe(target: &Target, agent: &CsvAgent, id: &str) -> Result<Self, Error> {
        let headers = x_id(&agent.x_id) + ACCEPT;
        let row = |row: &str| target.post_bare(&headers, OPERATIONS, row);
        let mut connection = target.connect().await?;
        let answer = connection.body_of("row 80", &row("80\n")).await?;
        let client_id = match lines(answer).as_deref() {
            Ok([line]) if line.len() == 1 && !line[0].is_empty() => line[0].clone(),
            _ => return Err(fault("row 80", answer)),
        };
        let request = row(&format!("81,{client_id},/{id},{STATIC}\n"));
        expect_nothing("row 81", connection.body_of("row 81", &request).await?)?;
        let poll = row(&format!("83,{client_id}\n")).into_boxed_slice();
        Ok(Self { connection, poll })
    }

    /// Requests the operations that are PENDING, by a row of the set.
    ///
    /// # Errors
    /// The response is anything else.
    pub(crate) async fn pending(
        &mut self,
        target: &Target,
        agent: &CsvAgent,
        id: &str,
    ) -> Result<Vec<Operation>, Error> {
        let headers = x_id(&agent.x_id) + ACCEPT;
        let request = target.post_bare(&headers, PATH, &format!("{ASK_PENDING},{id}\n"));
        let row = "row for what is PENDING";
        let answer = self.connection.body_of(row, &request).await?;
        listed(answer).map_err(|reason| Error::Csv { row, reason })
    }

    /// Waits for the response to the held poll and returns its operations.
    ///
    /// # Errors
    /// The connection broke, or the response is not what the templates produce for operations.
    pub(crate) async fn notified(&mut self, agent: &CsvAgent) -> Result<Vec<Operation>, Error> {
        let response = self.connection.receive().await?;
        match response.status {
            200 => notified(response.body, &agent.x_id, &agent.serial)
                .map_err(|reason| Error::Csv { row: "row 83", reason }),
            status => Err(Error::status("row 83", status, response.body)),
        }
    }

    /// Updates the status of an operation, which is the oldest in its status.
    ///
    /// # Errors
    /// The response is not empty, or the connection broke.
    pub(crate) async fn advance(
        &mut self,
        target: &Target,
        agent: &CsvAgent,
        operation: &Operation,
        status: Status,
    ) -> Result<(), Error> {
        let row = match (agent.by_id, status) {
            (true, Status::Executing) => "row 504",
            (true, _) => "row 506",
            (false, Status::Executing) => "row 501",
            (false, _) => "row 503",
        };
        let message = row.trim_start_matches("row ");
        let what = if agent.by_id { &operation.id } else { "plat_Restart" };
        let request = target.post_bare(ACCEPT, PATH, &format!("{message},{what}\n"));
        expect_nothing(row, self.connection.body_of(row, &request).await?)
    }

    /// Sends the next poll.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn poll_again(&mut self) -> Result<(), Error> {
        self.connection.send(&self.poll).await
    }
}

fn expect_nothing(row: &'static str, answer: &[u8]) -> Result<(), Error> {
    if answer.is_empty() { Ok(()) } else { Err(fault(row, answer)) }
}

fn fault(row: &'static str, answer: &[u8]) -> Error {
    let answer = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
    Error::Csv { row, reason: format!("the response was {:?}", answer.trim_end()) }
}
