//! The session of a device in CSV: one connection that holds one poll (S-50 to S-59), and sends rows in between.

use super::lines::lines;
use super::poll_response::listed;
use super::template_set::{ASK_PENDING, OBJECT};
use super::{ACCEPT, PATH, x_id};
use crate::error::Error;
use crate::ledger::mark::Mark;
use crate::protocol::bayeux::long_polling::LongPolling;
use crate::protocol::operations::{Operation, Status};
use crate::target::Target;
use crate::target::connection::Connection;

/// The response line of an error of a row.
const REFUSED: &str = "40";

/// The start of the response line of a row that the server could not carry out.
const UNAVAILABLE: &[u8] = b"50,1,5";

/// The protocol settings of a device.
#[derive(Debug, Clone)]
pub(crate) struct CsvDevice {
    /// The template set it uses.
    pub(crate) x_id: String,
    /// The serial by which lines of the static set name it (H-13).
    pub(crate) serial: String,
    /// Whether it updates operations by their ids (504, 506) instead of the oldest with the fragment (501, 503).
    pub(crate) by_id: bool,
}

impl CsvDevice {
    fn row(&self, target: &Target, path: &str, row: &str) -> Vec<u8> {
        target.post_bare(&(x_id(&self.x_id) + ACCEPT), path, row)
    }

    /// Sends the handshake and subscribes to channels, maybe with a filter, but sends no poll yet. `sets` are further
    /// template sets.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(crate) async fn subscribe(
        &self,
        target: &Target,
        endpoint: &str,
        (channels, filter): (&[String], Option<&str>),
        sets: &[&str],
    ) -> Result<LongPolling, Error> {
        let mut connection = target.connect().await?;
        let answer = connection.body_of("row 80", &self.row(target, endpoint, "80\n")).await?;
        let client_id = match lines(answer).as_deref() {
            Ok([line]) if line.len() == 1 && !line[0].is_empty() => line[0].clone(),
            _ => return Err(fault("row 80", answer)),
        };
        let filter = filter.map(|filter| format!("\"$filter={}\"", filter.replace('"', "\"\"")));
        for channel in channels {
            let further = sets.iter().copied().chain(filter.as_deref());
            let row: String =
                ["81", &client_id, channel].into_iter().chain(further).collect::<Vec<_>>().join(",");
            let request = self.row(target, endpoint, &(row + "\n"));
            expect_nothing("row 81", connection.body_of("row 81", &request).await?)?;
        }
        let poll = self.row(target, endpoint, &format!("83,{client_id}\n"));
        Ok(LongPolling::of(connection, poll))
    }

    /// Requests the operations that are PENDING, by a row of the set.
    ///
    /// # Errors
    /// The response is anything else.
    pub(crate) async fn pending(
        &self,
        target: &Target,
        connection: &mut Connection,
        id: &str,
    ) -> Result<Vec<Operation>, Error> {
        let request = self.row(target, PATH, &format!("{ASK_PENDING},{id}\n"));
        let row = "row for what is PENDING";
        let answer = connection.body_of(row, &request).await?;
        listed(answer).map_err(|reason| Error::Csv { row, reason })
    }

    /// Updates the status of an operation, which is the oldest in its status.
    ///
    /// # Errors
    /// The response is not empty, or the connection broke.
    pub(crate) async fn advance(
        &self,
        target: &Target,
        connection: &mut Connection,
        operation: &Operation,
        status: Status,
    ) -> Result<(), Error> {
        let row = match (self.by_id, status) {
            (true, Status::Executing) => "row 504",
            (true, _) => "row 506",
            (false, Status::Executing) => "row 501",
            (false, _) => "row 503",
        };
        let message = row.trim_start_matches("row ");
        let what = if self.by_id { &operation.id } else { "plat_Restart" };
        let request = target.post_bare(ACCEPT, PATH, &format!("{message},{what}\n"));
        match connection.body_of(row, &request).await? {
            failed if failed.starts_with(UNAVAILABLE) => Err(Error::status(row, 503, failed)),
            answer => expect_nothing(row, answer),
        }
    }
}

/// Returns the marks of the objects in the response to a poll.
///
/// # Errors
/// A row failed, for example because the session is unknown.
pub(crate) fn marks(answer: &[u8]) -> Result<Vec<Mark>, Error> {
    let error = |reason: String| Error::Csv { row: "row 83", reason };
    let lines = lines(answer).map_err(|_| error("malformed lines".to_owned()))?;
    if let Some(refused) = lines.iter().find(|line| line[0] == REFUSED) {
        return Err(error(refused.join(",")));
    }
    let objects = lines.iter().filter(|line| line[0] == OBJECT);
    Ok(objects.filter_map(|line| Mark::parse(line.get(2)?)).collect())
}

fn expect_nothing(row: &'static str, answer: &[u8]) -> Result<(), Error> {
    if answer.is_empty() { Ok(()) } else { Err(fault(row, answer)) }
}

fn fault(row: &'static str, answer: &[u8]) -> Error {
    let answer = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
    Error::Csv { row, reason: format!("the response was {:?}", answer.trim_end()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_from_lines_and_an_unknown_session_is_an_error() {
        let marks_of = |answer: &[u8]| marks(answer);
        let found = marks_of(b"  702,1,1-2-3-4\n86,5400000,0,retry\n702,1,1-2-4-5\n").unwrap();
        assert_eq!(found.iter().map(|mark| mark.sequence).collect::<Vec<_>>(), [3, 4]);
        assert!(marks_of(b"").unwrap().is_empty());
        let error = marks_of(b"40,/meta/connect,402::Unknown client\n86,,0,handshake\n").unwrap_err();
        assert_eq!(error.to_string(), "row 83: 40,/meta/connect,402::Unknown client");
    }
}
