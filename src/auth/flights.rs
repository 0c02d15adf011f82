//! Single flight: of concurrent requests with the same header one verifies it, and the others share the
//! outcome, a caller or an error. So a fleet that shares a wrong password makes one guess instead of
//! thousands.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Caller, Source};
use crate::http::error::Result;

/// The keyed hash of a header.
pub(super) type Key = [u8; 32];

/// The key of a verification: the header, the source if that is being delayed for wrong guesses, and the
/// number of changes at its start.
type FlightKey = (Key, Option<Source>, u64);

type Outcome = Option<Result<Caller>>;

/// The verifications in progress.
#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<FlightKey, watch::Receiver<Outcome>>>);

/// The role of a request in a verification.
pub(super) enum Flight<'f> {
    /// The request leads: it verifies, and reports the outcome.
    Leads(Lead<'f>),
    /// The request follows: another one verifies.
    Follows(watch::Receiver<Outcome>),
}

/// The lead of a verification. If it is dropped without an outcome, one of the followers leads.
pub(super) struct Lead<'f> {
    flights: &'f Flights,
    place: FlightKey,
    outcome: watch::Sender<Outcome>,
}

impl Flights {
    pub(super) fn join(&self, place: FlightKey) -> Flight<'_> {
        let mut flights = self.0.lock();
        if let Some(flight) = flights.get(&place) {
            return Flight::Follows(flight.clone());
        }
        let (outcome, followers) = watch::channel(None);
        flights.insert(place, followers);
        Flight::Leads(Lead { flights: self, place, outcome })
    }
}

impl Lead<'_> {
    /// Sends the outcome to all followers.
    pub(super) fn land(self, outcome: &Result<Caller>) {
        self.outcome.send_replace(Some(outcome.clone()));
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.flights.0.lock().remove(&self.place);
    }
}

/// Waits for the outcome of the leader; `None` when it gave up because its client disconnected.
pub(super) async fn landed(mut flight: watch::Receiver<Outcome>) -> Outcome {
    flight.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone())
}
