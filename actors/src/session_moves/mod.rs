//! How sessions move between servers, and between the threads of one server.
//!
//! A message of a client that reaches a server which does not have the session pulls it over. The clientId names the
//! server of its birth ([`ClientIds`]), and a table where it has moved since.
//!
//! 1. *The taker* starts the session without a state ([`arriving`](crate::session)). It has its place in the registry
//!    already, so further messages of the client wait in its mailbox, and changes of rights reach it. It makes sure
//!    that it hears everything that is published for the tenant, and asks the holder.
//! 2. *The holder* responds to the parked connect, as it does when a newer connect arrives, and publishes the point of
//!    the move ([`SessionMove`]) through the database, like any publication of the tenant. The same transaction notes
//!    the taker as the new holder.
//! 3. *Both* find the point in the one order of everything that is published. At this point the holder's queue is
//!    complete, and the subscriptions begin at the taker.
//! 4. *The holder* sends the state with the queue. *The taker* puts it in front of what arrived since, and handles the
//!    messages that waited. So each notification is in exactly one place, and nothing is numbered.
//!
//! A session that only changes its thread, because connections and their threads begin or end, takes the same steps within
//! this process, without the database.
//!
//! A question without a response is repeated, because a server whose listening connection was lost has not seen it. If the
//! holder has no connection to the database, or neither responds nor renews its lease, its client gets 402. A holder that
//! was paused and responds later ends its session.

mod client_ids;
mod departures;
mod place;
mod requests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use parking_lot::Mutex;
use platform_model::id::TenantId;
use platform_model::session_move::{ServerMessage, SessionMove, SessionState};
use platform_store::Database;
use platform_store::session_moves::{Asked, SessionMoves, StoredSession};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub(crate) use client_ids::ClientIds;
use departures::Departure;
pub(crate) use departures::{BeforePoint, Destination};
pub(crate) use place::ArrivalPlace;

use crate::hub::{NotificationHub, Subscriptions};
use crate::session::{ClientId, EndSession, SessionActor};

/// How long a client waits for a session of another server that may be gone. After that it counts as lost.
const PATIENCE: Duration = Duration::from_secs(2);
/// A server whose lease was renewed at most this time before that of the server that asks is not gone.
const RENEWED: Duration = Duration::from_secs(6);
/// The pause before a question is sent again, because a server whose listening connection was lost has not seen it. Each
/// further pause is twice as long.
const ASK_AGAIN: Duration = Duration::from_millis(300);
/// How long a session of a server that stops is waited for.
const PATIENCE_AT_STOP: Duration = Duration::from_secs(20);
/// How long the state of a session and the point of its move may be apart, however large the state is.
const REST_FOLLOWS: Duration = Duration::from_secs(10);
/// The pause before a session that is on its way is asked for again.
const AGAIN: Duration = Duration::from_millis(5);
/// The pause before another attempt when the database does not respond.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// The sessions that are on their way to or from this server.
pub(crate) struct Transfers {
    database: Database,
    ids: ClientIds,
    arrivals: Mutex<HashMap<u64, Arrival>>,
    departures: Mutex<HashMap<ClientId, Departure>>,
    /// The questions for owners of sessions. No response comes for a session that does not exist.
    owners: Mutex<HashMap<u64, oneshot::Sender<OwnerNews>>>,
    /// Each is dropped when this server hears what it has told itself.
    echoes: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    /// The states of sessions that are to be stored.
    captured: Mutex<Vec<StoredSession>>,
    next_request: AtomicU64,
    is_stopping: AtomicBool,
    is_closed: AtomicBool,
    /// How many times sessions are being ended because they may have missed something.
    endings: AtomicUsize,
}

/// The owner of a session at another server.
#[derive(Debug)]
pub struct OwnerElsewhere {
    /// The tenant.
    pub tenant: TenantId,
    /// The user.
    pub user: Arc<str>,
    /// The time at which the user's token expires; `None` for a password.
    pub expires: Option<std::time::Instant>,
}

