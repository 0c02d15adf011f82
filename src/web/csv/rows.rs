//! The execution of the rows of one request in order (S-03, S-05, S-06, S-40, S-41).
//!
//! Rows that only create data do not wait for each other's commit: they share a transaction. They are started
//! in order, so that their ids rise with the rows, and are published and responded to in order (S-03a). Every
//! other row waits for all rows before it.

use std::borrow::Cow;
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use actix_web::http::{Method, StatusCode};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesOrdered;
use platform_actors::writes::{PublicationOrder, PublicationTurn};

use super::engine::Engine;
use super::groups::{GroupedLines, message_id, switch};
use super::line::{Lines, Record, Records};
use super::refusal::{NO_TEMPLATE, Refusal};
use super::request_template::RequestTemplate;
use super::static_templates::{self, Arguments, Row};
use super::template_set::TemplateSet;
use super::template_sets::RegisteredSet;
use crate::http::error::ApiError;

/// The number of rows of one request that may run at once.
const OVERLAP: usize = 128;
/// The number of overlapping rows of all requests; beyond it, each request runs one row at a time.
pub(super) const OVERLAPPING: usize = 4096;
/// The number of rows after which other requests of this thread get a turn.
const TURN: usize = 256;
/// The largest response in bytes; rows whose lines do not fit fail with 413.
const RESPONSE_BYTES: usize = 64 << 20;

/// Executes the rows of a body and returns their lines. `switches` says whether there are lines 15.
pub(super) async fn run(engine: &Engine<'_>, records: &Records<'_>, switches: bool) -> String {
    let mut rows = RowRunner {
        engine,
        selected: match &engine.x_id {
            Some(_) => Selected::Unknown,
            None if switches => Selected::Unnamed,
            None => Selected::Static,
        },
        under_way: FuturesOrdered::new(),
        order: None,
        is_first: true,
        more: true,
        count: 0,
        answer: GroupedLines::default(),
    };
    if let Some(x_id) = &engine.x_id {
        rows.select(x_id).await;
    }
    let mut records = records.iter();
    let mut count = 0_usize;
    while let Some(record) = records.next() {
        count += 1;
        if count.is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
        rows.more = records.len() > 0;
        rows.take(record).await;
    }
    rows.settle(0).await;
    engine.rest.note_rows(rows.count);
    rows.answer.finish()
}

/// The state of the execution.
struct RowRunner<'e> {
    engine: &'e Engine<'e>,
    selected: Selected,
    under_way: FuturesOrdered<LocalBoxFuture<'e, (usize, Lines)>>,
    /// The order in which overlapping rows are published, once there are some.
    order: Option<PublicationOrder>,
    /// Whether no row was taken yet.
    is_first: bool,
    /// Whether rows follow the current one.
    more: bool,
    /// The number of rows so far.
    count: u64,
    answer: GroupedLines,
}

/// The set in which rows are looked up before the static set.
#[derive(Debug, Clone)]
pub(super) enum Selected {
    /// Only the static set.
    Static,
    /// A registered set.
    Set(Arc<RegisteredSet>),
    /// No set has this X-Id.
    Unknown,
    /// No set is selected before the first line 15 (S-40).
    Unnamed,
    /// The set cannot be looked up now.
    Unavailable(StatusCode),
}

/// A parsed row.
enum SelectedRow<'b> {
    Custom(Arc<RegisteredSet>, u32, &'b [Cow<'b, str>]),
    Static(u32, &'b [Cow<'b, str>]),
}

impl<'e> RowRunner<'e> {
    async fn take(&mut self, record: Record<'e>) {
        let line = record.line;
        if self.count_row().is_err() {
            self.settle(0).await;
            return Refusal::Rest(StatusCode::TOO_MANY_REQUESTS).write(line, self.answer.lines());
        }
        if let Some(x_id) = switch(&record, self.engine.x_id.as_deref()) {
            self.settle(0).await;
            return self.enter(x_id, line).await;
        }
        self.count += 1;
        match self.selected.step(record) {
            Ok(step) if self.overlaps(&step) => self.begin(step, line).await,
            Ok(step) => {
                self.settle(0).await;
                let lines = Box::pin(perform(self.engine, step, line, None)).await;
                self.add(line, &lines);
            }
            Err(Some(refusal)) => {
                self.settle(0).await;
                refusal.write(line, self.answer.lines());
            }
            Err(None) => {}
        }
    }

    /// Counts a row as a request of the tenant. The first one was counted with the request.
    ///
    /// # Errors
    /// `TooManyRequests` when the tenant exceeds its rate (Z-20).
    fn count_row(&mut self) -> Result<(), ApiError> {
        if std::mem::replace(&mut self.is_first, false) { Ok(()) } else { self.engine.caller.count_request() }
    }

    /// Returns whether a row may overlap others. A single row has no others to overlap.
    fn overlaps(&self, step: &SelectedRow<'_>) -> bool {
        (self.more || !self.under_way.is_empty()) && step.only_creates()
    }

    /// Executes a line 15.
    async fn enter(&mut self, x_id: Result<&str, Refusal>, line: usize) {
        match x_id {
            Ok(x_id) => {
                self.answer.begin(Some(x_id));
                self.select(x_id).await;
            }
            Err(refusal) => {
                if self.engine.x_id.is_none() {
                    self.selected = Selected::Unnamed;
                    self.answer.begin(None);
                }
                refusal.write(line, self.answer.lines());
            }
        }
    }

