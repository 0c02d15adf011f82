//! The engine of the CSV protocol: it turns a request body into a response text (S-03, S-40), whatever the
//! transport. Only [`Engine::new`] reads HTTP headers, so that another transport can be added (H-01).

use actix_web::http::header::HeaderName;
use actix_web::{HttpRequest, ResponseError};
use platform_model::id::ManagedObjectId;
use tokio::sync::OnceCell;

use super::Csv;
use super::groups::{id_of, switch};
use super::line::{Lines, Records};
use super::refusal::{NO_TEMPLATE, Refusal};
use super::rest_caller::RestCaller;
use super::rows::Selected;
use super::template_sets::Set;
use super::{bootstrap, registration, rows};
use crate::auth::Caller;
use crate::http::head::Head;

/// The header that names the template set (S-12).
pub(super) static X_ID: HeaderName = HeaderName::from_static("x-id");
/// The header that names the acting device (H-02).
static X_DEVICE_ID: HeaderName = HeaderName::from_static("x-device-id");

/// The engine for the rows of one request.
pub(crate) struct Engine<'e> {
    pub(crate) csv: &'e Csv,
    pub(crate) caller: &'e Caller,
    pub(crate) rest: RestCaller,
    /// The header `X-Id`.
    pub(crate) x_id: Option<String>,
    /// The header `X-Device-Id`: the serial of the acting device, if that is not the caller itself (H-02).
    pub(crate) wanted_device: Option<String>,
    /// The managed object of the acting device, once a row needed it.
    pub(crate) own_device: OnceCell<ManagedObjectId>,
}

/// The kinds of lines in a body.
#[derive(Debug, Default)]
struct Outline {
    /// Lines 10 or 11 occur: the whole body is a registration of templates (S-14).
    templates: bool,
    /// Lines 61 occur (S-45).
    bootstrap: bool,
    /// Lines 15 occur.
    switches: bool,
    /// Lines other than 15 occur.
    rows: bool,
}

impl<'e> Engine<'e> {
    /// Returns an engine for the rows of a request, with the authority of its caller.
    pub(crate) fn new(csv: &'e Csv, caller: &'e Caller, request: &HttpRequest) -> Self {
        Self {
            csv,
            caller,
            rest: RestCaller::of(request, caller),
            x_id: header(request, &X_ID),
            wanted_device: header(request, &X_DEVICE_ID),
            own_device: OnceCell::new(),
        }
    }

    /// Returns the response to a body.
    pub(crate) async fn respond(&self, body: &[u8]) -> String {
        let records = Records::parse(body);
        let outline = Outline::of(&records);
        match outline {
            // Rare cases are boxed, so that the future for ordinary rows stays small.
            Outline { rows: true, .. } if self.caller.is_bootstrap() => {
                Box::pin(bootstrap::collect(self, &records)).await.into_text()
            }
            Outline { templates: true, .. } => Box::pin(registration::register(self, &records)).await,
            Outline { bootstrap: true, .. } => Box::pin(bootstrap::collect(self, &records)).await.into_text(),
            Outline { rows: false, .. } => Box::pin(self.check(&records)).await.into_text(),
            _ => rows::run(self, &records, outline.switches).await,
        }
    }

    /// Responds whether templates exist, with a line for each X-Id, in order (S-10, S-11).
    async fn check(&self, records: &Records<'_>) -> Lines {
        let mut lines = Lines::default();
        for record in records.iter() {
            match switch(&record, self.x_id.as_deref()) {
                Some(Ok(x_id)) => self.look_for(x_id, record.line, &mut lines).await,
                _ => Refusal::Malformed.write(record.line, &mut lines),
            }
        }
        match &self.x_id {
            _ if !lines.is_empty() => {}
            Some(x_id) => self.look_for(x_id, 1, &mut lines).await,
            None => lines.push_text(NO_TEMPLATE),
        }
        lines
    }

    async fn look_for(&self, x_id: &str, line: usize, lines: &mut Lines) {
        match self.select(x_id).await {
            Selected::Set(known) => lines.push(["20", &known.object.to_string()]),
            Selected::Unavailable(status) => Refusal::Rest(status).write(line, lines),
            _ => lines.push_text(NO_TEMPLATE),
        }
    }

    /// Returns the set in which the rows of an X-Id are looked up.
    pub(super) async fn select(&self, x_id: &str) -> Selected {
        let (database, tenant) = (self.csv.platform.database(), &self.caller.tenant);
        match self.csv.templates.select(database, tenant, x_id).await {
            Ok(Some(Set::Static)) => Selected::Static,
            Ok(Some(Set::Registered(known))) => Selected::Set(known),
            Ok(None) => Selected::Unknown,
            Err(error) => Selected::Unavailable(error.status_code()),
        }
    }
}

/// Returns a header's value; `None` for a missing or an empty one.
pub(super) fn header(head: &impl Head, name: &HeaderName) -> Option<String> {
    let value = String::from_utf8_lossy(head.header(name)?).trim().to_owned();
    (!value.is_empty()).then_some(value)
}

impl Outline {
    fn of(records: &Records<'_>) -> Self {
        let mut outline = Self::default();
        for record in records.iter() {
            match record.first().and_then(id_of) {
                Some(15) => outline.switches = true,
                id => {
                    outline.rows = true;
                    outline.templates |= matches!(id, Some(10 | 11));
                    outline.bootstrap |= id == Some(61);
                }
            }
        }
        outline
    }
}
