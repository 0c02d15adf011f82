//! `/notification/consumers/<name>/notifications` and `…/events`: the notifications of a named consumer, by long polls
//! and as server-sent events (docs/rules.md#named-consumers; B-29, B-32).

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::stream;
use platform_actors::Platform;
use platform_actors::consumers::{Batch, ConsumerReader, Interruption, NewReader, ReadNotification};
use platform_front::stop::Stop;
use platform_model::error::{Error, Noun};
use platform_model::realtime::consumer::{JournalPosition, Missed, ReaderWay, parse_position};
use platform_store::tenancy::tenant_limits::{Counted, TenantLimits};
use tokio::time::Instant;

use crate::auth::Caller;
use crate::auth::channels::ensure_readable;
use crate::http::address::client_address;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::negotiation::accepted;
use crate::http::query::Query;

/// The name of the media type of the response to a poll.
const BATCH: &str = "notificationBatch";
/// The longest time that a poll is held. Proxies close connections that are silent for a minute.
const LONGEST_WAIT: u32 = 50;
/// The notifications of one response: at most, and unless the client asks for another number.
const COUNTS: (usize, usize) = (1000, 100);
/// The notifications that are sent at once over a stream.
const EVENTS_AT_ONCE: usize = 200;
/// The pause after which a stream sends a comment, so that proxies do not close the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The notifications after which a stream ends, so that the client connects again and thereby acknowledges them.
const UNACKNOWLEDGED: i64 = 2000;
/// The time after its first notification after which a stream ends, for the same reason.
const STREAMED: Duration = Duration::from_secs(30);

/// `GET /notification/consumers/<name>/notifications`: acknowledges what was handled, and returns the next
/// notifications. Waits for them for up to `wait` seconds.
///
/// # Errors
/// 403 for a channel that the caller may no longer receive and when the tenant holds as many polls as it may,
/// 404 for an unknown consumer and for one of another user, 409 when another reader took over, 422 for an invalid
/// parameter.
pub async fn poll(
    caller: Caller,
    request: HttpRequest,
    path: web::Path<String>,
    stop: Component<Stop>,
) -> Result<HttpResponse> {
    let (media_type, text) = poll_of(&caller, &request, (&path, request.query_string()), &stop).await?;
    Ok(HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(text))
}

/// Serves [`poll`] on both transports, given the name of the consumer and the query. Returns the media type and the
/// body of the response.
///
/// # Errors
/// Those of [`poll`].
pub(crate) async fn poll_of(
    caller: &Caller,
    head: &impl Head,
    (name, query): (&str, &str),
    stop: &Stop,
) -> Result<(String, Vec<u8>)> {
    accepted(head, BATCH)?;
    let Parameters { most, wait, acknowledged } = Parameters::parse(&Query::parse(query))?;
    let (until, is_held) = (Instant::now() + caller.remaining().unwrap_or(wait).min(wait), !wait.is_zero());
    let mut reader = Box::pin(begin(caller, head, (name, ReaderWay::LongPoll, acknowledged))).await?;
    let _held = is_held.then(|| HeldPoll::begin(caller)).transpose()?;
    let read = tokio::select! {
        read = reader.next(most, until) => read?,
        () = stop.begun() => Err(Interruption::Changed),
    };
    let batch = match read {
        Ok(batch) => batch,
        // The client polls again with the position that it has.
        Err(Interruption::Changed) => Batch {
            position: reader.position(),
            missed: reader.missed(),
            remaining: 0,
            notifications: Vec::new(),
        },
        Err(Interruption::Superseded) => return Err(superseded(reader.consumer())),
    };
    // The type is made again, so that a poll that is held does not keep it.
    Ok((accepted(head, BATCH)?, text_of(&batch)))
}

