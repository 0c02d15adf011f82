//! Bayeux over POST. A held poll is a streaming body, not a handler that waits: the request is read, parsed and
//! dropped, the connection keeps the head back, and what is left of it all is a receiver and a timer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use bytes::Bytes;
use platform_actors::bayeux::channel::Endpoint;
use tokio::time::{Instant, Sleep, sleep};

use super::{Exchange, Held, Outcome, Transport};
use crate::auth::{Caller, Source};
use crate::connection::Line;
use crate::csv;
use crate::http::body::Unread;
use crate::http::error::Result;
use crate::http::{Wire, authority, client_address};
use crate::server::Edge;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/json;charset=UTF-8");

/// `POST /notification/realtime`: resource and module channels (B-01).
///
/// # Errors
/// 401, and 400 for a body that is no message array; everything else is a reply.
pub async fn realtime(
    caller: Caller,
    request: HttpRequest,
    wire: Wire,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    answer(Endpoint::Realtime, caller, request, wire, body, edge).await
}

/// `POST /notification/operations`: agent channels (B-01).
///
/// # Errors
/// As [`realtime`].
pub async fn operations(
    caller: Caller,
    request: HttpRequest,
    wire: Wire,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    answer(Endpoint::Operations, caller, request, wire, body, edge).await
}

async fn answer(
    endpoint: Endpoint,
    caller: Caller,
    request: HttpRequest,
    wire: Wire,
    body: Unread,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let csv = csv::realtime::is_meant(&request);
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CONTENT_TYPE, if csv { csv::MEDIA_TYPE } else { MEDIA_TYPE }));
    if is_deprecated(request.path()) {
        response.insert_header(("Deprecation", HeaderValue::from_static("true")));
    }
    let answered = wire.has_accept() || edge.client_compatibility;
    let transport = if answered { Transport::LongPolling } else { Transport::Mute };
    if csv {
        // On the heap, so that the path of every other poll stays small.
        let polled = csv::realtime::answer((endpoint, transport), caller, request, body, edge, response);
        return Box::pin(polled).await;
    }
    let outcome = async {
        let text = body.read(edge.limits().bayeux_bytes).await?;
        let host = authority(&request).unwrap_or_default();
        let (mut caller, mut attached) = (Some(caller), Vec::new());
        let (caller, attached) = (&mut caller, &mut attached);
        let (source, templates) = (Source::of(client_address(&request)), None);
        let mut exchange =
            Exchange { edge: &edge, endpoint, transport, host, source, caller, attached, templates };
        exchange.process(&text).await
    }
    .await?;
    Ok(match outcome {
        _ if !answered => response.finish(),
        Outcome::Replies(replies) => response.body(replies),
        Outcome::Held(replies, held) => {
            hold(&mut response, &request, edge, |pause| HeldPoll { replies, held: Some(held), pause })
        }
    })
}

/// The old paths behave like the new ones and say so.
fn is_deprecated(path: &str) -> bool {
    !path.starts_with("/notification/")
}

/// Answers with a body that waits; its head is withheld for a moment.
pub(crate) fn hold<B: MessageBody + 'static>(
    response: &mut HttpResponseBuilder,
    request: &HttpRequest,
    edge: web::Data<Edge>,
    body: impl FnOnce(Pause) -> B,
) -> HttpResponse {
    let line = request.conn_data::<Line>().cloned().expect("every connection has its line");
    line.withhold_head();
    response.body(body(Pause::new(line, edge)))
}

/// A poll that is answered within this time leaves as one write, head and body together; of one held longer the head goes
/// out, so that the client knows it is held.
const HEAD_WITHHELD: Duration = Duration::from_millis(500);

/// The time in which a held poll has nothing to say, but a space now and then (B-21, S-57).
pub(crate) struct Pause {
    line: Line,
    /// Whether the head still waits.
    head_is_withheld: bool,
    /// When the head is released, then when the next space is due.
    timer: Pin<Box<Sleep>>,
    edge: web::Data<Edge>,
}

impl Pause {
    fn new(line: Line, edge: web::Data<Edge>) -> Self {
        let timer = Box::pin(sleep(HEAD_WITHHELD.min(edge.limits().keep_alive)));
        Self { line, head_is_withheld: true, timer, edge }
    }

    /// What is written to a peer that has gone is lost without a word (B-22).
    pub(crate) fn peer_is_gone(&self, cx: &Context<'_>) -> bool {
        self.line.peer_is_gone(cx)
    }

    /// What the server holds.
    pub(crate) fn edge(&self) -> &web::Data<Edge> {
        &self.edge
    }

    /// Ready with the space when one is due.
    pub(crate) fn poll_space(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let next = Instant::now() + self.edge.limits().keep_alive;
            self.timer.as_mut().reset(next);
            match std::mem::take(&mut self.head_is_withheld) {
                true => self.line.release_head(),
                false => return Poll::Ready(Bytes::from_static(b" ")),
            }
        }
        Poll::Pending
    }
}

/// The body of a held poll: nothing until the session answers.
struct HeldPoll {
    replies: Vec<u8>,
    held: Option<Held>,
    pause: Pause,
}

impl MessageBody for HeldPoll {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        let Some(held) = &mut self.held else { return Poll::Ready(None) };
        let Poll::Ready(answer) = held.poll_answer(cx) else {
            return self.pause.poll_space(cx).map(|space| Some(Ok(space)));
        };
        if !answer.delivery.notifications.is_empty() && self.pause.peer_is_gone(cx) {
            if let Some(held) = self.held.take() {
                held.give_back(answer);
            }
            return Poll::Ready(None);
        }
        let replies = std::mem::take(&mut self.replies);
        let text = self.held.take().map(|held| held.encode(replies, &answer)).unwrap_or_default();
        Poll::Ready(Some(Ok(text.into())))
    }
}