/// What is told of the owner of a session.
enum OwnerNews {
    Owner(OwnerElsewhere),
    /// The session is on its way to another server.
    Moving,
}

/// A session that is asked for.
struct Arrival {
    tenant: TenantId,
    place: Arc<ArrivalPlace>,
    news: mpsc::UnboundedSender<News>,
}

/// What becomes of a session that is asked for.
enum News {
    /// The point of its move is reached: its subscriptions are at this server.
    Begun,
    State(Box<SessionState>),
    /// Somebody else asked for it before.
    Moving,
    Absent,
}

/// Where an arriving session comes from.
#[derive(Debug)]
pub(crate) enum ArrivalSource {
    /// Another server, which the table or the clientId names. The duration is how long it is waited for.
    Elsewhere(Duration),
    /// Another thread of this server.
    Here(Addr<SessionActor>),
    /// The table of stored sessions.
    Stored(Box<SessionState>),
}

impl ArrivalSource {
    /// The server that holds it, because a client asks for it.
    pub(crate) fn elsewhere() -> Self {
        Self::Elsewhere(PATIENCE)
    }

    /// A server that stops.
    pub(crate) fn stopping() -> Self {
        Self::Elsewhere(PATIENCE_AT_STOP)
    }
}

/// A session that is to arrive.
#[derive(Debug, Clone)]
pub(crate) struct Awaited {
    pub(crate) tenant: TenantId,
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
}

impl Transfers {
    /// `secret` is the same at all servers of a deployment, `server` is the number of this process.
    pub(crate) fn new(database: Database, secret: &[u8], server: i64) -> Arc<Self> {
        Arc::new(Self {
            database,
            ids: ClientIds::new(secret, server),
            arrivals: Mutex::default(),
            departures: Mutex::default(),
            owners: Mutex::default(),
            echoes: Mutex::default(),
            captured: Mutex::default(),
            next_request: AtomicU64::new(1),
            is_stopping: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            endings: AtomicUsize::new(0),
        })
    }

