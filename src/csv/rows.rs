//! Rows of one request, one after the other (S-03, S-05, S-06, S-40, S-41).
//!
//! Rows that only create data do not wait for each other's commit: they join one transaction. They are begun in order, so that their
//! ids rise with the rows, and are published and answered in order (S-03a). Every other row waits for all before it.

use std::borrow::Cow;
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use actix_web::http::{Method, StatusCode};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesOrdered;
use platform_actors::device::{PublicationOrder, Turn};

use super::engine::Engine;
use super::groups::{GroupedLines, message_id, switch};
use super::line::{Lines, Record, records};
use super::refusal::{NO_TEMPLATE, Refusal};
use super::request_template::RequestTemplate;
use super::static_templates::{self, Arguments, Row};
use super::template_set::TemplateSet;
use super::template_sets::Known;

/// Rows of one request that are under way at once.
const OVERLAP: usize = 128;
/// Rows that overlap others, of all requests; beyond, each request has one under way.
pub(crate) const OVERLAPPING: usize = 4096;
/// Rows after which other requests of this thread get their turn.
const TURN: usize = 256;
/// Bytes of an answer; the lines of further rows have no place in it.
const ANSWER_BYTES: usize = 64 << 20;

/// Carries out the rows of a body and gives their lines. `switches`: whether there are lines 15.
pub(super) async fn run(engine: &Engine<'_>, body: &[u8], switches: bool) -> String {
    let mut rows = Rows {
        engine,
        selected: match &engine.x_id {
            Some(_) => Selected::Unknown,
            None if switches => Selected::Unnamed,
            None => Selected::Static,
        },
        under_way: FuturesOrdered::new(),
        order: None,
        more: true,
        answer: GroupedLines::default(),
    };
    if let Some(x_id) = &engine.x_id {
        rows.select(x_id).await;
    }
    let mut records = records(body).peekable();
    let mut count = 0_usize;
    while let Some(record) = records.next() {
        count += 1;
        if count.is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
        rows.more = records.peek().is_some();
        rows.take(record).await;
    }
    rows.settle(0).await;
    rows.answer.finish()
}

/// Rows on their way.
struct Rows<'e> {
    engine: &'e Engine<'e>,
    selected: Selected,
    under_way: FuturesOrdered<LocalBoxFuture<'e, (usize, Lines)>>,
    /// In which order they are published, once there are some.
    order: Option<PublicationOrder>,
    /// Whether rows follow the one that is taken.
    more: bool,
    answer: GroupedLines,
}

/// Where rows are looked up, besides the static set.
#[derive(Debug, Clone)]
pub(super) enum Selected {
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

impl<'e> Rows<'e> {
    async fn take(&mut self, record: Record<'e>) {
        let line = record.line;
        if let Some(x_id) = switch(&record, self.engine.x_id.as_deref()) {
            self.settle(0).await;
            return self.enter(x_id, line).await;
        }
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

    /// Whether a row need not wait for those under way, nor the next one for it. One that stands alone has none to wait for.
    fn overlaps(&self, step: &Step<'_>) -> bool {
        (self.more || !self.under_way.is_empty()) && step.only_creates()
    }

    /// A line 15.
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

    /// One line stands for all rows of an X-Id that is unknown (S-41).
    async fn select(&mut self, x_id: &str) {
        self.selected = self.engine.select(x_id).await;
        if let Selected::Unknown = self.selected {
            self.answer.lines().push_text(NO_TEMPLATE);
        }
    }

    /// Begins a row beside those under way, as far as there is room.
    async fn begin(&mut self, step: Step<'e>, line: usize) {
        let (engine, mut permit) = (self.engine, None);
        if !self.under_way.is_empty() {
            permit = engine.edge.csv_overlaps.try_acquire().ok();
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

    /// Waits until the newest row has the ids of what it creates: mostly it has them as soon as it is looked at.
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

    /// Waits until no more rows than that are under way.
    async fn settle(&mut self, left: usize) {
        while self.under_way.len() > left
            && let Some((line, lines)) = self.under_way.next().await
        {
            self.add(line, &lines);
        }
    }

    fn add(&mut self, line: usize, lines: &Lines) {
        match self.answer.bytes() + lines.bytes() <= ANSWER_BYTES {
            true => self.answer.lines().append(lines),
            false => Refusal::Rest(StatusCode::PAYLOAD_TOO_LARGE).write(line, self.answer.lines()),
        }
    }
}

impl Selected {
    /// What a record stands for: a row of the set first, else one of the static set (H-01).
    ///
    /// # Errors
    /// The refusal, or `None` where one line was said for all rows of an X-Id.
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
    /// Whether the row creates a measurement or an event and nothing else.
    fn only_creates(&self) -> bool {
        match self {
            Self::Custom(known, id, _) => known.set.request(*id).is_some_and(RequestTemplate::only_creates),
            Self::Static(id, _) => static_templates::only_creates(*id),
        }
    }
}

/// Carries out one row; what goes wrong is a line (S-04).
async fn perform(engine: &Engine<'_>, step: Step<'_>, line: usize, turn: Option<Turn>) -> Lines {
    let mut lines = Lines::default();
    let performed = match &step {
        Step::Static(id, arguments) => {
            let row = Row { engine, arguments: Arguments(arguments), turn: Cell::new(turn) };
            static_templates::perform(*id, row, &mut lines).await
        }
        Step::Custom(known, id, arguments) => match known.set.request(*id) {
            Some(template) => call(engine, (template, arguments), (&known.set, line), &mut lines, turn).await,
            None => Err(Refusal::InvalidMessageId),
        },
    };
    if let Err(refusal) = performed {
        lines = Lines::default();
        refusal.write(line, &mut lines);
    }
    lines
}

/// One row of a registered template is one call (S-05), whose answer goes through the set's response templates. Of what a POST
/// created they are told even if the template does not ask for it (S-06).
async fn call(
    engine: &Engine<'_>,
    (template, arguments): (&RequestTemplate, &[Cow<'_, str>]),
    (set, line): (&TemplateSet, usize),
    lines: &mut Lines,
    turn: Option<Turn>,
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
