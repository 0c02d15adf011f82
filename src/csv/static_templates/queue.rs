//! What a device has to do, read by REST page after page: oldest first (O-06, H-07).

use actix_web::http::StatusCode;
use form_urlencoded::Serializer;
use platform_actors::model::fragments::Fragments;
use platform_actors::model::id::ManagedObjectId;
use platform_actors::model::operation::OperationStatus;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::{Call, RestCaller};

const OPERATIONS: &str = "/devicecontrol/operations";
/// Operations of a page at most.
const PAGE_SIZE: u32 = 2000;

/// Which operations are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Queue {
    /// Of an agent: of the devices whose nearest agent it is (O-06a).
    OfAgent(ManagedObjectId),
    /// Of one device.
    OfDevice(ManagedObjectId),
}

/// An operation as REST shows it, its members byte for byte.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Found(Fragments);

/// The pages of a queue, from the oldest operation on.
pub(super) struct Pages<'r> {
    rest: &'r RestCaller,
    filter: String,
    most: u32,
    /// Operations of the next page: fewer where so many made too long an answer.
    size: u32,
    /// Where the next page begins; `None` behind the last one.
    place: Option<String>,
}

#[derive(Deserialize)]
struct Page<T> {
    operations: Vec<T>,
    next: Option<String>,
}

impl Queue {
    /// All operations of a status.
    pub(super) fn pages(self, rest: &RestCaller, status: OperationStatus) -> Pages<'_> {
        self.pages_of(rest, status, None, PAGE_SIZE)
    }

    /// The oldest operation of a status that holds a fragment at its top; `None` for none (H-07).
    ///
    /// # Errors
    /// What REST refused.
    pub(super) async fn oldest(
        self,
        rest: &RestCaller,
        status: OperationStatus,
        fragment: &str,
    ) -> Result<Option<Found>, Refusal> {
        let mut pages = self.pages_of(rest, status, Some(fragment), 1);
        // For who sees only part of all operations a page may be empty and not the last.
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
        Pages { rest, filter: filter.finish(), most, size: most, place: Some(String::new()) }
    }
}

impl Pages<'_> {
    /// The next page; `None` behind the last one.
    ///
    /// # Errors
    /// What REST refused.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<Vec<T>>, Refusal> {
        let Some(place) = &self.place else { return Ok(None) };
        let page = loop {
            let uri = format!("{OPERATIONS}?{}&pageSize={}{place}", self.filter, self.size);
            let page = match self.rest.call(Call::get(uri)).await {
                Ok(answer) => answer.parsed::<Page<T>>().await,
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
        self.place = page.next.as_deref().map(place_of);
        Ok(Some(page.operations))
    }
}

/// The parameters of a `next` link that say where its page begins.
fn place_of(link: &str) -> String {
    let query = link.split_once('?').map_or("", |(_, query)| query);
    let place = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| ["currentPage", "after"].contains(&name.as_ref()));
    let mut parameters = Serializer::new(String::from("&"));
    parameters.extend_pairs(place);
    parameters.finish()
}

impl Found {
    /// Its id.
    pub(super) fn id(&self) -> String {
        self.text("id").unwrap_or_default()
    }

    /// The device that shall do it.
    pub(super) fn device(&self) -> String {
        self.text("deviceId").unwrap_or_default()
    }

    /// A text member.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.member(name)?.get()).ok()
    }

    /// A member that is not `null`.
    pub(super) fn member(&self, name: &str) -> Option<&RawValue> {
        self.0.get(name).filter(|raw| raw.get() != "null")
    }
}
