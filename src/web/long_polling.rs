//! Bayeux over POST. This module computes the response for both HTTP servers, the fast lane and actix-http, and serves
//! the requests that come through actix-http.
//!
//! Under actix-http, a held poll is a streaming body, not a handler that waits. The request is read, parsed and
//! dropped, the connection withholds the response head until there is something to send, and only a receiver and a
//! timer remain in memory.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix::Addr;
use actix_web::body::{BodySize, MessageBody};
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use platform_actors::session::{ClientId, PollHere, SessionActor, SessionHere};
use platform_front::connection::ConnectionHandle;
use platform_front::stop::Stop;
use platform_model::limits::Limits;
use platform_model::links::Links;
use platform_model::realtime::bayeux::Batch;
use platform_model::realtime::bayeux::channel::Endpoint;
use tokio::time::{Instant, Sleep, sleep};

use crate::auth::{Caller, Listener, RequestSource};
use crate::csv::{self, Csv, Records};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::head::{Has, Head};
use crate::http::negotiation::has_accept;
use crate::http::{authority, base, client_address};
use crate::realtime::{Connecting, Exchange, Held, Outcome, Realtime, Text, Transport, count_patiently};

const MEDIA_TYPE: &str = "application/json;charset=UTF-8";

/// The most messages of a request with a connect that wait together when the tenant exceeds its rate.
const MOST_BESIDE_A_POLL: u64 = 10;

/// A response to a POST with status 200.
pub(crate) struct Answered {
    pub(crate) media_type: &'static str,
    /// Whether the path is deprecated. Deprecated paths behave like the current ones and say so in a header.
    pub(crate) deprecated: bool,
    pub(crate) body: Body,
}

/// The body of a response.
pub(crate) enum Body {
    /// A text that is sent immediately.
    Text(Vec<u8>),
    /// A held poll, whose text is sent when the session replies.
    Held(HeldPoll),
}

/// A connect that waits, in the format of its client.
pub(crate) enum HeldPoll {
    Json(Held),
    /// This variant is boxed because most clients use JSON.
    Csv(Box<csv::realtime::HeldPoll>),
}

/// Processes the messages, or the CSV rows, of a request and returns the response.
///
/// # Errors
/// 400 for JSON that is not a message array; 403 when the tenant has as many sessions as it may have, and 429 when it
/// exceeds its rate (Z-20); every other error is a reply.
pub(crate) async fn answer(
    endpoint: Endpoint,
    caller: Caller,
    head: &(impl Head + Has<Realtime> + Has<Csv>),
    body: &[u8],
) -> Result<Answered> {
    if csv::realtime::is_meant(head) {
        // This future is boxed, so that the future of every other poll stays small.
        return Box::pin(answer_rows(endpoint, caller, head, &Records::parse(body))).await;
    }
    if caller.limits.requests().is_limited() {
        let has_poll = || contains(body, b"/meta/connect");
        Box::pin(count(&caller, head, Batch::count(body), has_poll)).await?;
    }
    let transport = transport(head);
    let answered = !matches!(transport, Transport::Mute);
    let (mut caller, mut attached) = (Some(caller), Vec::new());
    let outcome = exchange(endpoint, transport, head, &mut caller, &mut attached).process(body).await?;
    let body = match outcome {
        Outcome::Replies(replies) | Outcome::Farewell(replies) => Body::Text(replies),
        Outcome::Held(held) => Body::Held(HeldPoll::Json(held)),
    };
    Ok(Answered::new(head, MEDIA_TYPE, body, answered))
}

/// Processes the CSV rows of a request and returns the response.
///
/// # Errors
/// 429 when the tenant exceeds its rate (Z-20); every other error is a row.
async fn answer_rows(
    endpoint: Endpoint,
    caller: Caller,
    head: &(impl Head + Has<Realtime> + Has<Csv>),
    rows: &Records<'_>,
) -> Result<Answered> {
    if caller.limits.requests().is_limited() {
        count(&caller, head, csv::realtime::count(rows), || csv::realtime::has_poll(rows)).await?;
    }
    let transport = transport(head);
    let answered = !matches!(transport, Transport::Mute);
    let body = match csv::realtime::answer(endpoint, transport, caller, head, rows).await {
        csv::realtime::RowsResponse::Lines(lines) => Body::Text(lines.into()),
        csv::realtime::RowsResponse::Held(held) => Body::Held(HeldPoll::Csv(held)),
    };
    Ok(Answered::new(head, csv::MEDIA_TYPE, body, answered))
}

