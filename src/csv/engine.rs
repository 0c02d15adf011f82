//! A body in, an answer out (S-03, S-40). Knows no transport, so that another one can stand beside HTTP (H-01).

use std::borrow::Cow;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::{Method, StatusCode};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesOrdered;
use platform_actors::model::id::ManagedObjectId;
use tokio::sync::OnceCell;

use super::groups::{GroupedLines, message_id, switch};
use super::line::{Lines, Record, records};
use super::refusal::{NO_TEMPLATE, Refusal};
use super::request_template::RequestTemplate;
use super::rest_caller::RestCaller;
use super::static_templates::{self, Arguments, Row};
use super::template_set::TemplateSet;
use super::template_sets::Known;
use super::{bootstrap, registration};
use crate::auth::Caller;
use crate::server::Edge;

/// Rows that are under way at once, as long as they only create data.
const OVERLAP: usize = 128;
/// Rows after which other requests of this thread get their turn.
const TURN: usize = 256;

/// Carries out the rows of one request.
pub(crate) struct Engine<'e> {
    pub(crate) edge: &'e Edge,
    pub(crate) caller: &'e Caller,
    pub(crate) rest: RestCaller,
    /// Header `X-Id`.
    pub(crate) x_id: Option<String>,
    /// Header `X-Device-Id`: serial of the device that acts, when it is not the caller itself (H-02).
    pub(crate) wanted_device: Option<String>,
    /// The object of the acting device, once a row asked for it.
    pub(crate) own_device: OnceCell<ManagedObjectId>,
}

/// What a body holds.
#[derive(Debug, Default)]
struct Outline {
    /// Lines 10 and 11: all of it is templates (document 3, Compact CSV endpoint).
    templates: bool,
    /// Line 61 (S-45).
    bootstrap: bool,
    /// Lines 15.
    switches: bool,
    /// Anything but lines 15.
    rows: bool,
}

/// Where rows are looked up, besides the static set.
#[derive(Debug, Clone)]
enum Selected {
    /// Nowhere else.
    Static,
    /// In a registered set.
    Set(Arc<Known>),
    /// There is no such set.
    Unknown,
    /// A row before the first line 15 (S-40).
    Unnamed,
    /// It cannot be said now.
    Unavailable(StatusCode),
}

