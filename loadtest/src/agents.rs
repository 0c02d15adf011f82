//! The agents of a run: each holds a poll with credentials of its own and carries out what it is told.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::agent_session::{Language, Session};
use crate::audience::{Event, Mishaps, all_open};
use crate::error::Error;
use crate::operation_ledger::{OperationLedger, Sight};
use crate::operations::{Operation, Status};
use crate::random;
use crate::run::Run;
use crate::target::Target;

/// Pause after an answer without notifications, so that a server that holds nothing is not polled in a loop.
const EMPTY_ANSWER_PAUSE: Duration = Duration::from_millis(50);
/// Longest time an agent is away that lost its connection; what is queued meanwhile it must find.
const AWAY: Duration = Duration::from_millis(500);
/// Longest time until an agent drops its connection when none is to do so.
const NEVER: Duration = Duration::from_secs(86_400);
/// Time between two looks at what is not done yet.
const GLANCE: Duration = Duration::from_millis(20);

/// What the agents note down.
#[derive(Debug)]
pub(crate) struct Notes {
    run: Arc<Run>,
    ledger: Mutex<OperationLedger>,
}

impl Notes {
    /// Empty notes. Where operations carry marks, receiver `n` of the run must be agent `n`.
    pub(crate) fn new(run: &Arc<Run>, ledger: OperationLedger) -> Self {
        Self { run: Arc::clone(run), ledger: Mutex::new(ledger) }
    }

    /// The operations.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, OperationLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many operations are seen and all of these are done, at most `limit`.
    pub(crate) async fn all_done(&self, count: usize, limit: Duration) {
        let done = async {
            while self.ledger().progress() != (count, 0) {
                tokio::time::sleep(GLANCE).await;
            }
        };
        tokio::time::timeout(limit, done).await.ok();
    }

    /// The server lists an operation; those of other runs are passed over.
    pub(crate) fn listed(&self, operation: &Operation) {
        if operation.mark().is_none_or(|mark| self.run.is_own(mark)) {
            self.ledger().listed(operation);
        }
    }

    /// Gives whether the agent has to carry it out.
    fn seen(&self, agent: u32, operation: &Operation, sight: Sight) -> bool {
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

/// One agent.
#[derive(Debug)]
pub(crate) struct Agent {
    /// Its number, from 0.
    pub(crate) number: u32,
    /// Its managed object.
    pub(crate) id: String,
    /// The server, spoken to by its device user.
    pub(crate) target: Target,
    /// How it speaks.
    pub(crate) language: Language,
}

/// How the agents of a run behave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// How many are opened at the same time.
    pub(crate) connecting: usize,
    /// How long one stays connected on average before it drops its connection; `None` is for ever.
    pub(crate) stays: Option<Duration>,
}

#[derive(Debug)]
struct Stage {
    notes: Arc<Notes>,
    permits: Semaphore,
    manner: Manner,
    is_calm: AtomicBool,
    reconnects: AtomicU64,
    events: mpsc::UnboundedSender<Event>,
}

/// All agents; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Agents {
    stage: Arc<Stage>,
    events: mpsc::UnboundedReceiver<Event>,
    _agents: JoinSet<()>,
}

impl Agents {
    /// Lets the agents connect, and returns when all are subscribed and polling.
    ///
    /// # Errors
    /// The first agent that could not connect.
    pub(crate) async fn open(notes: &Arc<Notes>, agents: Vec<Agent>, manner: Manner) -> Result<Self, Error> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let stage = Arc::new(Stage {
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
            tasks.spawn(attend(Arc::clone(&stage), agent));
        }
        all_open(&mut events, count).await?;
        Ok(Self { stage, events, _agents: tasks })
    }

    /// From now on no agent drops its connection.
    pub(crate) fn calm_down(&self) {
        self.stage.is_calm.store(true, Ordering::Relaxed);
    }

    /// Ends every agent and tells what happened to them before.
    pub(crate) fn close(mut self) -> Mishaps {
        Mishaps::of(self.stage.reconnects.load(Ordering::Relaxed), &mut self.events)
    }
}

/// One agent from its first handshake to its end; the run aborts it when it is over.
async fn attend(stage: Arc<Stage>, agent: Agent) {
    let opened = {
        let _permit = stage.permits.acquire().await;
        Box::pin(come_back(&stage, &agent)).await
    };
    let ended = match opened {
        Ok(session) => {
            stage.events.send(Event::Opened).ok();
            Event::Ended(live(&stage, &agent, session).await)
        }
        Err(error) => Event::NotOpened(error),
    };
    // Nobody listens only when the run is already over.
    stage.events.send(ended).ok();
}

/// Serves, drops the connection and comes back, again and again; gives why it could not go on.
async fn live(stage: &Stage, agent: &Agent, mut session: Session) -> Error {
    loop {
        if let Err(error) = serve(stage, agent, &mut session).await {
            return error;
        }
        // The old connection goes first: a device that lost its network does not know what was on the way.
        drop(session);
        stage.reconnects.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(up_to(AWAY)).await;
        match Box::pin(come_back(stage, agent)).await {
            Ok(anew) => session = anew,
            Err(error) => return error,
        }
    }
}

/// Shakes hands, subscribes, carries out what is PENDING by now, and polls.
async fn come_back(stage: &Stage, agent: &Agent) -> Result<Session, Error> {
    let mut session = Session::subscribe(agent).await?;
    let pending = session.pending(agent).await?;
    carry_out(stage, agent, &mut session, &pending, Sight::Found).await?;
    session.poll_again().await?;
    Ok(session)
}

/// Carries out what notifications bring, until it is time to drop the connection.
async fn serve(stage: &Stage, agent: &Agent, session: &mut Session) -> Result<(), Error> {
    let stays = stage.manner.stays.map_or(NEVER, |mean| up_to(2 * mean));
    let leaves = tokio::time::sleep_until(Instant::now() + stays);
    tokio::pin!(leaves);
    loop {
        let told = tokio::select! {
            told = session.told() => told?,
            () = &mut leaves => match stage.is_calm.load(Ordering::Relaxed) {
                true => {
                    leaves.as_mut().reset(Instant::now() + NEVER);
                    continue;
                }
                false => return Ok(()),
            },
        };
        match told.is_empty() {
            true => tokio::time::sleep(EMPTY_ANSWER_PAUSE).await,
            false => carry_out(stage, agent, session, &told, Sight::Notified).await?,
        }
        session.poll_again().await?;
    }
}

async fn carry_out(
    stage: &Stage,
    agent: &Agent,
    session: &mut Session,
    operations: &[Operation],
    sight: Sight,
) -> Result<(), Error> {
    // All are seen when they come, though one is carried out after the other.
    let new: Vec<&Operation> =
        operations.iter().filter(|operation| stage.notes.seen(agent.number, operation, sight)).collect();
    for operation in new {
        for status in [Status::Executing, Status::Successful] {
            session.advance(agent, operation, status).await?;
            stage.notes.advanced(operation, status);
        }
    }
    Ok(())
}

/// A random time, at most so long.
fn up_to(longest: Duration) -> Duration {
    Duration::from_micros(random::below(longest.as_micros() as u64))
}
