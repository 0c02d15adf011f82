//! The audience: every client that holds a poll or a WebSocket, each in a small task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::error::Error;
use crate::ledger::ReceiverId;
use crate::ledger::run::Run;
use crate::progress::Progress;
use crate::protocol::bayeux;
use crate::protocol::bayeux::long_polling::LongPolling;
use crate::protocol::bayeux::websocket::WebSocket;
use crate::protocol::nchan::NchanPoll;
use crate::target::Target;

/// The longest time in which the whole audience must be open.
const OPENING_LIMIT: Duration = Duration::from_secs(600);
/// The number of attempts to reconnect; the waits between them grow by 200 ms each.
const REOPEN_ATTEMPTS: u32 = 10;
/// The pause after a response without notifications, so that a server that holds nothing is not polled in a
/// tight loop.
const EMPTY_RESPONSE_PAUSE: Duration = Duration::from_millis(50);

/// The transport of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    /// HTTP long polling
    LongPolling,
    /// Text frames over an upgraded connection
    WebSocket,
}

/// A client to be opened.
#[derive(Debug)]
pub(crate) struct ClientSpec {
    /// The index of the client in the ledger.
    pub(crate) receiver: ReceiverId,
    /// The channel it subscribes to.
    pub(crate) channel: String,
    /// The transport it uses.
    pub(crate) transport: Transport,
}

/// The failures of clients after they were open.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ClientFailures {
    /// The number of broken connections whose session continued.
    pub(crate) reconnects: u64,
    /// The number of clients that ended: their session was unknown to the server, or they could not
    /// reconnect.
    pub(crate) ended: u64,
    /// The reason why the first client ended.
    pub(crate) first_cause: Option<String>,
}

#[derive(Debug)]
struct AudienceState {
    target: Arc<Target>,
    run: Arc<Run>,
    permits: Semaphore,
    reconnects: AtomicU64,
    events: mpsc::UnboundedSender<Event>,
}

/// An event of a client.
#[derive(Debug)]
pub(crate) enum Event {
    /// The client has subscribed and polls.
    Opened,
    /// The client could not be opened.
    NotOpened(Error),
    /// The client ended.
    Ended(Error),
}

/// Waits until `count` clients are open.
///
/// # Errors
/// The error of the first client that could not be opened, or a timeout of ten minutes.
pub(crate) async fn all_open(events: &mut mpsc::UnboundedReceiver<Event>, count: usize) -> Result<(), Error> {
    let progress = Progress::count("opening polls", count);
    let all_open = async {
        for _ in 0..count {
            match events.recv().await {
                Some(Event::NotOpened(error) | Event::Ended(error)) => return Err(error),
                Some(Event::Opened) => progress.advance(),
                None => return Err(Error::Timeout("opening polls")),
            }
        }
        Ok(())
    };
    tokio::time::timeout(OPENING_LIMIT, all_open).await.map_err(|_| Error::Timeout("opening polls"))??;
    progress.finish();
    Ok(())
}

/// All open clients; dropping it closes them.
#[derive(Debug)]
pub(crate) struct Audience {
    state: Arc<AudienceState>,
    events: mpsc::UnboundedReceiver<Event>,
    _clients: JoinSet<()>,
}

impl Audience {
    /// Opens every client, at most `concurrency` at a time, and returns when all are subscribed and polling.
    ///
    /// # Errors
    /// The error of the first client that could not be opened.
    pub(crate) async fn open(
        target: &Arc<Target>,
        run: &Arc<Run>,
        client_specs: Vec<ClientSpec>,
        concurrency: usize,
    ) -> Result<Self, Error> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let state = Arc::new(AudienceState {
            target: Arc::clone(target),
            run: Arc::clone(run),
            permits: Semaphore::new(concurrency.max(1)),
            reconnects: AtomicU64::new(0),
            events: sender,
        });
        let mut clients = JoinSet::new();
        let count = client_specs.len();
        for client_spec in client_specs {
            clients.spawn(run_client(Arc::clone(&state), client_spec));
        }
        all_open(&mut events, count).await?;
        Ok(Self { state, events, _clients: clients })
    }

    /// Closes every client and returns their failures.
    pub(crate) fn close(mut self) -> ClientFailures {
        ClientFailures::of(self.state.reconnects.load(Ordering::Relaxed), &mut self.events)
    }
}

