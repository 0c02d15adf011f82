//! A reader of a consumer: it takes notifications from the journal in order, and waits for the next ones.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use platform_model::error::{Error, Noun, Result};
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::consumer::{JournalPosition, Missed, ReaderWay};
use platform_model::realtime::filter::{Content, NotificationFilter};
use platform_store::consumers::reading::{self, Begun, Read, ReadState};
use platform_store::realtime::journal::{JournalEntry, Place};
use platform_store::realtime::publications::TenantSubscription;
use tokio::time::{Instant, timeout_at};

use super::ConsumerReaders;
use super::batch::{Batch, Interruption, ReadNotification};
use super::channels::{channel_of, lineages};
use super::signal::{Reason, Signal};

/// The most bytes of contents of one batch; a batch has at least one notification.
const BATCH_BYTES: i64 = 1 << 20;

/// The time after which a consumer is moved behind what its channels do not match.
const PASS: Duration = Duration::from_secs(5);

/// A request to read a consumer.
#[derive(Debug, Clone)]
pub struct NewReader {
    /// The name of the consumer.
    pub consumer: Box<str>,
    /// The user, who has to be its owner.
    pub user: Arc<str>,
    /// The way of the connection.
    pub way: ReaderWay,
    /// The address of the client.
    pub address: Option<IpAddr>,
    /// The last notification that the client handled.
    pub acknowledged: Option<JournalPosition>,
    /// The number of the session that read the consumer at another place before, and now continues.
    pub continued: Option<i64>,
}

/// The current reader of a consumer. Another reader takes over when it begins.
pub struct ConsumerReader {
    readers: Arc<ConsumerReaders>,
    consumer: Box<str>,
    /// The number of the session or stream that reads.
    session: Option<i64>,
    number: u64,
    signal: Arc<Signal>,
    channels: Arc<[Pattern]>,
    filter: Option<Arc<NotificationFilter>>,
    place: Place,
    /// The place that the client acknowledged last.
    acknowledged: Place,
    /// The last notification that was sent.
    sent: JournalPosition,
    /// When the consumer was last moved.
    passed: Instant,
    /// The way of the connection.
    way: ReaderWay,
    /// The bytes that its backlog may have.
    max_bytes: i64,
    missed: Option<Missed>,
    newest: JournalPosition,
    /// Notifications up to this position are left out.
    skipped: JournalPosition,
    /// Everything that is published is received while a reader exists.
    _subscription: TenantSubscription,
}

impl ConsumerReader {
    /// Begins to read a consumer, which it takes over from an earlier reader.
    ///
    /// # Errors
    /// `NotFound` for an unknown consumer and for one of another user; `Conflict` for a session that continues after
    /// another reader took over; `Invalid` for an acknowledgement of a notification that does not exist; `Unavailable`
    /// or `Database`.
    pub(crate) async fn begin(readers: Arc<ConsumerReaders>, request: NewReader) -> Result<Self> {
        let database = &readers.database;
        let subscription = Box::pin(database.subscribe(&readers.tenant)).await?;
        let read = Read {
            tenant: &readers.tenant,
            name: &request.consumer,
            user: &request.user,
            way: request.way,
            address: request.address,
            acknowledged: request.acknowledged,
            continued: request.continued,
        };
        let changes = readers.changes();
        let Begun { channels, filter, place, missed, newest, max_bytes, session } =
            reading::begin_reading(database, read).await?;
        let channels: Arc<[Pattern]> = channels.into();
        let (number, signal) = readers.enter(&request.consumer, channels.clone(), changes);
        Ok(Self {
            readers,
            consumer: request.consumer,
            session,
            number,
            signal,
            channels,
            filter,
            place,
            acknowledged: place,
            sent: 0,
            passed: Instant::now(),
            way: request.way,
            max_bytes,
            missed,
            newest,
            skipped: 0,
            _subscription: subscription,
        })
    }

    /// Returns the channels of the consumer, which the user has to be allowed to receive.
    pub fn channels(&self) -> &[Pattern] {
        &self.channels
    }

    /// Returns the name of the consumer.
    pub fn consumer(&self) -> &str {
        &self.consumer
    }

    /// Returns the number of the session or stream that reads.
    pub(crate) fn session(&self) -> Option<i64> {
        self.session
    }

    /// Leaves out all notifications up to a position, which the client has or will get otherwise, and which it has to
    /// acknowledge.
    pub(crate) fn skip(&mut self, to: JournalPosition) {
        (self.skipped, self.sent) = (to, to);
    }

    /// Returns whether rights may have changed since the reader began or looked last.
    pub(crate) fn rights_changed(&self) -> bool {
        self.signal.rights_changed()
    }