/// Counts the messages, or the rows, of a request (Z-20). A client whose tenant exceeds its rate keeps its session: its
/// poll is processed later, when there is room again or after some seconds. This holds for a poll with a few other
/// messages or rows.
///
/// # Errors
/// `TooManyRequests` for other messages and rows.
async fn count(
    caller: &Caller,
    head: &(impl Head + Has<Realtime>),
    messages: u64,
    has_poll: impl Fn() -> bool,
) -> Result<()> {
    let Err(refused) = caller.count_requests(messages) else { return Ok(()) };
    if messages > MOST_BESIDE_A_POLL || !has_poll() {
        return Err(refused);
    }
    count_patiently(caller, messages, head.state::<Realtime>().platform.limits()).await;
    Ok(())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Holds the poll of a known client whose request is a single connect. A fleet sends these requests all the time, and
/// this path needs no future. `here` is the connection, which the session calls with the response if it runs on the
/// same thread, and `last` the session of its last poll. Returns `None` for every other request.
pub(crate) fn hold_at_once(
    caller: &Caller,
    head: &(impl Head + Has<Realtime>),
    body: &[u8],
    here: PollHere,
    last: &mut Option<SessionHere>,
) -> Option<Answered> {
    let requests = caller.limits.requests();
    if csv::realtime::is_meant(head) || requests.wait().is_some() {
        return None;
    }
    let connecting = Connecting { realtime: head.state::<Realtime>(), caller, transport: &transport(head) };
    let held = connecting.park_alone(body, here, last)?;
    requests.charge(1);
    Some(Answered::new(head, MEDIA_TYPE, Body::Held(HeldPoll::Json(held)), true))
}

/// Returns the transport of a request. Nobody reads the response to a request without `Accept` (C-08), unless the
/// server runs in client-compatibility mode (C-20).
fn transport(head: &(impl Head + Has<Realtime>)) -> Transport {
    if has_accept(head) || head.state::<Realtime>().compatibility.is_on() {
        Transport::LongPolling
    } else {
        Transport::Mute
    }
}

fn exchange<'h>(
    endpoint: Endpoint,
    transport: Transport,
    head: &'h (impl Head + Has<Realtime>),
    caller: &'h mut Option<Caller>,
    attached: &'h mut Vec<(ClientId, Addr<SessionActor>)>,
) -> Exchange<'h> {
    let host = authority(head).unwrap_or_default();
    let (source, templates) = (RequestSource::of(client_address(head)), None);
    let realtime = head.state::<Realtime>();
    let links = Some(Links::new(base(head)));
    Exchange { realtime, endpoint, transport, host, links, source, caller, attached, templates }
}

impl Answered {
    fn new(head: &impl Head, media_type: &'static str, body: Body, answered: bool) -> Self {
        let body = match body {
            Body::Text(_) if !answered => Body::Text(Vec::new()),
            body => body,
        };
        Self { media_type, deprecated: !head.path().starts_with("/notification/"), body }
    }
}

