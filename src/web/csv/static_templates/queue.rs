//! The operations of a device, read by REST page by page, oldest first (O-06, H-07).

use actix_web::http::StatusCode;
use form_urlencoded::Serializer;
use platform_model::data::operation::OperationStatus;
use platform_model::fragments::Fragments;
use platform_model::id::ManagedObjectId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::{Call, RestCaller};

const OPERATIONS: &str = "/devicecontrol/operations";
/// The largest number of operations of a page.
const PAGE_SIZE: u32 = 2000;

/// The operations that are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum OperationQueue {
    /// The operations of an agent: those of devices whose nearest agent it is (O-06a).
    OfAgent(ManagedObjectId),
    /// The operations of one device.
    OfDevice(ManagedObjectId),
}

/// An operation as REST returns it, with its members verbatim.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct QueuedOperation(Fragments);

/// The pages of a queue, starting with the oldest operation.
pub(super) struct Pages<'r> {
    rest: &'r RestCaller,
    filter: String,
    most: u32,
    /// The number of operations of the next page: fewer after a response that was too large.
    size: u32,
    /// The position of the next page; `None` after the last one.
    position: Option<String>,
}

#[derive(Deserialize)]
struct OperationPage<T> {
    operations: Vec<T>,
    next: Option<String>,
}

impl OperationQueue {
    /// Returns all operations in a status.
    pub(super) fn pages(self, rest: &RestCaller, status: OperationStatus) -> Pages<'_> {
        self.pages_of(rest, status, None, PAGE_SIZE)
    }

    /// Returns the oldest operation in a status that has a top-level fragment; `None` if there is none
    /// (H-07).
    ///
    /// # Errors
    /// The error of a call.
    pub(super) async fn oldest(
        self,
        rest: &RestCaller,
        status: OperationStatus,
        fragment: &str,
    ) -> Result<Option<QueuedOperation>, Refusal> {
        let mut pages = self.pages_of(rest, status, Some(fragment), 1);
        // For a caller who sees only some operations an empty page need not be the last.
        while let Some(page) = pages.next().await? {
            if let Some(found) = page.into_iter().next() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn pages_of<'r>(
        self,
        rest: &'r RestCaller,
        status: OperationStatus,
        fragment: Option<&str>,
        most: u32,
    ) -> Pages<'r> {
        let mut filter = Serializer::new(String::new());
        match self {
            Self::OfAgent(agent) => filter.append_pair("agentId", &agent.to_string()),
            Self::OfDevice(device) => filter.append_pair("deviceId", &device.to_string()),
        };
        filter.append_pair("status", status.as_str());
        filter.extend_pairs(fragment.map(|fragment| ("fragmentType", fragment)));
        Pages { rest, filter: filter.finish(), most, size: most, position: Some(String::new()) }
    }
}

impl Pages<'_> {
    /// Returns the next page; `None` after the last one.
    ///
    /// # Errors
    /// The error of a call.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<Vec<T>>, Refusal> {
        let Some(position) = &self.position else { return Ok(None) };
        let page = loop {
            let uri = format!("{OPERATIONS}?{}&pageSize={}{position}", self.filter, self.size);
            let page = match self.rest.call(Call::get(uri)).await {
                Ok(answer) => answer.parsed::<OperationPage<T>>().await,
                Err(refusal) => Err(refusal),
            };
            match page {
                Err(Refusal::Rest(StatusCode::PAYLOAD_TOO_LARGE)) if self.size > 1 => {
                    self.size = (self.size / 4).max(1);
                }
                page => break page?,
            }
        };
        let page = page.ok_or(Refusal::Rest(StatusCode::INTERNAL_SERVER_ERROR))?;
        self.size = self.size.saturating_mul(2).min(self.most);
        self.position = page.next.as_deref().map(position_of);
        Ok(Some(page.operations))
    }
}

/// Returns the parameters of a `next` link that hold the position of its page.
fn position_of(link: &str) -> String {
    let query = link.split_once('?').map_or("", |(_, query)| query);
    let position = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| ["currentPage", "after"].contains(&name.as_ref()));
    let mut parameters = Serializer::new(String::from("&"));
    parameters.extend_pairs(position);
    parameters.finish()
}

impl QueuedOperation {
    /// Returns the id.
    pub(super) fn id(&self) -> String {
        self.text("id").unwrap_or_default()
    }

    /// Returns the device that executes the operation.
    pub(super) fn device(&self) -> String {
        self.text("deviceId").unwrap_or_default()
    }

    /// Returns a string member.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.member(name)?.get()).ok()
    }

    /// Returns a member that is not `null`.
    pub(super) fn member(&self, name: &str) -> Option<&RawValue> {
        self.0.get(name).filter(|raw| raw.get() != "null")
    }
}
