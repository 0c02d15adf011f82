//! The state that all parts of a running demo share.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use platform_front::secrets::password;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::chance::Chance;
use super::plan::Plan;
use super::wire::Wire;
use crate::client::failure::{Code, Failure};

/// The name of the tenant of every demo.
pub(crate) const TENANT: &str = "demo";

/// A running demo at a server.
pub(super) struct World {
    pub(super) url: String,
    pub(super) seed: u64,
    pub(super) fleet: Vec<Plan>,
    /// The id of each device's managed object, once it is known.
    ids: Vec<OnceLock<String>>,
    /// The password of each device. Every start of a demo generates new ones.
    pub(super) passwords: Vec<String>,
    under_way: Mutex<HashSet<String>>,
}

impl World {
    pub(super) fn new(url: String, seed: u64, fleet: Vec<Plan>) -> Self {
        let ids = fleet.iter().map(|_| OnceLock::new()).collect();
        let passwords = fleet.iter().map(|_| password::generate()).collect();
        Self { url, seed, fleet, ids, passwords, under_way: Mutex::default() }
    }

    /// Returns the random numbers of a device.
    pub(super) fn chance(&self, number: usize) -> Chance {
        Chance::of(self.seed, number as u64 + 1)
    }

    /// Returns the seed of the measured values of a device.
    pub(super) fn shape(&self, number: usize) -> u64 {
        self.chance(number).number()
    }

    /// Returns a client that acts as the user of a device.
    pub(super) fn wire(&self, number: usize) -> Result<Wire, Failure> {
        let user = format!("{TENANT}/device_{}", self.fleet[number].serial);
        Wire::of(&self.url, &user, &self.passwords[number])
    }

    pub(super) fn id(&self, number: usize) -> Option<&str> {
        self.ids[number].get().map(String::as_str)
    }

    pub(super) fn set_id(&self, number: usize, id: &str) {
        // A device keeps its managed object as long as it exists, so a second assignment has the same value.
        self.ids[number].set(id.to_owned()).ok();
    }

    /// Marks an operation as being carried out; returns false if it was marked before.
    pub(super) fn begin(&self, operation: &str) -> bool {
        self.under_way.lock().insert(operation.to_owned())
    }

    pub(super) fn end(&self, operation: &str) {
        self.under_way.lock().remove(operation);
    }

    pub(super) fn is_under_way(&self, operation: &str) -> bool {
        self.under_way.lock().contains(operation)
    }

    /// Logs a failed request of the fleet. Its sender tries again later.
    pub(super) fn note(&self, failure: &Failure) {
        // While the server restarts, the requests of all devices fail.
        if failure.code() == Code::Unavailable {
            tracing::debug!(%failure, "a simulated device cannot reach the server");
        } else {
            tracing::warn!(%failure, "a request of the simulated fleet was rejected");
        }
    }
}

/// Returns the seconds since 1970.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Formats a time as the API does: in UTC, with milliseconds.
pub(super) fn timestamp(seconds: f64) -> String {
    let milliseconds = (seconds * 1000.0) as i128;
    let time = OffsetDateTime::from_unix_timestamp_nanos(milliseconds * 1_000_000);
    time.ok().and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        assert_eq!(timestamp(1_790_000_000.25), "2026-09-21T14:13:20.25Z");
    }
}
