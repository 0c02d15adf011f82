//! A session whose queue is that of a named consumer: a feed reads the consumer and fills the queue, and the client's
//! acknowledgements move the position of the consumer.
//!
//! The feed runs on the thread of the session. It stops to read while the client has a window of notifications that it
//! has not acknowledged, or half as many bytes as the queue may have, so the rest waits in the journal and the queue
//! never overflows. If the session ends for any reason, its client handshakes again, at any server, and the consumer
//! continues at its position. A session that moves takes what its queue has along, and the feed of its new place
//! continues behind it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use platform_model::error::Error;
use platform_model::realtime::bayeux::{Advice, Pattern, Subscription};
use platform_model::realtime::consumer::{JournalPosition, ReaderWay};
use platform_model::realtime::session_move::ConsumerState;
use platform_model::realtime::trace::record::{EndReason, TraceEvent};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::{ConnectResponse, SessionActor, SessionContext};
use crate::consumers::{Batch, ConsumerReader, Interruption, NewReader, ReadNotification};
use crate::hub::Notification;

/// The most notifications that a client has not acknowledged.
const WINDOW: usize = 200;
/// The most notifications that are read at once.
const AT_ONCE: usize = 100;
/// The longest wait for notifications, after which the feed only looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// The pause after an error of the database.
const RETRY: Duration = Duration::from_secs(1);
/// The error of a connect whose consumer another reader took over.
const SUPERSEDED: &str = "409::Another reader of the consumer took over";

/// Makes a session deliver the notifications of a consumer. Sent by the HTTP layer after the handshake, before its
/// reply.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Consume(pub ConsumerReader);

/// The last notification that a client received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcknowledgedTo {
    /// The end of a batch under the acknowledgement extension (B-22).
    Batch(i64),
    /// A position in the journal, if the session delivers the notifications of a consumer (B-34).
    Position(JournalPosition),
}

/// The consumer of a session.
#[derive(Debug)]
pub(super) struct SessionConsumer {
    name: Box<str>,
    channels: Vec<Pattern>,
    /// The position of each notification in the queue, oldest first.
    positions: VecDeque<JournalPosition>,
    /// The position up to which the journal was read.
    read: JournalPosition,
    /// The number of the session as a reader.
    number: Option<i64>,
    acknowledged: mpsc::UnboundedSender<Acknowledged>,
    /// The position at the handshake, until a connect shows that the client has its reply.
    begin: Option<JournalPosition>,
}

/// Notifications that the client has acknowledged: the position, and their number.
#[derive(Debug, Clone, Copy)]
struct Acknowledged(JournalPosition, usize);

/// The notifications of the consumer that were read.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct Consumed(Batch);

/// Ends the session because another reader took over. Its client does not connect again.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct Superseded;

/// Ends the session, because its consumer was changed or is gone. Its client handshakes again.
#[derive(Debug, Message)]
#[rtype(result = "()")]
struct ConsumerChanged;

impl AcknowledgedTo {
    /// Returns the number of the batch, which a response without notifications repeats.
    pub(super) fn batch(self) -> Option<i64> {
        match self {
            Self::Batch(batch) => Some(batch),
            Self::Position(_) => None,
        }
    }
}

impl SessionConsumer {
    /// Returns whether the consumer receives all notifications of these channels.
    pub(super) fn covers(&self, patterns: &[Pattern]) -> bool {
        patterns.iter().all(|pattern| self.channels.contains(pattern))
    }

    /// Notes that the oldest notifications of the queue are acknowledged. The last one of all stands for everything
    /// that was read, whether or not it matched.
    fn acknowledged(&mut self, count: usize) {
        let last = self.positions.drain(..count.min(self.positions.len())).next_back();
        let last = last.map(|last| if self.positions.is_empty() { self.read } else { last });
        let position = last.max(self.begin.take());
        if let Some(position) = position {
            // The feed has ended if the session is about to.
            self.acknowledged.send(Acknowledged(position, count)).ok();
        }
    }

