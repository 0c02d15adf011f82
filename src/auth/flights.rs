//! Single flight: of many requests with one header, one verifies and the others take what it finds out, be it a caller
//! or a refusal. A fleet that shares a wrong password makes one guess, not thousands.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Caller, Source};
use crate::http::error::Result;

/// What stands for a header.
pub(super) type Key = [u8; 32];

/// What is verified; for whom, when that source must wait for its guesses; and how many changes there had been when it was begun.
type Place = (Key, Option<Source>, u64);

type Outcome = Option<Result<Caller>>;

/// The verifications under way.
#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<Place, watch::Receiver<Outcome>>>);

/// What to do.
pub(super) enum Flight<'f> {
    /// Nobody verifies this yet: the caller does, and says what came of it.
    Leads(Lead<'f>),
    /// Somebody does.
    Follows(watch::Receiver<Outcome>),
}

/// The right to verify a header. Dropped without an outcome, one of the followers leads.
pub(super) struct Lead<'f> {
    flights: &'f Flights,
    place: Place,
    outcome: watch::Sender<Outcome>,
}

impl Flights {
    pub(super) fn join(&self, place: Place) -> Flight<'_> {
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
    /// Tells everybody who waits.
    pub(super) fn land(self, outcome: &Result<Caller>) {
        self.outcome.send_replace(Some(outcome.clone()));
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.flights.0.lock().remove(&self.place);
    }
}

/// What the leader found out; `None` when it gave up, because its client went away.
pub(super) async fn landed(mut flight: watch::Receiver<Outcome>) -> Outcome {
    flight.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone())
}