    /// Selects the set of an X-Id. For an unknown one it adds a single line for all its rows (S-41).
    async fn select(&mut self, x_id: &str) {
        self.selected = self.engine.select(x_id).await;
        if let Selected::Unknown = self.selected {
            self.answer.lines().push_text(NO_TEMPLATE);
        }
    }

    /// Starts a row that overlaps those that run, as far as the limits allow.
    async fn begin(&mut self, step: SelectedRow<'e>, line: usize) {
        let (engine, mut permit) = (self.engine, None);
        if !self.under_way.is_empty() {
            permit = engine.csv.overlaps.try_acquire().ok();
            let room = if permit.is_some() { OVERLAP - 1 } else { 0 };
            self.settle(room).await;
        }
        let turn = Some(self.order.get_or_insert_default().next());
        self.under_way.push_back(Box::pin(async move {
            let _permit = permit;
            (line, perform(engine, step, line, turn).await)
        }));
        self.begun().await;
    }

    /// Waits until the newest row has assigned the ids of what it creates, which is mostly at its first poll.
    async fn begun(&mut self) {
        poll_fn(|cx| {
            loop {
                let ended = self.under_way.poll_next_unpin(cx);
                if let Poll::Ready(Some((line, lines))) = &ended {
                    self.add(*line, lines);
                }
                match self.order.as_ref().is_none_or(PublicationOrder::newest_has_begun) {
                    true => return Poll::Ready(()),
                    false if ended.is_pending() => return Poll::Pending,
                    false => {}
                }
            }
        })
        .await;
    }

    /// Waits until at most this number of rows is running.
    async fn settle(&mut self, left: usize) {
        while self.under_way.len() > left
            && let Some((line, lines)) = self.under_way.next().await
        {
            self.add(line, &lines);
        }
    }

    fn add(&mut self, line: usize, lines: &Lines) {
        if self.answer.bytes() + lines.bytes() <= RESPONSE_BYTES {
            self.answer.lines().append(lines)
        } else {
            Refusal::Rest(StatusCode::PAYLOAD_TOO_LARGE).write(line, self.answer.lines())
        }
    }
}

impl Selected {
    /// Returns the row that a record selects: of the set first, otherwise of the static set (H-01).
    ///
    /// # Errors
    /// The refusal, or `None` when a single line stands for all rows of an unknown X-Id.
    fn step<'b>(&self, record: Record<'b>) -> Result<SelectedRow<'b>, Option<Refusal>> {
        match self {
            Self::Unknown => return Err(None),
            Self::Unnamed => return Err(Some(Refusal::Malformed)),
            Self::Unavailable(status) => return Err(Some(Refusal::Rest(*status))),
            Self::Static | Self::Set(_) => {}
        }
        let id = message_id(&record).ok_or(Some(Refusal::Malformed))?;
        let values = record.values.map_err(|_| Some(Refusal::Malformed))?;
        let arguments = values.get(1..).unwrap_or_default();
        match self {
            Self::Set(known) if known.set.request(id).is_some() => {
                Ok(SelectedRow::Custom(known.clone(), id, arguments))
            }
            _ if static_templates::is_known(id) => Ok(SelectedRow::Static(id, arguments)),
            _ => Err(Some(Refusal::InvalidMessageId)),
        }
    }
}

impl SelectedRow<'_> {
    /// Returns whether the row only creates a measurement or an event.
    fn only_creates(&self) -> bool {
        match self {
            Self::Custom(known, id, _) => known.set.request(*id).is_some_and(RequestTemplate::only_creates),
            Self::Static(id, _) => static_templates::only_creates(*id),
        }
    }
}

/// Executes a row; an error becomes its line (S-04).
async fn perform(
    engine: &Engine<'_>,
    step: SelectedRow<'_>,
    line: usize,
    turn: Option<PublicationTurn>,
) -> Lines {
    let mut lines = Lines::default();
    let performed = match &step {
        SelectedRow::Static(id, arguments) => {
            let row = Row { engine, arguments: Arguments(arguments), turn: Cell::new(turn) };
            static_templates::perform(*id, row, &mut lines).await
        }
        SelectedRow::Custom(known, id, arguments) => match known.set.request(*id) {
            Some(template) => call(engine, template, arguments, &known.set, line, &mut lines, turn).await,
            None => Err(Refusal::InvalidMessageId),
        },
    };
    if let Err(refusal) = performed {
        lines = Lines::default();
        refusal.write(line, &mut lines);
    }
    lines
}

/// Executes a row of a registered template: one call (S-05), whose response is evaluated by the set's
/// response templates. For a POST they evaluate the created object even if the template has no `Accept`
/// (S-06).
async fn call(
    engine: &Engine<'_>,
    template: &RequestTemplate,
    arguments: &[Cow<'_, str>],
    set: &TemplateSet,
    line: usize,
    lines: &mut Lines,
    turn: Option<PublicationTurn>,
) -> Result<(), Refusal> {
    let mut call = template.call(arguments)?;
    if call.accept.is_none() && call.method == Method::POST && set.has_responses() {
        call = call.accepting_json();
    }
    let evaluated = call.accept.is_some() && set.has_responses();
    let answer = engine.rest.call_in_turn(call, turn).await?;
    if evaluated && let Some(json) = answer.json().await? {
        set.evaluate(&json, line, lines);
    }
    Ok(())
}
