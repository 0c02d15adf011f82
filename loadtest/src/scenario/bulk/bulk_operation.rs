//! The bulk operation: scheduling, progress, and its operations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::Bulk;
use crate::error::Error;
use crate::progress::Progress;
use crate::protocol::operations::{self, Operation};
use crate::target::Target;
use crate::target::connection::Connection;

const PATH: &str = "/devicecontrol/bulkoperations";
/// The interval of progress requests.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The time a bulk operation may take beyond twice its ramp.
const GRACE: Duration = Duration::from_secs(60);

/// A bulk operation of this run.
#[derive(Debug)]
pub(super) struct BulkOperation {
    id: String,
    target: Arc<Target>,
    connection: Connection,
}

/// The progress of a bulk operation.
#[derive(Debug, Deserialize)]
pub(super) struct BulkProgress {
    /// ACTIVE, COMPLETED or DELETED.
    pub(super) status: String,
    /// The number of its operations by status.
    pub(super) progress: Counts,
}

/// The number of operations by status.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Counts {
    pending: usize,
    executing: usize,
    /// Done.
    pub(super) successful: usize,
    /// Not done.
    pub(super) failed: usize,
    /// The number of devices to serve.
    pub(super) all: usize,
}

impl Counts {
    /// Returns the number of operations created so far.
    pub(super) fn made(&self) -> usize {
        self.pending + self.executing + self.successful + self.failed
    }
}

impl BulkOperation {
    /// Schedules a bulk operation over a group that starts now and creates an operation every `ramp` seconds.
    ///
    /// # Errors
    /// The response was not 201.
    pub(super) async fn schedule(target: &Arc<Target>, group: &str, ramp: f64) -> Result<Self, Error> {
        let now = OffsetDateTime::now_utc();
        let now = now.replace_millisecond(now.millisecond()).unwrap_or(now);
        let body = json!({
            "groupId": group,
            "startDate": now.format(&Rfc3339).unwrap_or_default(),
            "creationRamp": ramp,
            "operationPrototype": {"description": "Queued by the load test", "plat_Restart": {}},
        });
        let request = target.post(PATH, &body.to_string());
        let mut connection = target.connect().await?;
        let id = connection.created("scheduling the bulk operation", &request).await?;
        Ok(Self { id, target: Arc::clone(target), connection })
    }

    /// Waits until it is COMPLETED; `None` when that takes more than a minute longer than twice its ramp.
    ///
    /// # Errors
    /// Fails like [`Self::look`].
    pub(super) async fn completed(&mut self, settings: &Bulk) -> Result<Option<BulkProgress>, Error> {
        let ramp = Duration::from_secs_f64(settings.ramp * f64::from(settings.devices));
        let limit = Instant::now() + ramp * 2 + GRACE;
        let progress = Progress::count("making operations", settings.devices as usize);
        let mut made = 0;
        while Instant::now() < limit {
            let standing = self.look().await?;
            (made..standing.progress.made()).for_each(|_| progress.advance());
            made = standing.progress.made();
            if standing.status == "COMPLETED" {
                progress.finish();
                return Ok(Some(standing));
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        Ok(None)
    }

    /// Returns its current progress.
    ///
    /// # Errors
    /// The response was not 200.
    pub(super) async fn look(&mut self) -> Result<BulkProgress, Error> {
        let request = self.target.get(&format!("{PATH}/{}", self.id));
        self.connection.json(200, "looking at the bulk operation", &request).await
    }

    /// Returns its operations, by the links `next`.
    ///
    /// # Errors
    /// A response was not 200.
    pub(super) async fn operations(&mut self) -> Result<Vec<Operation>, Error> {
        let query = format!("bulkOperationId={}", self.id);
        operations::list(&self.target, &mut self.connection, &query).await
    }

    /// Removes it, which stops it if it is still running; returns the number of bulk operations left, 0 or 1.
    pub(super) async fn remove(mut self) -> usize {
        let request = self.target.delete(&format!("{PATH}/{}", self.id));
        let answered = self.connection.call("removing the bulk operation", &request).await;
        usize::from(!answered.is_ok_and(|response| response.status == 204))
    }
}
