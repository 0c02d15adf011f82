//! Takes sessions from other servers and hands sessions over to them ([`session_moves`](crate::session_moves)).

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use futures_util::future::join_all;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::realtime::session_move::{Leaving, ServerMessage};
use platform_model::realtime::trace::record::EndReason;
use platform_store::realtime::session_moves::{StoredSession, Successor};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::{Holders, Platform, Tenant};
use crate::session::deliveries::DispatchToSessions;
use crate::session::dispatcher::{SessionDispatcher, SessionSlot};
use crate::session::starting::ArrivingSession;
use crate::session::{ClientId, EndSession, HandOver, ListSubscriptions, SessionActor};
use crate::session_moves::{ArrivalSource, OwnerElsewhere};

/// The number of sessions that one message offers to another server.
const AT_ONCE: usize = 200;
/// The pause between two checks whether all sessions have left.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The time that the last session before a stop may take to hand over its state.
const LAST_SESSION: Duration = Duration::from_secs(5);
/// The time that a stopping server waits for other stopping servers, so that the last one stores the sessions of all.
const OTHERS_STOP: Duration = Duration::from_secs(10);

/// A session at this server.
pub(super) struct SessionHere {
    pub(super) tenant: TenantId,
    pub(super) client: ClientId,
    pub(super) user: Arc<str>,
    address: Addr<SessionActor>,
}

impl SessionHere {
    fn leaving(&self) -> Leaving {
        let Self { tenant, client, user, .. } = self;
        Leaving { client: client.to_string(), tenant: tenant.to_string(), user: user.to_string() }
    }
}

/// A thread that outlives all connections, for sessions whose clients have to reconnect.
pub(super) struct Keeper {
    pub(super) dispatcher: Addr<SessionDispatcher>,
    number: NonZeroU32,
}

impl Platform {
    /// Registers the handler for the messages of other servers about sessions.
    pub(super) fn install_session_handler(self: &Arc<Self>, process: i64) {
        let platform = Arc::downgrade(self);
        let handle = move |message| {
            if let Some(platform) = platform.upgrade() {
                platform.handle_message(message);
            }
        };
        self.database.session_moves().install(process, &self.database, Box::new(handle));
    }

    /// Registers the calling thread as one on which sessions of other servers can live.
    pub fn add_session_thread(&self) {
        self.session_threads.lock().push(SessionDispatcher::here());
    }

    /// Returns whether a server of this deployment created the clientId.
    pub fn has_made(&self, client: ClientId) -> bool {
        self.transfers.ids().birth(client).is_some()
    }

    /// Returns whether this server is stopping, so that clients should use other servers.
    pub fn is_handing_over(&self) -> bool {
        self.transfers.is_stopping()
    }

    /// Ends a session for this reason and waits until it has ended.
    pub async fn end_session(&self, session: &Addr<SessionActor>, reason: EndReason) {
        session.send(EndSession(reason)).await.ok();
    }

    /// Returns the owner of a session at another server (B-18a).
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn find_owner_elsewhere(&self, client: ClientId) -> Result<Option<OwnerElsewhere>> {
        self.transfers.find_owner(client).await
    }

    /// Returns the dispatcher of an actor thread, which exists before and after all connections.
    pub(super) async fn keeper(&self) -> Result<Keeper> {
        let (sender, keeper) = oneshot::channel();
        self.threads[0].arbiter.spawn(async move { drop(sender.send(SessionDispatcher::numbered_here())) });
        let keeper = keeper.await.map_err(|_| Error::unavailable("the server is stopping"));
        keeper.map(|(dispatcher, number)| Keeper { dispatcher, number })
    }

    /// Returns the dispatchers of all threads on which sessions live.
    pub(super) async fn dispatchers(&self) -> Vec<Addr<SessionDispatcher>> {
        let mut all = self.session_threads.lock().clone();
        all.extend(self.keeper().await.ok().map(|keeper| keeper.dispatcher));
        all
    }

