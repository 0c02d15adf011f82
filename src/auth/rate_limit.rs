//! So many requests a minute and no more, from each source.
//!
//! A source has a bucket that holds a minute's worth and fills all the time, so a fleet behind one address may come at once
//! and then goes on evenly. All that is remembered of a source is when its bucket is full again; of very many sources those
//! that have not come for the longest are forgotten, as if they had been away.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use quick_cache::sync::Cache;

use super::throttle::Source;
use crate::http::error::{ApiError, Result};

/// Sources that are remembered.
const REMEMBERED: usize = 100_000;
const MINUTE: Duration = Duration::from_secs(60);

/// A limit on the requests of each source.
pub struct RateLimit {
    /// What is limited, in the words of the refusal.
    of: &'static str,
    /// How long a bucket takes to be filled with one request more.
    each: Duration,
    full_at: Cache<Source, Instant>,
    /// Two at once must count as two.
    counting: Mutex<()>,
}

impl RateLimit {
    /// Lets so many through in a minute; `of` says what they are, e.g. "requests for a token".
    pub fn per_minute(of: &'static str, count: u32) -> Self {
        Self { of, each: MINUTE / count.max(1), full_at: Cache::new(REMEMBERED), counting: Mutex::new(()) }
    }

    /// Lets a request of this source through.
    ///
    /// # Errors
    /// `TooManyRequests` when its bucket is empty; such a request takes nothing out of it.
    pub fn admit(&self, source: Source) -> Result<()> {
        self.admit_at(source, Instant::now())
    }

    fn admit_at(&self, source: Source, now: Instant) -> Result<()> {
        let _counting = self.counting.lock();
        let full_at = self.full_at.get(&source).map_or(now, |at| at.max(now)) + self.each;
        match (full_at - now).checked_sub(MINUTE).filter(|wait| !wait.is_zero()) {
            None => {
                self.full_at.insert(source, full_at);
                Ok(())
            }
            Some(wait) => {
                Err(ApiError::TooManyRequests { of: self.of, retry_after: wait.as_secs_f64().ceil() as u64 })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(address: &str) -> Source {
        Source::of(address.parse().expect("an address"))
    }

    /// How many of a thousand requests at one moment are let through.
    fn burst(limit: &RateLimit, source: Source, now: Instant) -> usize {
        (0..1000).filter(|_| limit.admit_at(source, now).is_ok()).count()
    }

    #[test]
    fn bucket_holds_a_minutes_worth_and_fills_all_the_time() {
        let (limit, now) = (RateLimit::per_minute("tries", 60), Instant::now());
        let one = source("192.0.2.1");

        assert_eq!(burst(&limit, one, now), 60);
        assert_eq!(burst(&limit, one, now + Duration::from_secs(10)), 10);
        assert_eq!(burst(&limit, one, now + Duration::from_secs(3600)), 60);
    }

    #[test]
    fn sources_do_not_share_and_a_network_of_ipv6_is_one() {
        let (limit, now) = (RateLimit::per_minute("tries", 3), Instant::now());

        assert_eq!(burst(&limit, source("192.0.2.1"), now), 3);
        assert_eq!(burst(&limit, source("192.0.2.2"), now), 3);
        assert_eq!(burst(&limit, source("2001:db8::1"), now), 3);
        assert_eq!(burst(&limit, source("2001:db8::2"), now), 0);
    }

    #[test]
    fn refusal_says_when_there_is_room_again() {
        let (limit, now) = (RateLimit::per_minute("tries", 6), Instant::now());
        let one = source("192.0.2.1");
        burst(&limit, one, now);

        let refused = limit.admit_at(one, now + Duration::from_secs(3));

        let Err(ApiError::TooManyRequests { of: "tries", retry_after }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(retry_after, 7);
        assert!(limit.admit_at(one, now + Duration::from_secs(10)).is_ok());
    }
}
