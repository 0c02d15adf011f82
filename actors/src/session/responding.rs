//! Responses to connects take back a temporary interval (B-09a) and have numbers in a session with the acknowledgement
//! extension (B-22b).

use std::time::Duration;

use platform_model::realtime::bayeux::{Advice, error};
use platform_store::tenancy::tenant_limits::Counted;
use tokio::time::Instant;

use super::connect::Parked;
use super::{ConnectResponse, Delivery, SessionActor};

/// The time that a client waits if its connect is one more than its tenant may hold.
const BACK_OFF: Duration = Duration::from_secs(5);

/// Whether the client pauses before its connects because of an earlier advice. Clients keep the last interval that they
/// were advised, so every interval above zero has to be taken back (B-09a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdvisedInterval {
    /// The client does not pause.
    None,
    /// The client pauses.
    Temporary,
    /// A response took the interval back. It counts again if the transport could not write that response.
    TakenBack,
}

impl AdvisedInterval {
    /// Returns the state after a response that the client reads.
    fn after_response(self) -> Self {
        if self == Self::Temporary { Self::TakenBack } else { self }
    }

    /// Returns the state after a response that was not written.
    pub(super) fn after_loss(self) -> Self {
        if self == Self::TakenBack { Self::Temporary } else { self }
    }
}

impl ConnectResponse {
    /// The response to a connect that is served elsewhere by now. It repeats the number of the last response that the
    /// client has (B-22b).
    pub fn empty(acknowledged: Option<i64>) -> Self {
        Self { delivery: Delivery { batch: acknowledged, ..Delivery::default() }, ..Self::default() }
    }

    /// The response for a session that exists but cannot be used at the moment (B-16a).
    pub fn not_now(acknowledged: Option<i64>) -> Self {
        Self { error: Some(error::NOT_NOW.into()), advice: Some(Advice::RETRY), ..Self::empty(acknowledged) }
    }

    /// The response for a session that does not exist; it advises a new handshake (B-14).
    pub fn unknown_client() -> Self {
        Self { error: Some(error::UNKNOWN_CLIENT.into()), advice: Some(Advice::HANDSHAKE), ..Self::default() }
    }
}

impl SessionActor {
    /// Sends the response to a connect whose client reads it.
    ///
    /// # Errors
    /// The response, if the transport no longer waits for it.
    pub(super) fn respond(
        &mut self,
        parked: Parked,
        response: ConnectResponse,
    ) -> Result<(), Box<ConnectResponse>> {
        self.respond_perhaps_unread(parked, response)?;
        self.advised_interval = self.advised_interval.after_response();
        Ok(())
    }

    /// Sends the response to a connect. Its client may not read it, because it uses another connection already; so an
    /// interval is taken back here and again in the next response.
    ///
    /// # Errors
    /// The response, if the transport no longer waits for it.
    pub(super) fn respond_perhaps_unread(
        &mut self,
        parked: Parked,
        mut response: ConnectResponse,
    ) -> Result<(), Box<ConnectResponse>> {
        let is_temporary = response.advice.is_some_and(|advice| advice.interval > Some(Duration::ZERO));
        if !is_temporary && self.advised_interval == AdvisedInterval::Temporary {
            let hold = self.next_hold();
            response.advice.get_or_insert_with(|| Advice::retry(Duration::ZERO, hold));
            response.restores_interval = true;
        }
        // A response without notifications repeats the last number: it acknowledges nothing that the client may not
        // have.
        response.delivery.batch = response.delivery.batch.or_else(|| self.queue.last_batch());
        parked.reply_to.send(response).map_err(Box::new)?;
        if is_temporary {
            self.advised_interval = AdvisedInterval::Temporary;
        }
        Ok(())
    }

    /// Returns how long the next connect will be held (B-08a).
    fn next_hold(&self) -> Duration {
        let longest = self.environment.limits.connect_timeout;
        let now = std::time::Instant::now();
        let remaining = self.expires.as_deref().map(|expires| expires.saturating_duration_since(now));
        remaining.map_or(longest, |remaining| longest.min(remaining))
    }

    /// Responds to a long poll that would be one more than the tenant may hold (Z-20). The session stays, so its client
    /// receives its notifications later.
    pub(super) fn answer_beyond_quota(&mut self) {
        if !self.parked.as_ref().is_some_and(Parked::counts) {
            return;
        }
        let Err(refused) = self.environment.of_tenant.check(Counted::HeldPolls) else { return };
        let interval = BACK_OFF.min(self.interval / 2);
        let advice = Some(Advice::retry(interval, self.environment.limits.connect_timeout));
        let error = Some(format!("403::{refused}").into());
        self.answer_parked(ConnectResponse { advice, error, ..ConnectResponse::default() });
        self.due = Instant::now() + self.interval;
    }
}