/// A row that was understood.
enum Step<'b> {
    Custom(Arc<Known>, u32, Vec<Cow<'b, str>>),
    Static(u32, Vec<Cow<'b, str>>),
}

impl<'e> Engine<'e> {
    /// For the rows of a request, in the name of its caller.
    pub(crate) fn new(edge: &'e Edge, caller: &'e Caller, request: &HttpRequest) -> Self {
        Self {
            edge,
            caller,
            rest: RestCaller::of(request),
            x_id: header(request, "X-Id"),
            wanted_device: header(request, "X-Device-Id"),
            own_device: OnceCell::new(),
        }
    }

    /// The answer to a body.
    pub(crate) async fn answer(&self, body: &[u8]) -> String {
        let outline = Outline::of(body);
        match outline {
            Outline { templates: true, .. } => registration::register(self, body).await,
            Outline { bootstrap: true, .. } => bootstrap::collect(self, body).await.into_text(),
            Outline { rows: false, .. } => self.check(body).await.into_text(),
            _ => self.run(body, outline.switches).await,
        }
    }

    /// Whether there are templates: one line for each X-Id, in order (S-10, S-11).
    async fn check(&self, body: &[u8]) -> Lines {
        let mut lines = Lines::default();
        for record in records(body) {
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

    async fn select(&self, x_id: &str) -> Selected {
        if x_id == static_templates::x_id() {
            return Selected::Static;
        }
        match self.edge.csv_templates.find(self.edge.platform.database(), &self.caller.tenant, x_id).await {
            Ok(Some(known)) => Selected::Set(known),
            Ok(None) => Selected::Unknown,
            Err(error) => match Refusal::from(error) {
                Refusal::Rest(status) => Selected::Unavailable(status),
                _ => Selected::Unknown,
            },
        }
    }

    /// Carries out rows in order. Rows that only create data do not wait for each other's commit.
    async fn run(&self, body: &[u8], switches: bool) -> String {
        let mut answer = GroupedLines::default();
        let mut under_way: FuturesOrdered<LocalBoxFuture<'_, Lines>> = FuturesOrdered::new();
        let mut selected = match &self.x_id {
            Some(x_id) => self.select(x_id).await,
            None if switches => Selected::Unnamed,
            None => Selected::Static,
        };
        if matches!((&selected, &self.x_id), (Selected::Unknown, Some(_))) {
            answer.lines().push_text(NO_TEMPLATE);
        }
        for (count, record) in records(body).enumerate() {
            if count % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
            let line = record.line;
            let switch = switch(&record, self.x_id.as_deref()).map(|x_id| x_id.map(ToOwned::to_owned));
            let step = if switch.is_some() { Err(None) } else { selected.step(record) };
            let overlaps = matches!(&step, Ok(step) if step.only_creates());
            while !under_way.is_empty() && (!overlaps || under_way.len() >= OVERLAP) {
                if let Some(lines) = under_way.next().await {
                    answer.lines().append(&lines);
                }
            }
            match (switch, step) {
                (Some(Ok(x_id)), _) => {
                    selected = self.select(&x_id).await;
                    answer.begin(Some(&x_id));
                    if let Selected::Unknown = selected {
                        answer.lines().push_text(NO_TEMPLATE);
                    }
                }
                (Some(Err(refusal)), _) => {
                    if self.x_id.is_none() {
                        selected = Selected::Unnamed;
                        answer.begin(None);
                    }
                    refusal.write(line, answer.lines());
                }
                (None, Ok(step)) if overlaps => {
                    // What rows rest on is looked up once, before the first of them.
                    if step.needs_device() && self.own_device.get().is_none() {
                        drop(Box::pin(self.own_device()).await);
                    }
                    under_way.push_back(Box::pin(self.perform(step, line)));
                }
                (None, Ok(step)) => answer.lines().append(&Box::pin(self.perform(step, line)).await),
                (None, Err(Some(refusal))) => refusal.write(line, answer.lines()),
                (None, Err(None)) => {}
            }
        }
        while let Some(lines) = under_way.next().await {
            answer.lines().append(&lines);
        }
        answer.finish()
    }

    /// Carries out one row; what goes wrong is a line (S-04).
    async fn perform(&self, step: Step<'_>, line: usize) -> Lines {
        let mut lines = Lines::default();
        let performed = match &step {
            Step::Static(id, arguments) => {
                let row = Row { engine: self, arguments: Arguments(arguments) };
                static_templates::perform(*id, row, &mut lines).await
            }
            Step::Custom(known, id, arguments) => match known.set.request(*id) {
                Some(template) => self.call(template, arguments, (&known.set, line), &mut lines).await,
                None => Err(Refusal::InvalidMessageId),
            },
        };
        if let Err(refusal) = performed {
            lines = Lines::default();
            refusal.write(line, &mut lines);
        }
        lines
    }

    /// One row of a registered template is one call (S-05), its answer goes through the set's response templates (S-03, S-06).
    async fn call(
        &self,
        template: &RequestTemplate,
        arguments: &[Cow<'_, str>],
        (set, line): (&TemplateSet, usize),
        lines: &mut Lines,
    ) -> Result<(), Refusal> {
        let mut call = template.call(arguments)?;
        if call.accept.is_none() && call.method == Method::POST && set.has_responses() {
            call = call.accepting_json();
        }
        let evaluated = call.accept.is_some() && set.has_responses();
        let answer = self.rest.call(call).await?;
        if evaluated && let Some(json) = answer.json().await? {
            set.evaluate(&json, line, lines);
        }
        Ok(())
    }
}

/// A header's value; `None` for none and for an empty one.
pub(super) fn header(request: &HttpRequest, name: &str) -> Option<String> {
    let value = String::from_utf8_lossy(request.headers().get(name)?.as_bytes()).trim().to_owned();
    (!value.is_empty()).then_some(value)
}

impl Outline {
    fn of(body: &[u8]) -> Self {
        let mut outline = Self::default();
        for record in records(body) {
            match message_id(&record) {
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

impl Selected {
    /// What a record stands for: a row of the set first, else one of the static set (H-01).
    ///
    /// # Errors
    /// The refusal, or `None` where one line was said for all rows of an X-Id (S-41).
    fn step<'b>(&self, record: Record<'b>) -> Result<Step<'b>, Option<Refusal>> {
        match self {
            Self::Unknown => return Err(None),
            Self::Unnamed => return Err(Some(Refusal::Malformed)),
            Self::Unavailable(status) => return Err(Some(Refusal::Rest(*status))),
            Self::Static | Self::Set(_) => {}
        }
        let id = message_id(&record).ok_or(Some(Refusal::Malformed))?;
        let mut values = record.values.map_err(|_| Some(Refusal::Malformed))?;
        values.remove(0);
        match self {
            Self::Set(known) if known.set.request(id).is_some() => {
                Ok(Step::Custom(known.clone(), id, values))
            }
            _ if static_templates::is_known(id) => Ok(Step::Static(id, values)),
            _ => Err(Some(Refusal::InvalidMessageId)),
        }
    }
}

impl Step<'_> {
    /// Whether the row creates a measurement or an event and nothing else, so that the next such row need not wait for it.
    fn only_creates(&self) -> bool {
        match self {
            Self::Custom(known, id, _) => known.set.request(*id).is_some_and(RequestTemplate::only_creates),
            Self::Static(id, _) => static_templates::only_creates(*id),
        }
    }

    fn needs_device(&self) -> bool {
        matches!(self, Self::Static(..))
    }
}