    pub(crate) fn ids(&self) -> &ClientIds {
        &self.ids
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn messages(&self) -> &SessionMoves {
        self.database.session_moves()
    }

    /// From now on, no client pulls sessions to this server.
    pub(crate) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// From now on, this server takes no sessions of others that stop.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Prevents sessions from leaving until the future has ended those of a tenant, because they may have missed
    /// notifications. Those that are on their way to this server or from it end at once: what they wait for may be missed
    /// too.
    pub(crate) fn stay_until(
        self: &Arc<Self>,
        tenant: &TenantId,
        end: impl Future<Output = ()> + Send + 'static,
    ) {
        self.endings.fetch_add(1, Ordering::AcqRel);
        for arrival in self.arrivals.lock().values().filter(|arrival| arrival.tenant == *tenant) {
            drop(arrival.news.send(News::Absent));
        }
        self.end_those_before_point(tenant);
        let transfers = self.clone();
        tokio::spawn(async move {
            end.await;
            transfers.endings.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// Returns whether sessions may leave now.
    pub(crate) fn may_leave(&self) -> bool {
        self.endings.load(Ordering::Acquire) == 0
    }

    /// Returns whether no session is on its way.
    pub(crate) fn are_over(&self) -> bool {
        !self.has_some_before_point() && self.arrivals.lock().is_empty()
    }

    /// Keeps the state of a session that is to be stored.
    pub(crate) fn keep(&self, stored: StoredSession) {
        self.captured.lock().push(stored);
    }

    /// Returns the sessions that are to be stored.
    pub(crate) fn take_captured(&self) -> Vec<StoredSession> {
        std::mem::take(&mut self.captured.lock())
    }

    /// Ends a session that misses notifications and has left this server, wherever it is. `here` finds it if it has come
    /// back.
    pub(crate) async fn end_wherever_it_is(
        &self,
        client: ClientId,
        tenant: String,
        here: impl FnOnce() -> Option<Addr<SessionActor>>,
    ) {
        let Some(birth) = self.ids.birth(client) else { return };
        let end = ServerMessage::End { client: client.to_string(), tenant };
        match self.messages().ask(client.to_string(), birth, end, false).await {
            Ok(Asked::Own { .. }) => here().into_iter().for_each(|session| session.do_send(EndSession)),
            Ok(Asked::Sent(_) | Asked::Nobody) => {}
            Err(error) => {
                tracing::warn!(%error, "a session that misses notifications could not be ended");
            }
        }
    }

    /// Waits until this server has heard everything that was published before, or for as long as clients wait for a session.
    pub(crate) async fn catch_up(&self) {
        let (request, (sender, heard)) =
            (self.next_request.fetch_add(1, Ordering::Relaxed), oneshot::channel());
        self.echoes.lock().insert(request, sender);
        // PostgreSQL passes on everything in one order.
        self.messages().tell(self.messages().server(), ServerMessage::Echo { request });
        drop(timeout(PATIENCE, heard).await);
        self.echoes.lock().remove(&request);
    }

    /// Takes a message that responds to a request of this server.
    pub(crate) fn receive(&self, message: ServerMessage) {
        match message {
            ServerMessage::Arrives { request, state } => self.report(request, News::State(state)),
            ServerMessage::Moving { request } => match self.owners.lock().remove(&request) {
                Some(told) => drop(told.send(OwnerNews::Moving)),
                None => self.report(request, News::Moving),
            },
            ServerMessage::Absent { request } => {
                self.owners.lock().remove(&request);
                self.report(request, News::Absent);
            }
            ServerMessage::Owner { request, tenant, user, expires_in } => {
                let (told, tenant) = (self.owners.lock().remove(&request), TenantId::parse(&tenant));
                if let (Some(told), Ok(tenant)) = (told, tenant) {
                    let expires = expires_in.map(|rest| std::time::Instant::now() + rest);
                    drop(told.send(OwnerNews::Owner(OwnerElsewhere { tenant, user: user.into(), expires })));
                }
            }
            ServerMessage::Echo { request } => drop(self.echoes.lock().remove(&request)),
            ServerMessage::Wanted { .. }
            | ServerMessage::WhoOwns { .. }
            | ServerMessage::End { .. }
            | ServerMessage::Adopt { .. }
            | ServerMessage::Show { .. }
            | ServerMessage::Shown { .. } => {}
        }
    }

    /// Responds to the server that asks for a session. If that is this server, the database is not involved.
    pub(crate) fn tell(&self, server: i64, message: ServerMessage) {
        if server == self.messages().server() {
            self.receive(message);
        } else {
            self.messages().tell(server, message);
        }
    }

    fn report(&self, request: u64, news: News) {
        if let Some(arrival) = self.arrivals.lock().get(&request) {
            drop(arrival.news.send(news));
        }
    }

    /// Carries out a move at its point in the order of the tenant's publications.
    pub(crate) fn reach(self: &Arc<Self>, hub: &NotificationHub, point: SessionMove) {
        let own = self.messages().server();
        let (leaves, comes) = (point.from == own, point.to == own);
        let Some(client) = ClientId::parse(&point.client).filter(|_| leaves || comes) else { return };
        let transfers = self.clone();
        hub.at_this_point(Box::new(move |subscriptions| {
            if leaves {
                transfers.hand_over(client, Destination { server: point.to, request: point.request });
            }
            if comes {
                transfers.begin(point, subscriptions);
            }
        }));
    }

    /// Subscribes an arriving session.
    fn begin(&self, point: SessionMove, subscriptions: &mut Subscriptions) {
        match self.arrivals.lock().get(&point.request) {
            Some(arrival) => {
                arrival.place.begin(subscriptions, point.patterns, point.units);
                drop(arrival.news.send(News::Begun));
            }
            // The request has timed out, and the client was told that the session is unknown.
            None => self.messages().forget(point.client),
        }
    }
}

impl std::fmt::Debug for Transfers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transfers").finish_non_exhaustive()
    }
}
