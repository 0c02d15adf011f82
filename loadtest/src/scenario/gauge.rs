//! The server's own count of held polls.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::report::Fact;
use crate::target::Target;
use crate::target::connection::Connection;

const GAUGE: &str = "platform_long_polls_parked";
/// The interval of the samples. Rendering all metrics costs CPU time that is not to be measured.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The gauge of held polls, sampled repeatedly.
#[derive(Debug)]
pub(super) struct ParkedPolls {
    connection: Connection,
    request: Vec<u8>,
    /// The first sample.
    base: u64,
    looks: Vec<Sample>,
}

/// A sample: the number of held polls, and the time since the start.
#[derive(Debug, Clone, Copy)]
struct Sample {
    after: Duration,
    parked: u64,
}

impl ParkedPolls {
    /// Takes the first sample.
    ///
    /// # Errors
    /// The server does not expose its metrics.
    pub(super) async fn new(target: &Target) -> Result<Self, Error> {
        let (connection, request) = (target.connect().await?, target.get("/metrics"));
        let mut gauge = Self { connection, request, base: 0, looks: Vec::new() };
        gauge.base = gauge.look().await?;
        Ok(gauge)
    }

    /// Returns the first sample.
    pub(super) fn at_first(&self) -> u64 {
        self.base
    }

    /// Waits until no more polls are held than at first, at most `limit`, and drops all samples.
    pub(super) async fn emptied(&mut self, limit: Duration) {
        let started = Instant::now();
        while started.elapsed() < limit && self.look().await.is_ok_and(|parked| parked > self.base) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        self.looks.clear();
    }

    /// Takes samples until `count` more polls are held than at first, at most `limit`.
    pub(super) async fn watch(&mut self, count: usize, limit: Duration) {
        let started = Instant::now();
        while started.elapsed() < limit {
            // A failed sample is skipped.
            if let Ok(parked) = self.look().await {
                let parked = parked.saturating_sub(self.base);
                self.looks.push(Sample { after: started.elapsed(), parked });
                if parked >= count as u64 {
                    return;
                }
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Returns when half of the polls, most of them and all were held; all must be held within `limit`.
    pub(super) fn facts(&self, count: usize, limit: Duration) -> Vec<Fact> {
        facts(&self.looks, count, limit)
    }

    async fn look(&mut self) -> Result<u64, Error> {
        let metrics = self.connection.body_of("reading the metrics", &self.request).await?;
        Ok(parked(std::str::from_utf8(metrics).unwrap_or_default()))
    }
}

fn facts(looks: &[Sample], count: usize, limit: Duration) -> Vec<Fact> {
    let when = |share: usize| {
        let enough = (count * share).div_ceil(100) as u64;
        looks.iter().find(|look| look.parked >= enough).map(|look| look.after)
    };
    let text =
        |when: Option<Duration>| when.map_or("never".to_owned(), |at| format!("{:.2} s", at.as_secs_f64()));
    vec![
        Fact::any("50 % held after", text(when(50))),
        Fact::any("99 % held after", text(when(99))),
        Fact {
            what: "all held after",
            found: text(when(100)),
            expected: format!("at most {} s", limit.as_secs()),
            holds: when(100).is_some_and(|at| at <= limit),
        },
    ]
}

/// Returns the gauge from the metrics; 0 if it is missing, because no poll was ever held.
fn parked(metrics: &str) -> u64 {
    let mut values = metrics.lines().filter_map(|line| line.strip_prefix(GAUGE)?.trim().parse::<f64>().ok());
    values.next().unwrap_or_default() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauge_is_found_among_the_metrics() {
        let metrics = "# TYPE platform_long_polls_parked gauge\nplatform_long_polls_parked_total \
            9\nplatform_long_polls_parked 17\n";
        assert_eq!(parked(metrics), 17);
        assert_eq!(parked("other 1\n"), 0);
    }

    #[test]
    fn times_at_which_shares_were_held_are_reported() {
        let facts_of = |looks: &[(u64, u64)]| {
            let look = |&(seconds, parked)| Sample { after: Duration::from_secs(seconds), parked };
            facts(&looks.iter().map(look).collect::<Vec<_>>(), 10, Duration::from_secs(20))
        };
        let all = facts_of(&[(1, 4), (2, 7), (3, 10)]);
        assert_eq!(all.iter().map(|fact| &*fact.found).collect::<Vec<_>>(), ["2.00 s", "3.00 s", "3.00 s"]);
        assert!(all.iter().all(|fact| fact.holds));
        assert!(!facts_of(&[(1, 9)])[2].holds);
        assert!(!facts_of(&[(21, 10)])[2].holds);
    }
}
