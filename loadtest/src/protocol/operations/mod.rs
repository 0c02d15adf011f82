//! Operations as they are read, from notifications and lists.

pub(crate) mod ledger;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ledger::mark::Mark;
use crate::target::Target;
use crate::target::connection::Connection;
use crate::target::pages::{PAGE_SIZE, each_page};

/// The path of operations.
pub(crate) const PATH: &str = "/devicecontrol/operations";

/// The status of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Status {
    /// The device does not know it yet.
    Pending,
    /// The device executes it.
    Executing,
    /// Done.
    Successful,
    /// Not done.
    Failed,
}

/// The members of an operation that are read.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operation {
    /// The id of the operation.
    pub(crate) id: String,
    /// The device that executes it.
    pub(crate) device_id: String,
    /// The time at which it was queued, as the server formats it.
    pub(crate) creation_time: String,
    /// The status.
    pub(crate) status: Status,
    #[serde(rename = "loadtest_Sequence")]
    mark: Option<String>,
}

impl Operation {
    /// Returns an operation with the members that a CSV line contains.
    pub(crate) fn of_line(id: &str, device_id: &str, mark: &str) -> Self {
        Self {
            id: id.to_owned(),
            device_id: device_id.to_owned(),
            creation_time: String::new(),
            status: Status::Pending,
            mark: Some(mark.to_owned()),
        }
    }

    /// Returns the mark of its post; `None` for an operation of a bulk operation.
    pub(crate) fn mark(&self) -> Option<Mark> {
        Mark::parse(self.mark.as_deref()?)
    }
}

/// Returns every operation that a query finds, by the links `next`.
///
/// # Errors
/// The response for a page was not 200, or is not a collection of operations.
pub(crate) async fn list(
    target: &Target,
    connection: &mut Connection,
    query: &str,
) -> Result<Vec<Operation>, Error> {
    #[derive(Deserialize)]
    struct Page {
        operations: Vec<Operation>,
    }
    let mut operations = Vec::new();
    each_page(target, connection, format!("{PATH}?{query}&pageSize={PAGE_SIZE}"), |body| {
        operations.extend(serde_json::from_slice::<Page>(body).map_err(std::io::Error::from)?.operations);
        Ok(())
    })
    .await?;
    Ok(operations)
}

/// Updates the status of an operation.
///
/// # Errors
/// The server rejects the request or disconnects.
pub(crate) async fn advance(
    target: &Target,
    connection: &mut Connection,
    operation: &Operation,
    status: Status,
) -> Result<(), Error> {
    let word = if status == Status::Executing { "EXECUTING" } else { "SUCCESSFUL" };
    let request =
        target.put_quietly(&format!("{PATH}/{}", operation.id), &format!(r#"{{"status":"{word}"}}"#));
    connection.body_of("setting the status", &request).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_is_read_with_its_mark_or_without() {
        let text = r#"{"id":"7","deviceId":"208","creationTime":"2026-01-02T03:04:05.678Z","status":"EXECUTING","plat_Restart":{}"#;
        let operation: Operation =
            serde_json::from_str(&format!(r#"{text},"loadtest_Sequence":"1-2-3-4"}}"#)).unwrap();
        assert_eq!((&*operation.device_id, operation.status), ("208", Status::Executing));
        assert_eq!(operation.mark(), Some(Mark { run: 1, device: 2, sequence: 3, due: 4 }));
        let operation: Operation = serde_json::from_str(&format!("{text}}}")).unwrap();
        assert_eq!(operation.mark(), None);
    }
}
