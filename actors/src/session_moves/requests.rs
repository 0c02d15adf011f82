//! How the taker of a session asks for it, and what it waits for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use platform_model::error::Result;
use platform_model::session_move::{ServerMessage, SessionState};
use platform_store::session_moves::Asked;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    AFTER_ERROR, AGAIN, Arrival, Awaited, Destination, News, OwnerElsewhere, OwnerNews, PATIENCE,
    PATIENCE_AT_STOP, Place, RENEWED, REST_FOLLOWS, Source, Transfers,
};
use crate::hub::Subscriptions;
use crate::session::{ClientId, StartMove};

impl Transfers {
    /// Waits for the state of an arriving session. Everything that is published for it later than its state is
    /// delivered to its place already. Returns `None` when the session does not come.
    pub(crate) async fn fetch(
        self: Arc<Self>,
        awaited: Awaited,
        source: Source,
        place: Arc<Place>,
    ) -> Option<Box<SessionState>> {
        // It is held until the place of the session is known, so that what is published is heard.
        let hearing = match source {
            Source::Here(_) => Ok(None),
            Source::Stored(_) | Source::Elsewhere(_) => self.database.hear(&awaited.tenant).await.map(Some),
        };
        let _hearing = match hearing {
            Ok(hearing) => hearing,
            Err(error) => {
                tracing::warn!(tenant.id = %awaited.tenant, %error, "a session cannot be taken over");
                return None;
            }
        };
        match source {
            Source::Stored(state) => {
                let (begun, patterns, units) = (place.clone(), state.patterns.clone(), state.units);
                let begin =
                    move |subscriptions: &mut Subscriptions| begun.begin(subscriptions, patterns, units);
                place.hub.at_this_point(Box::new(begin));
                Some(state)
            }
            Source::Here(session) => {
                let (request, own) = (self.expect(place), self.messages().server());
                let destination = Destination { server: own, request: request.number };
                session.do_send(StartMove { user: None, destination });
                match request.outcome(Instant::now() + PATIENCE_AT_STOP, own).await {
                    Outcome::Arrived(state) => Some(state),
                    Outcome::Moving | Outcome::Absent | Outcome::Silent => None,
                }
            }
            Source::Elsewhere(patience) => self.fetch_elsewhere(awaited, patience, place).await,
        }
    }

    async fn fetch_elsewhere(
        &self,
        awaited: Awaited,
        patience: Duration,
        place: Arc<Place>,
    ) -> Option<Box<SessionState>> {
        let (mut deadline, birth) = (Instant::now() + patience, self.ids.birth(awaited.client)?);
        let mut silent = None;
        loop {
            let request = self.expect(place.clone());
            let wanted = ServerMessage::Wanted {
                client: awaited.client.to_string(),
                tenant: awaited.tenant.to_string(),
                user: awaited.user.to_string(),
                request: request.number,
                by: self.messages().server(),
            };
            // A session that is leaving is noted at its taker before it is no longer leaving.
            let was_leaving = self.is_before_point(awaited.client);
            match self.messages().ask(awaited.client.to_string(), birth, wanted).await {
                Ok(Asked::Sent(holder)) => match request.outcome(deadline, holder).await {
                    Outcome::Arrived(state) => return Some(state),
                    Outcome::Moving => {}
                    // It may have handed the session to another server and ended before it could say so.
                    Outcome::Silent if silent != Some(holder) => {
                        (silent, deadline) = (Some(holder), Instant::now() + PATIENCE);
                    }
                    Outcome::Silent | Outcome::Absent => return None,
                },
                Ok(Asked::Own) if was_leaving => {}
                Ok(Asked::Own | Asked::Nobody) => return None,
                // The database may respond again before the client gives up.
                Err(_) => sleep(AFTER_ERROR).await,
            }
            if Instant::now() >= deadline {
                return None;
            }
            sleep(AGAIN).await;
        }
    }

    /// Returns the owner of a session at another server.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn find_owner(&self, client: ClientId) -> Result<Option<OwnerElsewhere>> {
        let Some(birth) = self.ids.birth(client) else { return Ok(None) };
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.ask_for_owner(client, birth, deadline).await? {
                Some(OwnerNews::Owner(owner)) => return Ok(Some(owner)),
                Some(OwnerNews::Moving) => sleep(AGAIN).await,
                None => return Ok(None),
            }
        }
    }

    async fn ask_for_owner(
        &self,
        client: ClientId,
        birth: i64,
        deadline: Instant,
    ) -> Result<Option<OwnerNews>> {
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (told, news) = oneshot::channel();
        self.owners.lock().insert(request, told);
        let (by, client) = (self.messages().server(), client.to_string());
        let question = ServerMessage::WhoOwns { client: client.clone(), request, by };
        let asked = self.messages().ask(client, birth, question).await;
        let news = match asked {
            Ok(Asked::Sent(_)) => timeout_at(deadline, news).await.ok().and_then(|news| news.ok()),
            Ok(Asked::Own | Asked::Nobody) | Err(_) => None,
        };
        self.owners.lock().remove(&request);
        asked.map(|_| news)
    }

    fn expect(&self, place: Arc<Place>) -> Request<'_> {
        let number = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (sender, news) = mpsc::unbounded_channel();
        self.arrivals.lock().insert(number, Arrival { place, news: sender });
        Request { transfers: self, number, news }
    }
}

/// A request for a session. News of it are received until this is dropped.
struct Request<'t> {
    transfers: &'t Transfers,
    number: u64,
    news: mpsc::UnboundedReceiver<News>,
}

/// What became of a request for a session.
enum Outcome {
    Arrived(Box<SessionState>),
    /// Somebody else asked for it before.
    Moving,
    /// The session is not there, or does not arrive as a whole.
    Absent,
    /// The server that was asked does not respond, nor does it renew its lease.
    Silent,
}

impl Request<'_> {
    /// Waits until the session is here: the holder has sent the state, and the point of the move is reached here. The
    /// state may come first, because a point waits until everything that was published before is delivered. A holder
    /// that is silent, but renews its lease, is waited for longer: it is busy, or waits until it hears the tenant.
    async fn outcome(mut self, deadline: Instant, holder: i64) -> Outcome {
        let (mut has_begun, mut arrived, mut deadline) = (false, None, deadline);
        let last = deadline + REST_FOLLOWS;
        loop {
            match timeout_at(deadline, self.news.recv()).await {
                Ok(Some(News::Begun)) => has_begun = true,
                Ok(Some(News::State(state))) => arrived = Some(state),
                Ok(Some(News::Moving)) => return Outcome::Moving,
                Ok(Some(News::Absent) | None) => return Outcome::Absent,
                Err(_) if !has_begun && arrived.is_none() && deadline < last && self.lives(holder).await => {
                    deadline += PATIENCE;
                    continue;
                }
                Err(_) => {
                    tracing::warn!(
                        holder,
                        has_begun,
                        has_state = arrived.is_some(),
                        "a session does not arrive in time"
                    );
                    let is_silent = !has_begun && arrived.is_none();
                    return if is_silent { Outcome::Silent } else { Outcome::Absent };
                }
            }
            match arrived.take() {
                Some(state) if has_begun => return Outcome::Arrived(state),
                waiting => arrived = waiting,
            }
            deadline = Instant::now() + REST_FOLLOWS;
        }
    }

    /// Returns whether a server renews its lease. If the database does not respond, the server counts as alive, because it
    /// cannot renew either.
    async fn lives(&self, server: i64) -> bool {
        self.transfers.database.has_renewed_within(server, RENEWED).await.unwrap_or(true)
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.transfers.arrivals.lock().remove(&self.number);
    }
}
