//! The agents of a run: each holds a poll with its own credentials and executes the operations it receives
//!

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::agent_session::{Language, Session};
use crate::audience::{ClientFailures, Event, all_open};
use crate::error::Error;
use crate::operation_ledger::{OperationLedger, SeenBy};
use crate::operations::{Operation, Status};
use crate::random;
use crate::run::Run;
use crate::target::Target;

/// The pause after a response without notifications, so that a server that holds nothing is not polled in a
/// tight loop.
const EMPTY_RESPONSE_PAUSE: Duration = Duration::from_millis(50);
/// The longest time an agent stays away after it lost its connection; it must find operations that were
/// queued meanwhile.
const AWAY: Duration = Duration::from_millis(500);
/// The time after which an agent drops its connection if none should.
const NEVER: Duration = Duration::from_secs(86_400);
/// The interval of progress checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The shared record of what the agents did.
#[derive(Debug)]
pub(crate) struct AgentRecord {
    run: Arc<Run>,
    ledger: Mutex<OperationLedger>,
}

impl AgentRecord {
    /// Creates an empty record. If operations carry marks, receiver `n` of the run must be agent `n`.
    pub(crate) fn new(run: &Arc<Run>, ledger: OperationLedger) -> Self {
        Self { run: Arc::clone(run), ledger: Mutex::new(ledger) }
    }

    /// Returns the ledger of operations.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, OperationLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `count` operations were seen and all of them are done, at most `limit`.
    pub(crate) async fn all_done(&self, count: usize, limit: Duration) {
        let done = async {
            while self.ledger().progress() != (count, 0) {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::time::timeout(limit, done).await.ok();
    }

    /// Records an operation that the server lists; those of other runs are ignored.
    pub(crate) fn listed(&self, operation: &Operation) {
        if operation.mark().is_none_or(|mark| self.run.is_own(mark)) {
            self.ledger().listed(operation);
        }
    }

    /// Records that an agent saw an operation; returns whether the agent has to execute it.
    fn seen(&self, agent: u32, operation: &Operation, sight: SeenBy) -> bool {
        let is_new = self.ledger().seen(agent, operation, sight, self.run.now());
        if is_new && let Some(mark) = operation.mark() {
            self.run.found(agent as usize, agent, vec![mark]);
        }
        is_new
    }

    fn advanced(&self, operation: &Operation, status: Status) {
        self.ledger().advanced(&operation.id, status, self.run.now());
    }
}

/// An agent.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The number of the agent, from 0.
    pub(crate) number: u32,
    /// The id of its managed object.
    pub(crate) id: String,
    /// The server, accessed as its device user.
    pub(crate) target: Target,
    /// The protocol of the agent.
    pub(crate) language: Language,
}

/// The behaviour of the agents of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentBehaviour {
    /// The number of agents that connect at the same time.
    pub(crate) connecting: usize,
    /// The mean time until an agent drops its connection; `None` means never.
    pub(crate) stays: Option<Duration>,
}

#[derive(Debug)]
struct AgentsState {
    notes: Arc<AgentRecord>,
    permits: Semaphore,
    manner: AgentBehaviour,
    is_calm: AtomicBool,
    reconnects: AtomicU64,
    events: mpsc::UnboundedSender<Event>,
}

/// All agents; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Agents {
    state: Arc<AgentsState>,
    events: mpsc::UnboundedReceiver<Event>,
    _agents: JoinSet<()>,
}

