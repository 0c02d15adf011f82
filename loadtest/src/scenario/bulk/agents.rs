//! The agents of a bulk operation: each holds a poll with its own credentials and executes the operations it receives
//!

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::error::Error;
use crate::ledger::run::Run;
use crate::protocol::bayeux;
use crate::protocol::bayeux::long_polling::LongPolling;
use crate::protocol::operations::ledger::{OperationLedger, SeenBy};
use crate::protocol::operations::{self, Operation, Status};
use crate::target::Target;
use crate::traffic::audience::{ClientFailures, Event, all_open};

/// The pause after a response without notifications, so that a server that holds nothing is not polled in a
/// tight loop.
const EMPTY_RESPONSE_PAUSE: Duration = Duration::from_millis(50);
/// The interval of progress checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The shared record of what the agents did.
#[derive(Debug)]
pub(crate) struct AgentRecord {
    run: Arc<Run>,
    /// The ledger of operations.
    pub(crate) ledger: Mutex<OperationLedger>,
}

impl AgentRecord {
    /// Creates an empty record.
    pub(crate) fn new(run: &Arc<Run>, ledger: OperationLedger) -> Self {
        Self { run: Arc::clone(run), ledger: Mutex::new(ledger) }
    }

    /// Waits until `count` operations were seen and all of them are done, at most `limit`.
    pub(crate) async fn all_done(&self, count: usize, limit: Duration) {
        let done = async {
            while self.ledger.lock().progress() != (count, 0) {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::time::timeout(limit, done).await.ok();
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
}

/// All agents; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Agents {
    events: mpsc::UnboundedReceiver<Event>,
    _agents: JoinSet<()>,
}

impl Agents {
    /// Connects the agents, `connecting` at the same time, and returns when all are subscribed and polling.
    ///
    /// # Errors
    /// The error of the first agent that could not connect.
    pub(crate) async fn open(
        notes: &Arc<AgentRecord>,
        agents: Vec<Agent>,
        connecting: usize,
    ) -> Result<Self, Error> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let permits = Arc::new(Semaphore::new(connecting.max(1)));
        let count = agents.len();
        let mut tasks = JoinSet::new();
        for agent in agents {
            let (notes, permits, sender) = (Arc::clone(notes), Arc::clone(&permits), sender.clone());
            tasks.spawn(async move {
                let ended = Box::pin(live(&notes, &permits, &sender, &agent)).await;
                // An error means that the run is over.
                sender.send(ended).ok();
            });
        }
        all_open(&mut events, count).await?;
        Ok(Self { events, _agents: tasks })
    }

    /// Ends all agents and returns their failures.
    pub(crate) fn close(mut self) -> ClientFailures {
        ClientFailures::of(0, &mut self.events)
    }
}

/// Connects an agent, and executes operations until it ends; returns why.
async fn live(
    notes: &AgentRecord,
    permits: &Semaphore,
    events: &mpsc::UnboundedSender<Event>,
    agent: &Agent,
) -> Event {
    let opened = {
        let _permit = permits.acquire().await;
        LongPolling::open(&agent.target, bayeux::OPERATIONS, &format!("/{}", agent.id)).await
    };
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => return Event::NotOpened(error),
    };
    events.send(Event::Opened).ok();
    loop {
        if let Err(error) = serve(notes, agent, &mut session).await {
            return Event::Ended(error);
        }
    }
}

/// Executes the operations of a response, one after the other, and polls again.
async fn serve(notes: &AgentRecord, agent: &Agent, session: &mut LongPolling) -> Result<(), Error> {
    let notified: Vec<Operation> = bayeux::notifications(session.batch().await?)?;
    if notified.is_empty() {
        tokio::time::sleep(EMPTY_RESPONSE_PAUSE).await;
    }
    // All are recorded on arrival.
    let is_new = |operation: &&Operation| {
        notes.ledger.lock().seen(agent.number, operation, SeenBy::Notified, notes.run.now())
    };
    let new: Vec<&Operation> = notified.iter().filter(is_new).collect();
    for operation in new {
        for status in [Status::Executing, Status::Successful] {
            operations::advance(&agent.target, session.between_polls(), operation, status).await?;
            notes.ledger.lock().advanced(&operation.id, status, notes.run.now());
        }
    }
    session.poll_again().await
}
