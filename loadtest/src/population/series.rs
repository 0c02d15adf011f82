//! Counts the events of each second, for the time series of the report.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The events since the last call of [`Series::take`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Second {
    /// The microseconds from the due time to the delivery of each notification.
    pub(crate) notified: Vec<u32>,
    /// The microseconds from the due time to the response of each accepted post.
    pub(crate) posted: Vec<u32>,
    /// The posts that were not accepted.
    pub(crate) failed: u64,
    /// The number of times that a client continued its session over a new connection, or opened a new session.
    pub(crate) reconnects: u64,
}

/// The events of a run, taken once a second.
#[derive(Debug, Default)]
pub(crate) struct Series(Mutex<Second>);

impl Series {
    /// Records a notification.
    pub(crate) fn notified(&self, micros: u64) {
        self.0.lock().notified.push(narrow(micros));
    }

    /// Records an accepted post.
    pub(crate) fn posted(&self, micros: u64) {
        self.0.lock().posted.push(narrow(micros));
    }

    /// Records a post that was not accepted.
    pub(crate) fn failed(&self) {
        self.0.lock().failed += 1;
    }

    /// Records a reconnect.
    pub(crate) fn reconnected(&self) {
        self.0.lock().reconnects += 1;
    }

    /// Adds the events of another generator.
    pub(crate) fn add(&self, other: Second) {
        let mut current = self.0.lock();
        current.notified.extend(other.notified);
        current.posted.extend(other.posted);
        current.failed += other.failed;
        current.reconnects += other.reconnects;
    }

    /// Takes the events since the last time, with the latencies in ascending order.
    pub(crate) fn take(&self) -> Second {
        let mut second = std::mem::take(&mut *self.0.lock());
        second.notified.sort_unstable();
        second.posted.sort_unstable();
        second
    }
}

fn narrow(micros: u64) -> u32 {
    u32::try_from(micros).unwrap_or(u32::MAX)
}

/// Returns a quantile of latencies in ascending order, in milliseconds, or `None` if there are none.
pub(crate) fn quantile(sorted: &[u32], quantile: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * quantile).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).map(|micros| f64::from(*micros) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_once_and_latencies_in_order() {
        let series = Series::default();
        [3000, 1000, 2000].into_iter().for_each(|micros| series.notified(micros));
        series.failed();
        let second = series.take();
        assert_eq!((second.notified.as_slice(), second.failed), (&[1000, 2000, 3000][..], 1));
        assert_eq!(
            [0.0, 0.5, 0.99].map(|q| quantile(&second.notified, q)),
            [Some(1.0), Some(2.0), Some(3.0)]
        );
        assert_eq!(quantile(&series.take().notified, 0.5), None);
    }
}