/// `GET /notification/consumers/<name>/events`: streams the notifications as server-sent events. `Last-Event-ID`
/// acknowledges everything up to that position. The response ends from time to time, so that the client connects again.
///
/// # Errors
/// Those of [`poll`].
pub async fn events(
    caller: Caller,
    request: HttpRequest,
    path: web::Path<String>,
    stop: Component<Stop>,
) -> Result<HttpResponse> {
    let last = request.headers().get("last-event-id").map(|value| value.to_str().unwrap_or("not a text"));
    let acknowledged = last.filter(|id| !id.is_empty()).map(|id| parse_position("Last-Event-ID", id));
    let reader =
        Box::pin(begin(&caller, &request, (&path, ReaderWay::Events, acknowledged.transpose()?))).await?;
    let first = reader.position();
    let ends = caller.remaining().map(|remaining| Instant::now() + remaining);
    let stream =
        EventStream { reader, stop: stop.into_inner(), first, begun: None, ends, state: State::Opening };
    let events = stream::unfold(Box::new(stream), |mut stream| async {
        let chunk = stream.next().await?;
        Some((Ok::<_, Error>(chunk), stream))
    });
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CONTENT_TYPE, "text/event-stream"));
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    // nginx otherwise collects the events.
    response.insert_header(("x-accel-buffering", "no"));
    Ok(response.streaming(Box::pin(events)))
}

/// The parameters of a poll.
struct Parameters {
    /// The most notifications of the response.
    most: usize,
    /// The time for which the poll may be held.
    wait: Duration,
    acknowledged: Option<JournalPosition>,
}

impl Parameters {
    /// # Errors
    /// `Invalid` names the parameter, the value and what is allowed.
    fn parse(query: &Query) -> Result<Self> {
        let most = number(query, "maxCount", (1, COUNTS.0 as u32))?;
        let wait = number(query, "wait", (0, LONGEST_WAIT))?.unwrap_or(0);
        let acknowledged = query.get("acknowledge").map(|text| parse_position("acknowledge", text));
        Ok(Self {
            most: most.map_or(COUNTS.1, |count| count as usize),
            wait: Duration::from_secs(wait.into()),
            acknowledged: acknowledged.transpose()?,
        })
    }
}

/// A poll that counts for the limit of its tenant (Z-20), until it is dropped.
struct HeldPoll(Arc<TenantLimits>);

impl HeldPoll {
    /// Counts a poll.
    ///
    /// # Errors
    /// `QuotaExceeded` when the tenant holds as many as it may.
    fn begin(caller: &Caller) -> Result<Self> {
        let held = Self(caller.limits.clone());
        held.0.add(Counted::HeldPolls);
        held.0.check(Counted::HeldPolls)?;
        Ok(held)
    }
}

impl Drop for HeldPoll {
    fn drop(&mut self) {
        self.0.subtract(Counted::HeldPolls);
    }
}

async fn begin(
    caller: &Caller,
    head: &impl Head,
    (name, way, acknowledged): (&str, ReaderWay, Option<JournalPosition>),
) -> Result<ConsumerReader> {
    let platform = head.state::<Platform>();
    let new = NewReader {
        consumer: name.into(),
        user: caller.user.clone(),
        way,
        address: Some(client_address(head)),
        acknowledged,
        continued: None,
    };
    let reader = platform.read_consumer(&caller.tenant, new).await?;
    ensure_readable(caller, platform, reader.channels()).await?;
    Ok(reader)
}

fn superseded(name: &str) -> ApiError {
    let message = format!("another reader of the consumer '{name}' took over");
    Error::Conflict { noun: Noun::Consumer, message }.into()
}

/// Returns a parameter that is a whole number in a range.
fn number(query: &Query, name: &str, (least, most): (u32, u32)) -> Result<Option<u32>> {
    let Some(text) = query.get(name) else { return Ok(None) };
    match text.parse().ok().filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => {
            Err(Error::invalid_value(name, text, &format!("a whole number from {least} to {most}")).into())
        }
    }
}

