//! A connect that waits for its session, independent of the transport that writes the response.

use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix::Addr;
use actix::dev::ToEnvelope;
use platform_actors::hub::Notification;
use platform_actors::session::{
    Abandoned, AcknowledgedTo, ClientId, ConnectResponse, LARGE, ResumeConnect, SessionActor, SessionContext,
    SessionHere, Writing, Written,
};
use platform_model::realtime::bayeux::reply::Acknowledgement;
use platform_model::realtime::bayeux::{Reply, RequestMessage};
use platform_model::realtime::consumer::JournalPosition;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::CONNECT;

/// A connect that waits for notifications. Dropping it before its response notifies the session that the client went
/// away and returns to the session the notifications that were received but not written.
pub struct Held {
    session: Session,
    client: ClientId,
    id: Option<Box<RawValue>>,
    /// The number of the last response that the client has, which a response without one of the session repeats
    /// (B-22b).
    acknowledged: Option<i64>,
    stage: Stage,
}

/// The session of a held connect, and the way in which its response arrives.
enum Session {
    /// The session may run on another thread.
    Anywhere { address: Addr<SessionActor>, answer: oneshot::Receiver<ConnectResponse> },
    /// The session runs on the thread of the connection, which it calls with the response. The response is stored here
    /// until it is written.
    Here { session: SessionHere, answer: Option<Box<ConnectResponse>> },
}

/// The stages of a held connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Answered,
    /// A client that reads slowly is being sent the response, and the session has been notified of this.
    Writing,
}

impl Held {
    pub(super) fn new(
        answer: oneshot::Receiver<ConnectResponse>,
        session: Addr<SessionActor>,
        client: ClientId,
        message: &RequestMessage<'_>,
    ) -> Self {
        Self::of(Session::Anywhere { address: session, answer }, client, message)
    }

    /// Holds a connect whose session calls its connection, which then calls [`put`](Self::put).
    pub(super) fn here(session: SessionHere, client: ClientId, message: &RequestMessage<'_>) -> Self {
        Self::of(Session::Here { session, answer: None }, client, message)
    }

    fn of(session: Session, client: ClientId, message: &RequestMessage<'_>) -> Self {
        let id = message.id().map(ToOwned::to_owned);
        Self { session, client, id, acknowledged: message.acknowledged_batch(), stage: Stage::Waiting }
    }

    /// Stores the response of a session that runs on the thread of the connection. It is the next one that is polled.
    pub fn put(&mut self, response: Box<ConnectResponse>) {
        if let Session::Here { answer, .. } = &mut self.session {
            *answer = Some(response);
        }
    }

    /// Returns whether the connect waits for a session that runs on the thread of the connection.
    pub fn waits_here(&self) -> bool {
        matches!(self.session, Session::Here { answer: None, .. }) && self.stage == Stage::Waiting
    }

    /// Returns the text of a response that is written at once.
    pub fn text_at_once(&mut self, response: ConnectResponse) -> Text {
        self.stage = Stage::Answered;
        self.text(response)
    }

    fn send<M>(&self, message: M)
    where
        M: actix::Message<Result = ()> + Send + 'static,
        SessionActor: actix::Handler<M, Result = ()>,
        SessionContext: ToEnvelope<SessionActor, M>,
    {
        match &self.session {
            Session::Anywhere { address, .. } => address.do_send(message),
            Session::Here { session, .. } => session.call(message),
        }
    }

    /// Waits for the session's reply. A session that ended meanwhile counts as an unknown client.
    pub async fn answer(&mut self) -> ConnectResponse {
        poll_fn(|cx| self.poll_answer(cx)).await
    }

    /// Polls for the session's reply, for transports that are polled themselves.
    pub fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<ConnectResponse> {
        let response = match &mut self.session {
            Session::Anywhere { answer, .. } => {
                ready!(Pin::new(answer).poll(cx)).unwrap_or_else(|_| ConnectResponse::unknown_client())
            }
            Session::Here { answer, .. } => match answer.take() {
                Some(response) => *response,
                None => return Poll::Pending,
            },
        };
        self.stage = Stage::Answered;
        Poll::Ready(response)
    }

