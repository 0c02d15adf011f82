//! Moves sessions between servers, and between the threads of one server.
//!
//! A message of a client that reaches a server without the client's session pulls the session to that server. The
//! clientId contains the server that created the session ([`ClientIds`]); a table contains the servers of the sessions
//! that have moved since.
//!
//! 1. *The taker* starts the session without a state ([`arriving`](crate::session)). The session is in the registry at
//!    once, so changes of rights reach it, and further messages of the client wait in its mailbox. The taker ensures
//!    that it receives everything that is published for the tenant, and requests the session from the holder.
//! 2. *The holder* responds to the parked connect, as it does when a newer connect arrives, and publishes the point of
//!    the move ([`SessionMove`]) through the database, like any publication of the tenant. The same transaction stores
//!    the taker as the new holder.
//! 3. *Both* receive the point in the one order of all publications. At this point the holder's queue is complete, and
//!    the taker subscribes the session.
//! 4. *The holder* sends the state with the queue. *The taker* puts it in front of the notifications that have arrived
//!    since, and handles the messages that waited. So each notification is in exactly one queue, without sequence
//!    numbers.
//!
//! A session that only changes its thread, because connections and their threads start or end, takes the same steps
//! within this process, without the database.
//!
//! A request without a response is repeated, because the holder has not received it if its listening connection was
//! lost. The client gets 402 if the holder has no connection to the database, or neither responds nor renews its lease.
//! A holder that was paused and responds later ends its session.

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
use platform_model::realtime::session_move::{ServerMessage, SessionMove, SessionState};
use platform_model::realtime::trace::record::EndReason;
use platform_store::Database;
use platform_store::realtime::session_moves::{Asked, SessionMoves, StoredSession};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub(crate) use client_ids::ClientIds;
use departures::Departure;
pub(crate) use departures::{BeforePoint, Destination};
pub(crate) use place::ArrivalPlace;

use crate::hub::{NotificationHub, Subscriptions};
use crate::session::{ClientId, EndSession, SessionActor};

/// The time that a client waits for a session of another server. After that the session counts as lost.
const PATIENCE: Duration = Duration::from_secs(2);
/// A server counts as alive if it renewed its lease at most this time before the requesting server renewed its own.
const RENEWED: Duration = Duration::from_secs(6);
/// The pause before a request is repeated, because a server whose listening connection was lost has not received it.
/// Each further pause is twice as long.
const ASK_AGAIN: Duration = Duration::from_millis(300);
/// The time to wait for a session of a server that stops.
const PATIENCE_AT_STOP: Duration = Duration::from_secs(20);
/// The time to wait for the second of the two: the state of a session, which may be large, and the point of its move.
const REST_FOLLOWS: Duration = Duration::from_secs(10);
/// The pause before a session that is already moving is requested again.
const AGAIN: Duration = Duration::from_millis(5);
/// The pause before a retry when the database does not respond.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// The sessions that are moving to or from this server.
pub(crate) struct Transfers {
    database: Database,
    ids: ClientIds,
    arrivals: Mutex<HashMap<u64, Arrival>>,
    departures: Mutex<HashMap<ClientId, Departure>>,
    /// The open requests for owners of sessions.
    owners: Mutex<HashMap<u64, oneshot::Sender<OwnerNews>>>,
    /// The open echo requests. A sender is dropped when this server receives the echo that it sent to itself.
    echoes: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    /// The states of sessions that are about to be stored.
    captured: Mutex<Vec<StoredSession>>,
    next_request: AtomicU64,
    is_stopping: AtomicBool,
    is_closed: AtomicBool,
    /// The number of running tasks that end sessions which may have missed notifications.
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

/// The response to a request for the owner of a session.
enum OwnerNews {
    Owner(OwnerElsewhere),
    /// The session is moving to another server.
    Moving,
}

/// A session that this server has requested.
struct Arrival {
    tenant: TenantId,
    place: Arc<ArrivalPlace>,
    news: mpsc::UnboundedSender<News>,
}

/// An event of a session that this server has requested.
enum News {
    /// The point of the move is reached, and the subscriptions are at this server.
    Begun,
    State(Box<SessionState>),
    /// Another server requested the session first.
    Moving,
    /// The holder does not have the session.
    Absent,
    /// This server may have missed the point of the move.
    Interrupted,
}

/// The reason why a session has not arrived. Only the first one is a 402 (B-16a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotArrived {
    /// It has ended, or belongs to another user.
    Ended,
    /// It may exist elsewhere, but cannot move at the moment.
    NotNow,
}