impl HeldPoll {
    /// Returns the text as soon as the session replies. The text for a peer that is gone contains no notifications,
    /// because they would be lost silently (B-22).
    pub(crate) fn poll_text(
        &mut self,
        cx: &mut Context<'_>,
        mut peer_is_gone: impl FnMut(&Context<'_>) -> bool,
    ) -> Poll<Text> {
        match self {
            Self::Json(held) => {
                let answer = ready!(held.poll_answer(cx));
                if !answer.delivery.notifications.is_empty() && peer_is_gone(cx) {
                    held.give_back(answer);
                    return Poll::Ready(held.text_without_session());
                }
                Poll::Ready(held.text(answer))
            }
            Self::Csv(held) => held.poll_text(cx, peer_is_gone).map(|lines| Text::from(lines.into_bytes())),
        }
    }

    /// Returns the connect if it waits for a session that runs on the thread of the connection. CSV clients receive
    /// their responses through a channel.
    pub(crate) fn waiting_here(&mut self) -> Option<&mut Held> {
        match self {
            Self::Json(held) if held.waits_here() => Some(held),
            Self::Json(_) | Self::Csv(_) => None,
        }
    }

    /// Returns the time between two spaces (B-21b).
    pub(crate) fn keep_alive(&self, limits: &Limits) -> Duration {
        match self {
            Self::Json(_) => limits.keep_alive,
            Self::Csv(held) => held.keep_alive(),
        }
    }

    /// Notifies the session that writing the text takes a while. The session does not end before the poll is dropped
    /// (B-10a).
    pub(crate) fn writing_takes_a_while(&mut self) {
        match self {
            Self::Json(held) => held.writing_takes_a_while(),
            Self::Csv(held) => held.writing_takes_a_while(),
        }
    }

    /// Returns the text of a poll that ends early because its peer sends nothing more. It is the text of a poll that
    /// timed out, without notifications. A peer that went away cannot be distinguished from one that closed only its
    /// half of the connection and still reads (B-24), and notifications written to the former would be lost; so they
    /// stay for the next connect. The session is notified of the end when the poll is dropped.
    pub(crate) fn end_empty(&mut self) -> Text {
        match self {
            Self::Json(held) => held.text_without_session(),
            Self::Csv(held) => held.end_empty().into_bytes().into(),
        }
    }
}

/// `POST /notification/realtime`: resource and module channels (B-01).
///
/// # Errors
/// 401, 403 and 429 (Z-20), 413, and 400 for a body that is not a message array; every other error is a reply.
pub async fn realtime(
    Listener(caller): Listener,
    request: HttpRequest,
    body: UnreadBody,
    realtime: Component<Realtime>,
) -> Result<HttpResponse> {
    respond(Endpoint::Realtime, caller, request, body, realtime).await
}

/// `POST /notification/operations`: agent channels (B-01).
///
/// # Errors
/// The errors of [`realtime`].
pub async fn operations(
    Listener(caller): Listener,
    request: HttpRequest,
    body: UnreadBody,
    realtime: Component<Realtime>,
) -> Result<HttpResponse> {
    respond(Endpoint::Operations, caller, request, body, realtime).await
}

async fn respond(
    endpoint: Endpoint,
    caller: Caller,
    request: HttpRequest,
    body: UnreadBody,
    realtime: Component<Realtime>,
) -> Result<HttpResponse> {
    let text = body.read(realtime.platform.limits().bayeux_bytes).await?;
    let answered = answer(endpoint, caller, &request, &text).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CONTENT_TYPE, HeaderValue::from_static(answered.media_type)));
    if answered.deprecated {
        response.insert_header((DEPRECATION, HeaderValue::from_static("true")));
    }
    Ok(match answered.body {
        Body::Text(text) if text.is_empty() => response.finish(),
        Body::Text(text) => response.body(text),
        Body::Held(held) => response.body(HeldBody::begin(held, &request, &realtime)),
    })
}

/// The response header of the deprecated paths.
pub(crate) const DEPRECATION: &str = "deprecation";

/// The body of a held poll: nothing until the session replies, except for a space at each keep-alive interval (B-21,
/// S-57).
struct HeldBody {
    /// The poll; `None` after its text was written.
    held: Option<HeldPoll>,
    /// Whether the text was passed to the connection.
    is_sent: bool,
    connection: ConnectionHandle,
    /// The timer of the next space.
    space: Pin<Box<Sleep>>,
    keep_alive: Duration,
    stop: web::Data<Stop>,
}

impl HeldBody {
    /// Starts the body. The response head is sent together with the first space or with the text.
    fn begin(held: HeldPoll, request: &HttpRequest, realtime: &Realtime) -> Self {
        let connection = request
            .conn_data::<ConnectionHandle>()
            .cloned()
            .expect("every request has the handle of its connection");
        connection.withhold_head();
        let keep_alive = held.keep_alive(realtime.platform.limits());
        let space = Box::pin(sleep(keep_alive));
        Self {
            held: Some(held),
            is_sent: false,
            connection,
            space,
            keep_alive,
            stop: request.state::<Stop>().clone(),
        }
    }

    /// Returns a space when one is due.
    fn poll_space(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        ready!(self.space.as_mut().poll(cx));
        let next = Instant::now() + self.keep_alive;
        self.space.as_mut().reset(next);
        Poll::Ready(Bytes::from_static(b" "))
    }
}

impl MessageBody for HeldBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        let body = &mut *self;
        let Some(held) = body.held.as_mut().filter(|_| !body.is_sent) else {
            body.held = None;
            return Poll::Ready(None);
        };
        // A poll is also ended when the end of its peer could no longer be detected.
        let text = if body.connection.peer_has_ended() || !body.connection.is_read() {
            Poll::Ready(held.end_empty())
        } else {
            held.poll_text(cx, |cx| body.connection.peer_is_gone(cx))
        };
        let Poll::Ready(text) = text else {
            let space = body.poll_space(cx);
            if space.is_pending() {
                body.connection.expect_read(cx);
            }
            return space.map(|space| Some(Ok(space)));
        };
        if body.stop.has_begun() {
            body.connection.close_behind_answer();
        }
        body.is_sent = true;
        if text.is_large() {
            body.connection.bound_send_buffer();
            // The connection polls the body again only when it has accepted nearly all of this.
            held.writing_takes_a_while();
        }
        Poll::Ready((!text.is_empty()).then(|| Ok(text.into_bytes().into())))
    }
}
