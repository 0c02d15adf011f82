//! Requests sessions from other servers and threads, and waits for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use platform_model::error::{self, Error};
use platform_model::realtime::session_move::{ServerMessage, SessionState};
use platform_store::realtime::publications::TenantSubscription;
use platform_store::realtime::session_moves::Asked;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::{
    AFTER_ERROR, AGAIN, ASK_AGAIN, Arrival, ArrivalPlace, ArrivalSource, Awaited, Destination, News,
    NotArrived, OwnerElsewhere, OwnerNews, PATIENCE, PATIENCE_AT_STOP, RENEWED, REST_FOLLOWS, Transfers,
};
use crate::hub::Subscriptions;
use crate::session::{ClientId, StartMove};

impl Transfers {
    /// Waits for the state of an arriving session. Everything that is published after that state was complete is
    /// already delivered to the place of the session.
    ///
    /// # Errors
    /// [`NotArrived`].
    pub(crate) async fn fetch(
        self: Arc<Self>,
        awaited: Awaited,
        source: ArrivalSource,
        place: Arc<ArrivalPlace>,
    ) -> Result<Box<SessionState>, NotArrived> {
        match source {
            ArrivalSource::Elsewhere(patience) => self.fetch_elsewhere(awaited, patience, place).await,
            ArrivalSource::Here(session) => {
                let (mut request, own) = (self.expect(&awaited, place), self.messages().server());
                let destination = Destination { server: own, request: request.number };
                session.do_send(StartMove { user: None, destination });
                match request.outcome(PATIENCE_AT_STOP).await {
                    Outcome::Arrived(state) => Ok(state),
                    Outcome::Absent => Err(NotArrived::Ended),
                    Outcome::Moving | Outcome::Interrupted | Outcome::Silent => Err(NotArrived::NotNow),
                }
            }
            ArrivalSource::Stored(state) => {
                let held = self.expect_and_subscribe(&awaited, &place).await;
                let _held = held.ok_or(NotArrived::Ended)?;
                let (begun, of_session, units) = (place.clone(), state.subscriptions.clone(), state.units);
                let begin =
                    move |subscriptions: &mut Subscriptions| begun.begin(subscriptions, of_session, units);
                place.hub.at_this_point(Box::new(begin));
                Ok(state)
            }
        }
    }