impl Agents {
    /// Connects the agents, and returns when all are subscribed and polling.
    ///
    /// # Errors
    /// The error of the first agent that could not connect.
    pub(crate) async fn open(
        notes: &Arc<AgentRecord>,
        agents: Vec<Agent>,
        manner: AgentBehaviour,
    ) -> Result<Self, Error> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let state = Arc::new(AgentsState {
            notes: Arc::clone(notes),
            permits: Semaphore::new(manner.connecting.max(1)),
            manner,
            is_calm: AtomicBool::new(false),
            reconnects: AtomicU64::new(0),
            events: sender,
        });
        let count = agents.len();
        let mut tasks = JoinSet::new();
        for agent in agents {
            tasks.spawn(run_agent(Arc::clone(&state), agent));
        }
        all_open(&mut events, count).await?;
        Ok(Self { state, events, _agents: tasks })
    }

    /// Makes all agents keep their connections from now on.
    pub(crate) fn calm_down(&self) {
        self.state.is_calm.store(true, Ordering::Relaxed);
    }

    /// Ends all agents and returns their failures.
    pub(crate) fn close(mut self) -> ClientFailures {
        ClientFailures::of(self.state.reconnects.load(Ordering::Relaxed), &mut self.events)
    }
}

/// Runs an agent from its first handshake to its end; the run aborts it when it is over.
async fn run_agent(state: Arc<AgentsState>, agent: Agent) {
    let opened = {
        let _permit = state.permits.acquire().await;
        Box::pin(come_back(&state, &agent)).await
    };
    let ended = match opened {
        Ok(session) => {
            state.events.send(Event::Opened).ok();
            Event::Ended(live(&state, &agent, session).await)
        }
        Err(error) => Event::NotOpened(error),
    };
    // An error means that the run is over.
    state.events.send(ended).ok();
}

/// Serves, drops the connection and reconnects, again and again; returns the error that ended it.
async fn live(state: &AgentsState, agent: &Agent, mut session: Session) -> Error {
    loop {
        if let Err(error) = serve(state, agent, &mut session).await {
            return error;
        }
        // The old connection is dropped first: a device that lost its network does not know what was in
        // transit.
        drop(session);
        state.reconnects.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(up_to(AWAY)).await;
        match Box::pin(come_back(state, agent)).await {
            Ok(anew) => session = anew,
            Err(error) => return error,
        }
    }
}

/// Sends a handshake, subscribes, executes pending operations, and polls.
async fn come_back(state: &AgentsState, agent: &Agent) -> Result<Session, Error> {
    let mut session = Session::subscribe(agent).await?;
    let pending = session.pending(agent).await?;
    carry_out(state, agent, &mut session, &pending, SeenBy::Found).await?;
    session.poll_again().await?;
    Ok(session)
}

/// Executes operations from notifications, until it is time to drop the connection.
async fn serve(state: &AgentsState, agent: &Agent, session: &mut Session) -> Result<(), Error> {
    let stays = state.manner.stays.map_or(NEVER, |mean| up_to(2 * mean));
    let leaves = tokio::time::sleep_until(Instant::now() + stays);
    tokio::pin!(leaves);
    loop {
        let notified = tokio::select! {
            notified = session.notified() => notified?,
            () = &mut leaves => if state.is_calm.load(Ordering::Relaxed) { leaves.as_mut().reset(Instant::now() + NEVER);
                    continue; } else { return Ok(()) },
        };
        if notified.is_empty() {
            tokio::time::sleep(EMPTY_RESPONSE_PAUSE).await
        } else {
            carry_out(state, agent, session, &notified, SeenBy::Notified).await?
        }
        session.poll_again().await?;
    }
}

async fn carry_out(
    state: &AgentsState,
    agent: &Agent,
    session: &mut Session,
    operations: &[Operation],
    sight: SeenBy,
) -> Result<(), Error> {
    // All are recorded on arrival, but executed one after the other.
    let new: Vec<&Operation> =
        operations.iter().filter(|operation| state.notes.seen(agent.number, operation, sight)).collect();
    for operation in new {
        for status in [Status::Executing, Status::Successful] {
            session.advance(agent, operation, status).await?;
            state.notes.advanced(operation, status);
        }
    }
    Ok(())
}

/// Returns a random time up to `longest`.
fn up_to(longest: Duration) -> Duration {
    Duration::from_micros(random::below(longest.as_micros() as u64))
}
