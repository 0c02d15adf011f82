//! Rate limits per source and minute.
//!
//! A source has a bucket that holds a minute's worth of requests and refills continuously, so a fleet behind
//! one address may send a burst and then an even rate. The only state of a source is the time when its bucket
//! is full again; if there are too many sources, the least recent ones are forgotten, as if they had been
//! idle.

use parking_lot::Mutex;
use platform_model::rate::{Nanos, Pace, now};
use quick_cache::sync::Cache;

use super::throttle::RequestSource;
use crate::http::error::{ApiError, Result};

/// The number of sources with state.
const REMEMBERED: usize = 100_000;

/// A limit on the requests of each source.
pub struct RateLimit {
    /// The kind of requests, as the error names it.
    of: &'static str,
    pace: Pace,
    full_at: Cache<RequestSource, Nanos>,
    /// Serializes counting, so that concurrent requests are all counted.
    counting: Mutex<()>,
}

impl RateLimit {
    /// Creates a limit of `count` requests a minute; `of` names them, e.g. "requests for a token".
    pub fn per_minute(of: &'static str, count: u32) -> Self {
        Self { of, pace: Pace::per_minute(count), full_at: Cache::new(REMEMBERED), counting: Mutex::new(()) }
    }

    /// Admits a request of this source.
    ///
    /// # Errors
    /// `TooManyRequests` when its bucket is empty; a rejected request takes nothing out of it.
    pub fn admit(&self, source: RequestSource) -> Result<()> {
        self.admit_at(source, now())
    }

    fn admit_at(&self, source: RequestSource, now: Nanos) -> Result<()> {
        let _counting = self.counting.lock();
        let full_at = self.pace.admit(self.full_at.get(&source).unwrap_or(now), now, 1).map_err(|wait| {
            ApiError::TooManyRequests { of: self.of, retry_after: wait.as_secs_f64().ceil() as u64 }
        })?;
        self.full_at.insert(source, full_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn source(address: &str) -> RequestSource {
        RequestSource::of(address.parse().expect("an address"))
    }

    /// Returns how many of a thousand simultaneous requests are admitted.
    fn burst(limit: &RateLimit, source: RequestSource, now: Nanos) -> usize {
        (0..1000).filter(|_| limit.admit_at(source, now).is_ok()).count()
    }

    #[test]
    fn bucket_holds_a_minutes_worth_and_fills_all_the_time() {
        let (limit, now) = (RateLimit::per_minute("tries", 60), now());
        let one = source("192.0.2.1");

        assert_eq!(burst(&limit, one, now), 60);
        assert_eq!(burst(&limit, one, now + 10 * SECOND), 10);
        assert_eq!(burst(&limit, one, now + 3600 * SECOND), 60);
    }

    #[test]
    fn sources_do_not_share_and_a_network_of_ipv6_is_one() {
        let (limit, now) = (RateLimit::per_minute("tries", 3), now());

        assert_eq!(burst(&limit, source("192.0.2.1"), now), 3);
        assert_eq!(burst(&limit, source("192.0.2.2"), now), 3);
        assert_eq!(burst(&limit, source("2001:db8::1"), now), 3);
        assert_eq!(burst(&limit, source("2001:db8::2"), now), 0);
    }

    #[test]
    fn refusal_says_when_there_is_room_again() {
        let (limit, now) = (RateLimit::per_minute("tries", 6), now());
        let one = source("192.0.2.1");
        burst(&limit, one, now);

        let refused = limit.admit_at(one, now + 3 * SECOND);

        let Err(ApiError::TooManyRequests { of: "tries", retry_after }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(retry_after, 7);
        assert!(limit.admit_at(one, now + 10 * SECOND).is_ok());
    }
}