    /// Notes the positions of a batch. If the client has nothing to acknowledge, everything that was read is
    /// acknowledged.
    fn add(&mut self, batch: &Batch) {
        self.read = batch.position;
        self.positions.extend(batch.notifications.iter().map(|read| read.entry.place.position));
        if self.positions.is_empty() {
            self.acknowledged.send(Acknowledged(batch.position, 0)).ok();
        }
    }
}

impl Handler<Consume> for SessionActor {
    type Result = ();

    fn handle(&mut self, Consume(reader): Consume, ctx: &mut Self::Context) {
        let (sender, acknowledged) = mpsc::unbounded_channel();
        let channels = reader.channels().to_vec();
        // If a right to one of the channels is lost, the session ends like one that subscribed to them.
        self.subscriptions = channels.iter().cloned().map(Subscription::from).collect();
        // A right that was lost before the subscriptions were set is not found by the check of sessions.
        if reader.rights_changed() {
            return self.end(EndReason::Revoked, ctx);
        }
        self.consumer = Some(Box::new(SessionConsumer {
            name: reader.consumer().into(),
            channels,
            positions: VecDeque::new(),
            read: reader.position(),
            number: reader.session(),
            acknowledged: sender,
            begin: Some(reader.position()),
        }));
        let window = Window::new(self.environment.limits.queued_bytes);
        actix::spawn(feed(reader, ctx.address(), acknowledged, window));
    }
}

impl SessionActor {
    /// Drops the notifications that the client has received. The others that were sent return to the queue.
    pub(super) fn acknowledge(&mut self, to: Option<AcknowledgedTo>) {
        let before = self.queue.len();
        let sent = self.environment.recorder.is_on().then(|| self.queue.traced_and_sent());
        match (to, &self.consumer) {
            (Some(AcknowledgedTo::Batch(batch)), _) => self.queue.acknowledged(batch),
            (Some(AcknowledgedTo::Position(to)), Some(consumer)) => {
                self.queue.acknowledged_first(consumer.positions.partition_point(|position| *position <= to));
            }
            _ => {}
        }
        let count = before - self.queue.len();
        for change in sent.into_iter().flatten().take(count).flatten() {
            self.trace(|| TraceEvent::Acknowledged(change));
        }
        self.consumer.iter_mut().for_each(|consumer| consumer.acknowledged(count));
    }

    /// Returns the state of the consumer, for the new place of the session, and ends the feed here.
    pub(super) fn take_consumer(&mut self) -> Option<ConsumerState> {
        let SessionConsumer { name, positions, read, number, .. } = *self.consumer.take()?;
        Some(ConsumerState { name: name.into(), positions: positions.into(), read, number })
    }

    /// Continues to read the consumer of a session that has arrived with these channels.
    pub(super) fn resume_consumer(
        &mut self,
        ConsumerState { name, positions, read, number }: ConsumerState,
        subscriptions: Vec<Subscription>,
        ctx: &mut SessionContext,
    ) {
        let (sender, acknowledged) = mpsc::unbounded_channel();
        let new = NewReader {
            consumer: name.as_str().into(),
            user: self.user.clone(),
            way: ReaderWay::Bayeux,
            address: self.traces.address,
            acknowledged: None,
            continued: number,
        };
        let channels = subscriptions.iter().map(|subscription| subscription.pattern.clone()).collect();
        self.subscriptions = subscriptions.into();
        let mut window = Window::new(self.environment.limits.queued_bytes);
        window.outstanding.resize(positions.len(), self.queue.bytes() / positions.len().max(1));
        let positions = positions.into();
        let name = name.into();
        let consumer =
            SessionConsumer { name, channels, positions, read, number, acknowledged: sender, begin: None };
        self.consumer = Some(Box::new(consumer));
        let (readers, session) = (self.environment.consumers.clone(), ctx.address());
        actix::spawn(async move {
            match ConsumerReader::begin(readers, new).await {
                Ok(mut reader) => {
                    reader.skip(read);
                    feed(reader, session, acknowledged, window).await;
                }
                Err(Error::Conflict { .. }) => session.do_send(Superseded),
                Err(error) => {
                    tracing::debug!(%error, "the consumer of a session that moved cannot be read");
                    session.do_send(ConsumerChanged);
                }
            }
        });
    }
}