    /// Lists the sessions of all tenants with their users.
    pub(super) async fn all_sessions(&self) -> Vec<SessionHere> {
        let mut all = Vec::new();
        for (id, tenant) in self.known_tenants() {
            let listed = tenant.environment.of_users.lock().list(&Holders::Everybody);
            all.extend(listed.into_iter().filter_map(|(user, client)| {
                let address = Tenant::session(&tenant, client)?;
                Some(SessionHere { tenant: id.clone(), client, user, address })
            }));
        }
        all
    }

    /// Marks this server as stopping, so that clients no longer pull their sessions to it.
    pub fn begin_handing_over(&self) {
        self.transfers.begin_stop();
    }

    /// Hands all sessions to other servers or, if there are none, to a thread that outlives all connections. Returns
    /// when they have left, or after `longest`.
    pub async fn hand_sessions_over(&self, longest: Duration) {
        match timeout(longest, self.hand_over_until_none()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "sessions cannot be handed over; their clients handshake again")
            }
            Err(_) => tracing::warn!("some sessions could not be handed over; their clients handshake again"),
        }
    }

    async fn hand_over_until_none(&self) -> Result<()> {
        let mut asked: HashMap<ClientId, Instant> = HashMap::new();
        loop {
            let keeper = self.keeper().await?;
            let mut sessions = self.all_sessions().await;
            if sessions.is_empty() && self.transfers.are_over() {
                return Ok(());
            }
            let successors = self.database.find_successors().await?;
            if successors.is_empty() {
                sessions.retain(|session| !self.is_kept(session, &keeper));
                if sessions.is_empty() && self.transfers.are_over() {
                    return Ok(());
                }
            }
            // A session that was not taken over in time is offered again, possibly to another server.
            sessions
                .retain(|session| asked.get(&session.client).is_none_or(|at| at.elapsed() > LAST_SESSION));
            asked.extend(sessions.iter().map(|session| (session.client, Instant::now())));
            if successors.is_empty() {
                self.move_here(sessions, &[keeper.dispatcher]);
            } else {
                self.offer(&sessions, &successors);
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Asks other servers, of which there is at least one, to take these sessions over.
    pub(super) fn offer(&self, sessions: &[SessionHere], successors: &[Successor]) {
        for (sessions, to) in sessions.chunks(AT_ONCE).zip(successors.iter().cycle()) {
            let sessions = sessions.iter().map(SessionHere::leaving).collect();
            self.database.session_moves().tell(to.server, ServerMessage::Adopt { sessions });
        }
    }

    fn is_kept(&self, session: &SessionHere, keeper: &Keeper) -> bool {
        self.slot_of(session).is_some_and(|slot| slot.dispatcher == keeper.number)
    }

    fn slot_of(&self, session: &SessionHere) -> Option<SessionSlot> {
        self.tenant(&session.tenant).sessions.slot_of(session.client)
    }

    /// Moves sessions to other threads of this server.
    fn move_here(&self, sessions: Vec<SessionHere>, threads: &[Addr<SessionDispatcher>]) {
        for (n, SessionHere { tenant, client, user, address }) in sessions.into_iter().enumerate() {
            let arriving = ArrivingSession { client, user, source: ArrivalSource::Here(address) };
            self.tenant(&tenant).environment.take_session(arriving, &threads[n % threads.len()]);
        }
    }

    /// Stores the sessions of the last server, after its last write. The next server that starts takes them over.
    pub async fn store_sessions(&self) {
        let begun = Instant::now();
        if !self.all_sessions().await.is_empty() {
            // Other servers that stop at the same time hand their sessions to this server first.
            while begun.elapsed() < OTHERS_STOP && !self.database.is_last_server().await.unwrap_or(true) {
                sleep(LOOK_AGAIN * 2).await;
            }
            // The last notifications of those servers may still be on their way to this server.
            self.transfers.catch_up().await;
        }
        self.transfers.close();
        let captured = self.capture_sessions().await;
        let count = captured.len();
        if count == 0 {
            return;
        }
        match self.database.store_sessions(&captured).await {
            Ok(true) => tracing::info!(count, "sessions are stored for the next start"),
            Ok(false) => tracing::warn!(
                count,
                "no other server took these sessions over; they end, and their clients handshake again"
            ),
            Err(error) => {
                tracing::warn!(count, %error, "sessions cannot be stored; their clients handshake again");
            }
        }
    }

    async fn capture_sessions(&self) -> Vec<StoredSession> {
        let Ok(keeper) = self.keeper().await else { return Vec::new() };
        let begun = Instant::now();
        while begun.elapsed() < LAST_SESSION && !self.transfers.are_over() {
            sleep(LOOK_AGAIN).await;
        }
        for (_, tenant) in self.known_tenants() {
            // Notifications to families may still wait for look-ups.
            let (sender, reached) = oneshot::channel();
            tenant.context().hub.at_this_point(Box::new(move |_| {
                sender.send(()).ok();
            }));
            timeout(LAST_SESSION, reached).await.ok();
        }
        let (mut leaving, mut by_tenant) = (Vec::new(), HashMap::<_, Vec<_>>::new());
        for session in self.all_sessions().await {
            let slot = self.slot_of(&session).filter(|slot| slot.dispatcher == keeper.number);
            if let Some(slot) = slot {
                by_tenant.entry(session.tenant).or_default().push(slot);
                leaving.push(session.address);
            }
        }
        for (tenant, to) in by_tenant {
            keeper.dispatcher.do_send(DispatchToSessions { tenant, message: HandOver, to });
        }
        // A session that has handed over its state no longer replies.
        let has_left = async |session: Addr<SessionActor>| {
            while session.send(ListSubscriptions).await.is_ok() {
                sleep(LOOK_AGAIN).await;
            }
        };
        timeout(LAST_SESSION, join_all(leaving.into_iter().map(has_left))).await.ok();
        self.transfers.take_captured()
    }

    /// Takes over the sessions that the last server stored when it stopped. It is called before this server or its
    /// modules write anything.
    pub async fn take_stored_sessions(&self) {
        let taken = self.database.take_stored_sessions(async |stored| {
            let Ok(keeper) = self.keeper().await else { return };
            let mut taken = Vec::with_capacity(stored.len());
            for StoredSession { client, tenant, state, .. } in stored {
                let Some(client) = ClientId::parse(&client).filter(|client| self.has_made(*client)) else {
                    continue;
                };
                let (user, source) = (state.user.as_str().into(), ArrivalSource::Stored(Box::new(state)));
                let arriving = ArrivingSession { client, user, source };
                taken.extend(self.tenant(&tenant).environment.take_session(arriving, &keeper.dispatcher));
            }
            // The sessions reply when they have arrived.
            let count = taken.len();
            join_all(taken.iter().map(|session| session.send(ListSubscriptions))).await;
            if count > 0 {
                tracing::info!(count, "the sessions of the last server continue");
            }
        });
        if let Err(error) = taken.await {
            tracing::warn!(%error, "stored sessions cannot be taken; their clients handshake again");
        }
        // Rights may have been withdrawn while no server was running.
        for (tenant, _) in self.known_tenants() {
            self.end_sessions_without_rights(&tenant, Holders::Everybody).await;
        }
    }

    /// Moves the restored sessions to the threads of connections, which were not running yet when the sessions were
    /// restored. `threads` is the number of those threads.
    pub async fn spread_sessions(self: Arc<Self>, threads: usize) {
        let taken = self.all_sessions().await;
        if taken.is_empty() {
            return;
        }
        while self.session_threads.lock().len() < threads {
            sleep(LOOK_AGAIN).await;
        }
        let threads = self.session_threads.lock().clone();
        self.move_here(taken, &threads);
    }
}