/// Returns the body of the response to a poll.
fn text_of(batch: &Batch) -> Vec<u8> {
    let size: usize = batch.notifications.iter().map(|read| read.entry.content.len() + 96).sum();
    let mut text = String::with_capacity(size + 128);
    text.push_str(&format!(r#"{{"position":{},{}"#, batch.position, gap(batch.missed)));
    text.push_str(&format!(r#","remaining":{},"notifications":["#, batch.remaining));
    for (at, read) in batch.notifications.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        push_notification(&mut text, read);
    }
    text.push_str("]}");
    text.into_bytes()
}

fn gap(missed: Option<Missed>) -> String {
    match missed {
        None => r#""recovered":true"#.to_owned(),
        Some(Missed { from, to }) => format!(r#""recovered":false,"missed":{{"from":{from},"to":{to}}}"#),
    }
}

fn push_notification(text: &mut String, read: &ReadNotification) {
    let position = read.entry.place.position;
    text.push_str(&format!(r#"{{"position":{position},"channel":"{}","data":"#, read.channel));
    text.push_str(&read.entry.content);
    text.push('}');
}

/// A stream of server-sent events.
struct EventStream {
    reader: ConsumerReader,
    stop: Arc<Stop>,
    /// The position at the begin of the stream.
    first: JournalPosition,
    /// When the first notification was sent.
    begun: Option<Instant>,
    /// When the token of the caller expires.
    ends: Option<Instant>,
    state: State,
}

/// The state of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Opening,
    Open,
    Over,
}

impl EventStream {
    /// Returns the next bytes; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.state == State::Opening {
            self.state = State::Open;
            return Some(self.opening());
        }
        if self.state == State::Over || self.has_to_end() {
            return None;
        }
        let until = Instant::now() + KEEP_ALIVE;
        let until = self.ends.map_or(until, |ends| ends.min(until));
        let (missed, position, stop) = (self.reader.missed(), self.reader.position(), self.stop.clone());
        let read = tokio::select! {
            read = self.reader.next(EVENTS_AT_ONCE, until) => read,
            () = stop.begun() => return None,
        };
        match read {
            Ok(Ok(batch)) => Some(self.sent(batch, missed, position)),
            Ok(Err(Interruption::Superseded)) => {
                self.state = State::Over;
                Some(Bytes::from_static(
                    b"event: superseded\ndata: {\"message\":\"another reader took over\"}\n\n",
                ))
            }
            // The client connects again, which checks its rights and its position.
            Ok(Err(Interruption::Changed)) | Err(_) => None,
        }
    }

    /// Returns whether the client has to connect again, so that what it received is acknowledged.
    fn has_to_end(&self) -> bool {
        self.reader.position() - self.first >= UNACKNOWLEDGED
            || self.begun.is_some_and(|begun| begun.elapsed() >= STREAMED)
            || self.ends.is_some_and(|ends| ends <= Instant::now())
    }

    fn opening(&self) -> Bytes {
        let mut text = String::from("retry: 1000\n\n");
        push_gap(&mut text, self.reader.missed());
        text.into()
    }

    fn sent(&mut self, batch: Batch, missed: Option<Missed>, before: JournalPosition) -> Bytes {
        let mut text = String::new();
        for read in &batch.notifications {
            text.push_str(&format!("id: {}\ndata: ", read.entry.place.position));
            push_notification(&mut text, read);
            text.push_str("\n\n");
        }
        if batch.missed != missed {
            push_gap(&mut text, batch.missed);
        }
        let last = batch.notifications.last().map_or(before, |read| read.entry.place.position);
        if batch.position > last {
            // The client acknowledges what its channels do not match, too.
            text.push_str(&format!("id: {}\n\n", batch.position));
        }
        if text.is_empty() {
            text.push_str(":\n\n");
        } else {
            self.begun.get_or_insert_with(Instant::now);
        }
        text.into()
    }
}

fn push_gap(text: &mut String, missed: Option<Missed>) {
    if let Some(missed) = missed {
        text.push_str(&format!("id: {}\nevent: gap\ndata: {{{}}}\n\n", missed.to, gap(Some(missed))));
    }
}