/// The place from which an arriving session comes.
#[derive(Debug)]
pub(crate) enum ArrivalSource {
    /// Another server, which is found through the table or the clientId. The duration is the time to wait for it.
    Elsewhere(Duration),
    /// Another thread of this server.
    Here(Addr<SessionActor>),
    /// The table of stored sessions.
    Stored(Box<SessionState>),
}

impl ArrivalSource {
    /// The server that has the session, whose client waits.
    pub(crate) fn elsewhere() -> Self {
        Self::Elsewhere(PATIENCE)
    }

    /// A server that stops and has offered the session.
    pub(crate) fn stopping() -> Self {
        Self::Elsewhere(PATIENCE_AT_STOP)
    }
}

/// The identity of a session that is about to arrive.
#[derive(Debug, Clone)]
pub(crate) struct Awaited {
    pub(crate) tenant: TenantId,
    pub(crate) client: ClientId,
    pub(crate) user: Arc<str>,
}

impl Transfers {
    /// `secret` is the same at all servers of a deployment; `server` is the number of this process.
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

    /// Marks this server as stopping: from now on, clients no longer pull sessions to it.
    pub(crate) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// From now on, this server takes over no sessions of other servers that stop.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Prevents sessions from leaving until the future has ended the sessions of a tenant, because they may have missed
    /// notifications. Sessions that are moving to or from this server end at once, because it may also have missed the
    /// points of their moves.
    pub(crate) fn stay_until(
        self: &Arc<Self>,
        tenant: &TenantId,
        end: impl Future<Output = ()> + Send + 'static,
    ) {
        self.endings.fetch_add(1, Ordering::AcqRel);
        for arrival in self.arrivals.lock().values().filter(|arrival| arrival.tenant == *tenant) {
            drop(arrival.news.send(News::Interrupted));
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

    /// Returns whether no session is moving.
    pub(crate) fn are_over(&self) -> bool {
        !self.has_some_before_point() && self.arrivals.lock().is_empty()
    }

    /// Keeps the state of a session until it is stored.
    pub(crate) fn keep(&self, stored: StoredSession) {
        self.captured.lock().push(stored);
    }

    /// Returns the sessions to store, and forgets them.
    pub(crate) fn take_captured(&self) -> Vec<StoredSession> {
        std::mem::take(&mut self.captured.lock())
    }

    /// Ends a session that has left this server and misses notifications, at whichever server it is. `here` finds it if
    /// it has come back to this server.
    pub(crate) async fn end_wherever_it_is(
        &self,
        client: ClientId,
        tenant: String,
        here: impl FnOnce() -> Option<Addr<SessionActor>>,
    ) {
        let Some(birth) = self.ids.birth(client) else { return };
        let end = ServerMessage::End { client: client.to_string(), tenant };
        match self.messages().ask(client.to_string(), birth, end, false).await {
            Ok(Asked::Own { .. }) => {
                here().into_iter().for_each(|session| session.do_send(EndSession(EndReason::Gap)))
            }
            Ok(Asked::Sent(_) | Asked::Nobody) => {}
            Err(error) => {
                tracing::warn!(%error, "a session that misses notifications could not be ended");
            }
        }
    }

    /// Waits until this server has received everything that was published before this call, at most for [`PATIENCE`].
    pub(crate) async fn catch_up(&self) {
        let (request, (sender, heard)) =
            (self.next_request.fetch_add(1, Ordering::Relaxed), oneshot::channel());
        self.echoes.lock().insert(request, sender);
        // PostgreSQL delivers all notifications in one order, so the echo arrives after all earlier ones.
        self.messages().tell(self.messages().server(), ServerMessage::Echo { request });
        drop(timeout(PATIENCE, heard).await);
        self.echoes.lock().remove(&request);
    }

    /// Handles a message that responds to a request of this server.
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
            | ServerMessage::Shown { .. }
            | ServerMessage::ShowRecords { .. }
            | ServerMessage::RecordsShown { .. } => {}
        }
    }

    /// Sends a message to the server that requested a session. If that is this server, the database is not involved.
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

    /// Executes a move at its point in the order of the tenant's publications.
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

    /// Subscribes an arriving session at the point of its move.
    fn begin(&self, point: SessionMove, subscriptions: &mut Subscriptions) {
        match self.arrivals.lock().get(&point.request) {
            Some(arrival) => {
                arrival.place.begin(subscriptions, point.subscriptions, point.units);
                drop(arrival.news.send(News::Begun));
            }
            // The request has timed out, and the client has received that the session is unknown.
            None => self.messages().forget(point.client),
        }
    }
}

impl std::fmt::Debug for Transfers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transfers").finish_non_exhaustive()
    }
}