impl ClientFailures {
    /// Returns the failures so far.
    pub(crate) fn of(reconnects: u64, events: &mut mpsc::UnboundedReceiver<Event>) -> Self {
        let mut failures = Self { reconnects, ..Self::default() };
        while let Ok(event) = events.try_recv() {
            if let Event::Ended(error) = event {
                failures.ended += 1;
                failures.first_cause.get_or_insert_with(|| error.to_string());
            }
        }
        failures
    }
}

/// Runs a client from opening to its end; the run aborts it when it is over.
async fn run_client(state: Arc<AudienceState>, client_spec: ClientSpec) {
    let outcome = match client_spec.transport {
        Transport::LongPolling if state.target.floor().is_some() => {
            hold_nchan_polls(&state, &client_spec).await
        }
        Transport::LongPolling => hold_polls(&state, &client_spec).await,
        Transport::WebSocket => Box::pin(read_frames(&state, &client_spec)).await,
    };
    if let Err(event) = outcome {
        // An error means that the run is over.
        state.events.send(event).ok();
    }
}

async fn hold_polls(state: &AudienceState, client_spec: &ClientSpec) -> Result<(), Event> {
    let mut session = {
        let _permit = state.permits.acquire().await;
        let opening = Box::pin(LongPolling::open(&state.target, bayeux::REALTIME, &client_spec.channel));
        opening.await.map_err(Event::NotOpened)?
    };
    state.events.send(Event::Opened).ok();
    loop {
        let answered = match session.batch().await {
            Ok(batch) => note_batch(state, client_spec, batch),
            Err(error) => Err(error),
        };
        let polled = match answered {
            Ok(0) => {
                tokio::time::sleep(EMPTY_RESPONSE_PAUSE).await;
                session.poll_again().await
            }
            Ok(_) => session.poll_again().await,
            Err(error) => Err(error),
        };
        match polled {
            Ok(()) => {}
            Err(Error::Io(_)) => Box::pin(reopen(state, &mut session)).await.map_err(Event::Ended)?,
            Err(error) => return Err(Event::Ended(error)),
        }
    }
}

async fn hold_nchan_polls(state: &AudienceState, client_spec: &ClientSpec) -> Result<(), Event> {
    let mut poll = {
        let _permit = state.permits.acquire().await;
        NchanPoll::open(&state.target, &client_spec.channel).await.map_err(Event::NotOpened)?
    };
    state.events.send(Event::Opened).ok();
    loop {
        let message = poll.message().await.map_err(Event::Ended)?;
        state.run.deliver(client_spec.receiver, message);
        poll.poll_again().await.map_err(Event::Ended)?;
    }
}

/// Counts the notifications of a batch; a response without any must at least be a successful connect reply.
fn note_batch(state: &AudienceState, client_spec: &ClientSpec, batch: &[u8]) -> Result<usize, Error> {
    let count = state.run.deliver(client_spec.receiver, batch);
    if count == 0 {
        bayeux::expect_success(bayeux::CONNECT, batch)?;
    }
    Ok(count)
}

async fn reopen(state: &AudienceState, session: &mut LongPolling) -> Result<(), Error> {
    state.reconnects.fetch_add(1, Ordering::Relaxed);
    let mut last = Error::Timeout("reconnect");
    for attempt in 0..REOPEN_ATTEMPTS {
        tokio::time::sleep(Duration::from_millis(200) * attempt).await;
        match session.reopen(&state.target).await {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn read_frames(state: &AudienceState, client_spec: &ClientSpec) -> Result<(), Event> {
    let mut session = {
        let _permit = state.permits.acquire().await;
        let channels = std::slice::from_ref(&client_spec.channel);
        let opening = WebSocket::open(&state.target, bayeux::REALTIME, (channels, None), false);
        opening.await.map_err(Event::NotOpened)?
    };
    state.events.send(Event::Opened).ok();
    loop {
        let frame = session.frame().await.map_err(Event::Ended)?;
        state.run.deliver(client_spec.receiver, frame.as_bytes());
    }
}