    /// Returns what the consumer missed and has not acknowledged.
    pub fn missed(&self) -> Option<Missed> {
        self.missed
    }

    /// Returns the position up to which the journal was read.
    pub fn position(&self) -> JournalPosition {
        self.place.position
    }

    /// Acknowledges everything up to a position that was read.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn acknowledge(&mut self, position: JournalPosition) -> Result<()> {
        let consumer = (&self.readers.tenant, &*self.consumer);
        reading::acknowledge(&self.readers.database, consumer, position).await?;
        self.acknowledged.position = self.acknowledged.position.max(position);
        self.missed = self.missed.filter(|missed| position < missed.to);
        Ok(())
    }

    /// Returns the next notifications, at most `most`. Waits until there are some, or until `until`. It may return none
    /// before, with a later position. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// `Err` of the result if something interrupted the reader; `Timeout`, `Unavailable` or `Database` otherwise.
    pub async fn next(&mut self, most: usize, until: Instant) -> Result<Result<Batch, Interruption>> {
        let mut reading =
            Reading { place: self.place, missed: self.missed, read: Vec::new(), has_rejected: false };
        let (readers, signal) = (self.readers.clone(), self.signal.clone());
        loop {
            let waiting = Waiting::begin(&readers);
            // It is registered before the journal is read, so nothing is missed in between.
            let mut woken = std::pin::pin!(signal.raised());
            woken.as_mut().enable();
            // This future is boxed, so that a reader that waits reserves no memory for it.
            match Box::pin(self.read_on(most, &mut reading)).await? {
                Step::Interrupted(interruption) => return Ok(Err(interruption)),
                Step::Complete => return Box::pin(self.batch_unless_changed(reading)).await,
                Step::More => continue,
                Step::End => {}
            }
            let is_late = timeout_at(until, woken).await.is_err();
            drop(waiting);
            if is_late {
                return Box::pin(self.batch_unless_changed(reading)).await;
            }
        }
    }

    /// Reads the next entries of the journal.
    async fn read_on(&mut self, most: usize, reading: &mut Reading) -> Result<Step> {
        if let Some(interruption) = self.interruption().await? {
            return Ok(Step::Interrupted(interruption));
        }
        let entries = self.readers.tail.after(reading.place).await?;
        let is_end = entries.is_empty();
        let is_full = self.take(entries, most, reading).await?;
        if is_end
            && reading.read.is_empty()
            && let Some(interruption) = self.pass(reading).await?
        {
            return Ok(Step::Interrupted(interruption));
        }
        Ok(match is_end {
            _ if is_full || (is_end && !reading.read.is_empty()) => Step::Complete,
            true => Step::End,
            false => Step::More,
        })
    }

    /// Moves the consumer behind the entries that its channels and its filter do not match, so that they do not count
    /// for the backlog. Does nothing if the client still has to acknowledge an entry before them. Returns an
    /// interruption by a changed filter.
    async fn pass(&mut self, reading: &Reading) -> Result<Option<Interruption>> {
        let (place, bytes) = (reading.place, reading.place.bytes - self.acknowledged.bytes);
        let is_worth_it = bytes > self.max_bytes / 4 || self.passed.elapsed() > PASS;
        let is_possible = reading.missed.is_none() && self.acknowledged.position >= self.sent;
        if !is_worth_it || !is_possible || place.position == self.acknowledged.position {
            return Ok(None);
        }
        if let Some(interruption) = self.other_filter(reading).await? {
            return Ok(Some(interruption));
        }
        let consumer = (&self.readers.tenant, &*self.consumer);
        reading::pass(&self.readers.database, consumer, place).await?;
        (self.acknowledged, self.passed) = (place, Instant::now());
        Ok(None)
    }

    /// Returns a batch, or the interruption by a change of the filter that came before an entry which was left out.
    async fn batch_unless_changed(&mut self, reading: Reading) -> Result<Result<Batch, Interruption>> {
        Ok(match self.other_filter(&reading).await? {
            Some(interruption) => Err(interruption),
            None => Ok(self.batch(reading)),
        })
    }

    /// Returns an interruption if the filter that left out entries is no longer that of the consumer. A change of the
    /// filter that was committed before an entry is visible here, although its announcement may still be under way.
    async fn other_filter(&self, reading: &Reading) -> Result<Option<Interruption>> {
        let is_other = reading.has_rejected && self.state().await?.filter != self.filter;
        Ok(is_other.then_some(Interruption::Changed))
    }

    /// Reads the present state of the consumer.
    async fn state(&self) -> Result<ReadState> {
        let (readers, consumer) = (&self.readers, &*self.consumer);
        let state = reading::find_state(&readers.database, &readers.tenant, consumer).await?;
        state.ok_or_else(|| Error::not_found(Noun::Consumer, consumer))
    }

    fn batch(&mut self, reading: Reading) -> Batch {
        let Reading { place, missed, read: notifications, .. } = reading;
        (self.place, self.missed) = (place, missed);
        self.newest = self.newest.max(place.position);
        self.sent = notifications.last().map_or(self.sent, |read| read.entry.place.position);
        Batch {
            position: self.place.position,
            missed: self.missed,
            remaining: (self.newest - self.place.position).max(0),
            notifications,
        }
    }

    /// Adds the matching entries up to the bounds of a batch and moves behind them. Returns whether the batch is full,
    /// or has to be sent because notifications are missing after it.
    async fn take(
        &mut self,
        entries: Vec<Arc<JournalEntry>>,
        most: usize,
        reading: &mut Reading,
    ) -> Result<bool> {
        let Self { readers, channels, .. } = self;
        let of_entries = entries.iter().map(|entry| &**entry);
        let lineages = lineages(&readers.database, &readers.tenant, channels, of_entries).await?;
        let begin = self.place.bytes;
        for entry in entries {
            self.newest = self.newest.max(entry.place.position);
            if entry.place.position != reading.place.position + 1 {
                return self.note_gap(&entry, reading).await.map(|()| true);
            }
            reading.place = entry.place;
            if entry.place.position > self.skipped
                && let Some(channel) = channel_of(&self.channels, &entry, &lineages)
            {
                match self.passes(&entry) {
                    true => reading.read.push(ReadNotification { channel, entry }),
                    false => reading.has_rejected = true,
                }
            }
            let is_large = reading.place.bytes - begin > BATCH_BYTES && !reading.read.is_empty();
            if reading.read.len() >= most || is_large {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the filter of the consumer matches an entry.
    fn passes(&self, entry: &JournalEntry) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(&Content::of(&entry.content)))
    }

    /// Notes that the journal has the notifications before an entry no longer.
    async fn note_gap(&self, entry: &JournalEntry, reading: &mut Reading) -> Result<()> {
        let from = reading.place.position + 1;
        let before = entry.place.position - 1;
        let to =
            Place { position: before, bytes: entry.place.bytes - entry.content.len() as i64, ..entry.place };
        let consumer = (&self.readers.tenant, &*self.consumer);
        reading::note_gap(&self.readers.database, consumer, from, to).await?;
        reading.missed = Some(Missed { from: reading.missed.map_or(from, |missed| missed.from), to: before });
        reading.place = to;
        Ok(())
    }

    /// Returns what interrupted the reader. A consumer that is read at another server by now was taken over, and one at
    /// another position was moved.
    async fn interruption(&self) -> Result<Option<Interruption>> {
        match self.signal.take() {
            None => Ok(None),
            Some(Reason::Superseded) => Ok(Some(Interruption::Superseded)),
            // A session is checked as one that subscribed to the channels, so only a lost right ends it (B-18b).
            Some(Reason::Rights) if self.way != ReaderWay::Bayeux => Ok(Some(Interruption::Changed)),
            Some(Reason::Rights | Reason::Changed) => {
                let unseen = self.signal.unless_seen();
                let state = self.state().await?;
                unseen.seen();
                match state {
                    ReadState { is_read_here: false, .. } => Ok(Some(Interruption::Superseded)),
                    state
                        if state.has_lapsed
                            || state.position != self.acknowledged.position
                            || state.filter != self.filter =>
                    {
                        Ok(Some(Interruption::Changed))
                    }
                    _ => Ok(None),
                }
            }
        }
    }
}

impl Drop for ConsumerReader {
    fn drop(&mut self) {
        self.readers.leave(&self.consumer, self.number);
    }
}

impl std::fmt::Debug for ConsumerReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsumerReader").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}

/// The result of reading the next entries of the journal.
enum Step {
    Interrupted(Interruption),
    /// The batch can be returned.
    Complete,
    /// There may be further entries.
    More,
    /// This is the end of the journal, and nothing matched.
    End,
}

/// A batch that is being read. The reader moves only when it is returned.
struct Reading {
    place: Place,
    missed: Option<Missed>,
    read: Vec<ReadNotification>,
    /// Whether the filter of the consumer left out entries on its channels.
    has_rejected: bool,
}

/// A reader that waits for publications, until it is dropped.
struct Waiting<'a>(&'a ConsumerReaders);

impl<'a> Waiting<'a> {
    fn begin(readers: &'a ConsumerReaders) -> Self {
        readers.waiting.fetch_add(1, Ordering::AcqRel);
        Self(readers)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