    /// Begins to expect a session, and makes sure that this server is subscribed to its tenant. The session is expected
    /// first, so that it ends if the listening connection is lost in between. The subscription is held until the place
    /// of the session is known. `None` if the database does not respond in time: a server that stops offers its
    /// sessions again, maybe to one that is subscribed to their tenant.
    async fn expect_and_subscribe(
        &self,
        awaited: &Awaited,
        place: &Arc<ArrivalPlace>,
    ) -> Option<(Request<'_>, TenantSubscription)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let request = self.expect(awaited, place.clone());
            match self.database.subscribe(&awaited.tenant).await {
                Ok(subscription) => return Some((request, subscription)),
                Err(error) if Instant::now() >= deadline => {
                    tracing::warn!(tenant.id = %awaited.tenant, %error, "cannot subscribe to the tenant of a session");
                    return None;
                }
                Err(_) => sleep(AFTER_ERROR).await,
            }
        }
    }

    /// Requests a session until it arrives. The request is repeated, because the holder has not received it if its
    /// listening connection was lost, and responses are sent only once. If the holder is silent but renews its lease,
    /// the taker waits longer, because the holder is busy or is still subscribing to the tenant.
    ///
    /// # Errors
    /// `Ended` only if the holder says so or is gone.
    async fn fetch_elsewhere(
        &self,
        awaited: Awaited,
        patience: Duration,
        place: Arc<ArrivalPlace>,
    ) -> Result<Box<SessionState>, NotArrived> {
        let birth = self.ids.birth(awaited.client).ok_or(NotArrived::Ended)?;
        let mut deadline = Instant::now() + patience;
        let subscribed = self.expect_and_subscribe(&awaited, &place).await;
        let (mut request, _subscription) = subscribed.ok_or(NotArrived::NotNow)?;
        let (last, mut pause, mut asked) = (deadline + REST_FOLLOWS, ASK_AGAIN, None);
        loop {
            let wanted = self.wanted(&awaited, request.number);
            // The database names the taker of a leaving session before the session stops counting as leaving.
            let was_leaving = self.is_before_point(awaited.client);
            let asking = self.messages().ask(awaited.client.to_string(), birth, wanted, asked.is_some());
            // Tasks that end sessions wait for this session, so it must not wait for a database that does not respond.
            let outcome = match timeout(PATIENCE, asking).await {
                Ok(Ok(Asked::Sent(holder))) => {
                    if asked.replace(holder).is_some_and(|before| before != holder) {
                        deadline = Instant::now() + PATIENCE;
                    }
                    request.outcome(pause).await
                }
                // The database names this server as the holder already, so the point of the move will arrive.
                Ok(Ok(Asked::Own { has_moved: true })) if asked.is_some() => request.outcome(pause).await,
                Ok(Ok(Asked::Own { .. })) if was_leaving => Outcome::Moving,
                Ok(Ok(Asked::Own { .. } | Asked::Nobody)) => return Err(NotArrived::Ended),
                // The database may respond again before the deadline of the client.
                Ok(Err(_)) | Err(_) => request.outcome(AFTER_ERROR).await,
            };
            let is_silent = match outcome {
                Outcome::Arrived(state) => return Ok(state),
                Outcome::Absent => return Err(NotArrived::Ended),
                Outcome::Interrupted => return Err(NotArrived::NotNow),
                Outcome::Moving => {
                    sleep(AGAIN).await;
                    false
                }
                Outcome::Silent => {
                    pause *= 2;
                    true
                }
            };
            if Instant::now() < deadline {
                continue;
            }
            let holder_lives = match asked.filter(|_| is_silent) {
                Some(holder) => self.lives(holder).await,
                None => true,
            };
            if is_silent && asked.is_some() && holder_lives && deadline < last {
                deadline += PATIENCE;
                continue;
            }
            tracing::warn!(holder = ?asked, is_silent, holder_lives, "a session did not arrive in time");
            return Err(if holder_lives { NotArrived::NotNow } else { NotArrived::Ended });
        }
    }

    fn wanted(&self, awaited: &Awaited, request: u64) -> ServerMessage {
        ServerMessage::Wanted {
            client: awaited.client.to_string(),
            tenant: awaited.tenant.to_string(),
            user: awaited.user.to_string(),
            request,
            by: self.messages().server(),
        }
    }

    /// Returns whether a server renews its lease. If the database does not respond, the server counts as alive, because
    /// it cannot renew its lease either.
    async fn lives(&self, server: i64) -> bool {
        self.database.has_renewed_within(server, RENEWED).await.unwrap_or(true)
    }

    /// Returns the owner of a session at another server.
    ///
    /// # Errors
    /// `Unavailable` also if the session is moving or its server does not respond, so that it may still exist (B-16a);
    /// `Database`.
    pub(crate) async fn find_owner(&self, client: ClientId) -> error::Result<Option<OwnerElsewhere>> {
        let Some(birth) = self.ids.birth(client) else { return Ok(None) };
        let deadline = Instant::now() + PATIENCE;
        let mut is_repeated = false;
        while Instant::now() < deadline {
            match self.ask_for_owner(client, birth, is_repeated).await? {
                Some(OwnerNews::Owner(owner)) => return Ok(Some(owner)),
                Some(OwnerNews::Moving) => sleep(AGAIN).await,
                None => return Ok(None),
            }
            is_repeated = true;
        }
        Err(Error::unavailable("the server of the session does not respond"))
    }

    /// Requests the owner of a session once. A server that does not respond may not have received the request, so
    /// silence is treated like a session that is moving.
    async fn ask_for_owner(
        &self,
        client: ClientId,
        birth: i64,
        is_repeated: bool,
    ) -> error::Result<Option<OwnerNews>> {
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (told, news) = oneshot::channel();
        self.owners.lock().insert(request, told);
        let (by, client) = (self.messages().server(), client.to_string());
        let question = ServerMessage::WhoOwns { client: client.clone(), request, by };
        let asked = timeout(PATIENCE, self.messages().ask(client, birth, question, is_repeated)).await;
        let asked = asked.unwrap_or_else(|_| Err(Error::unavailable("the database does not respond")));
        let news = match asked {
            Ok(Asked::Sent(_)) => {
                timeout(ASK_AGAIN, news).await.map_or(Some(OwnerNews::Moving), |news| news.ok())
            }
            Ok(Asked::Own { .. } | Asked::Nobody) | Err(_) => None,
        };
        self.owners.lock().remove(&request);
        asked.map(|_| news).map_err(Error::unavailable)
    }

    fn expect(&self, awaited: &Awaited, place: Arc<ArrivalPlace>) -> Request<'_> {
        let number = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (sender, news) = mpsc::unbounded_channel();
        self.arrivals.lock().insert(number, Arrival { tenant: awaited.tenant.clone(), place, news: sender });
        Request { transfers: self, number, news, has_begun: false, arrived: None }
    }
}

/// An open request for a session. It receives news until it is dropped.
struct Request<'t> {
    transfers: &'t Transfers,
    number: u64,
    news: mpsc::UnboundedReceiver<News>,
    /// Whether the point of the move was reached here.
    has_begun: bool,
    /// The state, if it has arrived before that point.
    arrived: Option<Box<SessionState>>,
}

/// The result of a request for a session.
enum Outcome {
    Arrived(Box<SessionState>),
    /// Another server requested the session first.
    Moving,
    /// The holder does not have the session.
    Absent,
    /// This server may have missed the point of the move, or only a part of the session arrived.
    Interrupted,
    /// No message has arrived in time.
    Silent,
}

impl Request<'_> {
    /// Waits until the session is complete: the holder has sent the state, and the point of the move is reached here.
    /// The state may come first, because a point waits until everything that was published before is delivered.
    async fn outcome(&mut self, patience: Duration) -> Outcome {
        loop {
            let has_part = self.has_begun || self.arrived.is_some();
            match timeout(if has_part { REST_FOLLOWS } else { patience }, self.news.recv()).await {
                Ok(Some(News::Begun)) => self.has_begun = true,
                Ok(Some(News::State(state))) => self.arrived = Some(state),
                Ok(Some(News::Moving)) => return Outcome::Moving,
                Ok(Some(News::Absent)) => return Outcome::Absent,
                Ok(Some(News::Interrupted) | None) => return Outcome::Interrupted,
                Err(_) if !has_part => return Outcome::Silent,
                Err(_) => {
                    tracing::warn!(self.has_begun, "only a part of a session arrived in time");
                    return Outcome::Interrupted;
                }
            }
            if self.has_begun
                && let Some(state) = self.arrived.take()
            {
                return Outcome::Arrived(state);
            }
        }
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.transfers.arrivals.lock().remove(&self.number);
    }
}