impl Handler<Consumed> for SessionActor {
    type Result = ();

    fn handle(&mut self, Consumed(batch): Consumed, ctx: &mut Self::Context) {
        let Some(consumer) = &mut self.consumer else { return };
        consumer.add(&batch);
        for read in &batch.notifications {
            if self.queue.push(notification(read), &self.environment.limits).is_err() {
                return self.overflow(ctx);
            }
        }
        self.hand_over_queue(ctx);
    }
}

impl Handler<Superseded> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: Superseded, ctx: &mut Self::Context) {
        if self.is_leaving() {
            // The reader that took over is that of the session at its new place.
            return;
        }
        let (error, advice) = (Some(SUPERSEDED.into()), Some(Advice::NONE));
        self.answer_parked(ConnectResponse { error, advice, ..ConnectResponse::default() });
        self.end(EndReason::Consumer, ctx);
    }
}

impl Handler<ConsumerChanged> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: ConsumerChanged, ctx: &mut SessionContext) {
        if !self.is_leaving() {
            self.end(EndReason::Consumer, ctx);
        }
    }
}

/// Encodes a notification of a consumer as a Bayeux message, with its position.
fn notification(read: &ReadNotification) -> Arc<Notification> {
    let (position, content) = (read.entry.place.position, &read.entry.content);
    let ext = format!(r#""ext":{{"com.platform.consumer":{{"position":{position}}}}}"#);
    let json = format!(r#"{{"channel":"{}","id":"{position}","data":{content},{ext}}}"#, read.channel);
    Arc::new(Notification::new(json.as_bytes()))
}

/// The notifications that the client has not acknowledged, as far as the feed needs them.
struct Window {
    /// Their sizes in bytes, oldest first.
    outstanding: VecDeque<usize>,
    most_bytes: usize,
}

impl Window {
    /// Creates an empty window for a queue with this bound. A batch fits into the other half of the queue.
    fn new(queued_bytes: usize) -> Self {
        Self { outstanding: VecDeque::new(), most_bytes: queued_bytes / 2 }
    }

    fn acknowledged(&mut self, count: usize) {
        self.outstanding.drain(..count.min(self.outstanding.len()));
    }

    fn has_room(&self) -> bool {
        let bytes: usize = self.outstanding.iter().sum();
        self.outstanding.len() < WINDOW && (bytes < self.most_bytes || self.outstanding.is_empty())
    }
}

/// Reads a consumer into the queue of a session, until the session ends.
async fn feed(
    mut reader: ConsumerReader,
    session: Addr<SessionActor>,
    mut acknowledgements: mpsc::UnboundedReceiver<Acknowledged>,
    mut window: Window,
) {
    let missed = reader.missed();
    loop {
        let has_room = window.has_room();
        tokio::select! {
            acknowledged = acknowledgements.recv() => {
                let Some(Acknowledged(mut position, mut count)) = acknowledged else { return };
                while let Ok(Acknowledged(later, more)) = acknowledgements.try_recv() {
                    (position, count) = (position.max(later), count + more);
                }
                window.acknowledged(count);
                if let Err(error) = reader.acknowledge(position).await {
                    // The client receives these notifications again after its next handshake.
                    tracing::debug!(%error, "an acknowledgement of a consumer is lost");
                }
            }
            read = reader.next(AT_ONCE, Instant::now() + LOOK_AGAIN), if has_room => match read {
                // The client learns of a gap by its next handshake.
                Ok(Ok(batch)) if batch.missed.is_some() && batch.missed != missed => {
                    return session.do_send(ConsumerChanged);
                }
                Ok(Ok(batch)) => {
                    window.outstanding.extend(batch.notifications.iter().map(|read| read.entry.content.len()));
                    session.do_send(Consumed(batch));
                }
                Ok(Err(Interruption::Superseded)) => return session.do_send(Superseded),
                Ok(Err(Interruption::Changed)) | Err(platform_model::error::Error::NotFound { .. }) => {
                    return session.do_send(ConsumerChanged);
                }
                Err(error) => {
                    tracing::debug!(%error, "a consumer cannot be read now");
                    sleep(RETRY).await;
                }
            },
        }
    }
}