    /// Waits for another reply, after one that contained nothing for the client (S-53). In the session of a consumer
    /// this acknowledges the notifications up to a position (B-34).
    pub fn go_on(
        &mut self,
        connect: u32,
        acknowledged: Option<JournalPosition>,
        (hold, advised): (Duration, Duration),
    ) {
        let (reply_to, answer) = oneshot::channel();
        let address = match &self.session {
            Session::Anywhere { address, .. } => address.clone(),
            Session::Here { session, .. } => session.address(),
        };
        let acknowledged = acknowledged.map(AcknowledgedTo::Position);
        address.do_send(ResumeConnect { connect, acknowledged, hold, advised, reply_to });
        (self.session, self.stage) = (Session::Anywhere { address, answer }, Stage::Waiting);
    }

    /// Notifies the session that writing the response takes a while. The session does not end before this connect is
    /// dropped, and its interval starts then (B-10a).
    pub fn writing_takes_a_while(&mut self) {
        if self.stage == Stage::Answered {
            self.stage = Stage::Writing;
            self.send(Writing);
        }
    }

    /// Returns to the session a reply that could not be written. Its notifications stay in the queue for the next
    /// connect (B-22).
    pub fn give_back(&self, answer: ConnectResponse) {
        self.send(Abandoned { unwritten: Some(answer.delivery) });
    }

    /// Returns the whole response to a connect: the notifications first, the reply to the connect last (B-07).
    pub fn text(&self, answer: ConnectResponse) -> Text {
        let mut after = Vec::with_capacity(REPLY_BYTES);
        after.push(if answer.delivery.notifications.is_empty() { b'[' } else { b',' });
        self.write_reply(&answer, &mut after);
        after.push(b']');
        Text { notifications: answer.delivery.notifications, after }
    }

    /// Returns the response to a connect that ends before its session responds.
    pub fn text_without_session(&self) -> Text {
        self.text(ConnectResponse::empty(self.acknowledged))
    }

    /// Writes the reply to the connect.
    pub(super) fn write_reply(&self, answer: &ConnectResponse, out: &mut Vec<u8>) {
        let told = (&answer.error, answer.advice, answer.delivery.batch);
        if let (None, None, None) = told {
            return Reply::write_connected(self.id.as_deref(), self.client, out);
        }
        let reply = Reply {
            id: self.id.as_deref(),
            channel: Some(CONNECT),
            client_id: Some(&self.client.to_string()),
            successful: answer.error.is_none(),
            error: answer.error.as_deref(),
            advice: answer.advice,
            ext: answer.delivery.batch.map(Acknowledgement::Batch),
            ..Reply::default()
        };
        reply.write(out);
    }
}

/// The initial capacity in bytes for the reply to a connect; most replies fit.
pub(super) const REPLY_BYTES: usize = 160;

/// The text of a response. Notifications are shared with every other subscriber that receives them.
#[derive(Debug, Default)]
pub struct Text {
    notifications: Vec<Arc<Notification>>,
    after: Vec<u8>,
}

impl Text {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.notifications.iter().map(|notification| notification.json().len() + 1).sum::<usize>()
            + self.after.len()
    }

    /// Returns whether the text may take its connection a while to write.
    pub fn is_large(&self) -> bool {
        self.len() > LARGE
    }

    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.notifications.is_empty() && self.after.is_empty()
    }

    /// Returns the bytes in order as slices: `[`, the notifications separated by commas, and the text after them.
    pub fn slices(&self) -> impl Iterator<Item = IoSlice<'_>> {
        let separators = std::iter::once(&b"["[..]).chain(std::iter::repeat(&b","[..]));
        let notifications = separators.zip(&self.notifications);
        let notifications =
            notifications.flat_map(|(separator, notification)| [separator, notification.json()]);
        notifications.chain(std::iter::once(&self.after[..])).map(IoSlice::new)
    }

    /// Returns the bytes as one vector.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.notifications.is_empty() {
            return self.after;
        }
        let mut bytes = Vec::with_capacity(self.len());
        self.slices().for_each(|slice| bytes.extend_from_slice(&slice));
        bytes
    }
}

impl From<Vec<u8>> for Text {
    fn from(text: Vec<u8>) -> Self {
        Self { notifications: Vec::new(), after: text }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        match self.stage {
            Stage::Answered => {}
            Stage::Writing => self.send(Written),
            Stage::Waiting => {
                let unwritten = match &mut self.session {
                    Session::Anywhere { answer, .. } => {
                        answer.close();
                        answer.try_recv().ok().map(|answer| answer.delivery)
                    }
                    Session::Here { answer, .. } => answer.take().map(|answer| answer.delivery),
                };
                self.send(Abandoned { unwritten });
            }
        }
    }
}
