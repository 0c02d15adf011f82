//! The batches in which counts are written. A batch is added exactly once to the counts of other servers and earlier
//! batches: it has a number, and a batch whose commit was not confirmed is sent again under the same number. Counts
//! that are in no batch yet are lost with the process.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use time::OffsetDateTime;
use tokio_postgres::types::ToSql;

use super::counters::{Counted, Counts};
use crate::Database;

const ADD: &str = include_str!("../../../../sql/queries/statistics/add.sql");
const SWEEP_BATCHES: &str = include_str!("../../../../sql/queries/statistics/sweep_batches.sql");
const SWEEP_DAYS: &str = include_str!("../../../../sql/queries/statistics/sweep_days.sql");

/// The seconds for which the number of sessions of another server is used after that server has written it.
pub(super) const FRESH: f64 = 20.0;

/// The counts of a tenant on a day.
#[derive(Debug, Default, Clone, Copy)]
struct OfDay {
    counts: Counts,
    peak: i64,
}

type ByTenant = BTreeMap<(TenantId, i32), OfDay>;

/// The pending batch.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// The counts since the last batch was made.
    collected: ByTenant,
    /// The batch that is being sent, until its commit is confirmed.
    sending: Option<ByTenant>,
    /// The number of that batch, or of the last one if none is being sent.
    number: i64,
    /// The day that the next counts belong to.
    day: Option<i32>,
    /// The peaks that were collected on that day.
    peaks: HashMap<TenantId, i64>,
}

/// The activity of a tenant since the last call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recent {
    /// Requests.
    pub requests: u64,
    /// Created and changed objects of all nouns.
    pub writes: u64,
    /// Notifications that were passed to a transport.
    pub deliveries: u64,
}

/// Returns the day in UTC, counted from 1970.
fn today() -> i32 {
    (OffsetDateTime::now_utc().unix_timestamp() / 86_400) as i32
}

/// Returns the time until the next collection: a pause, but not beyond midnight in UTC, because counts belong to the
/// day on which they are collected.
pub fn until_next(pause: Duration) -> Duration {
    let now = OffsetDateTime::now_utc().unix_timestamp_nanos().unsigned_abs();
    let day = u128::from(86_400_u32) * 1_000_000_000;
    let midnight = Duration::from_nanos((day - now % day) as u64);
    pause.min(midnight)
}

impl Database {
    /// Collects the counts and writes them. Returns the activity of each tenant since the last call, even if the
    /// write failed; its counts are then written by the next call. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`, beside the activity.
    pub async fn write_statistics(&self) -> (HashMap<TenantId, Recent>, Result<()>) {
        let mut batches = self.statistics.batches.lock().await;
        let mut recent = HashMap::new();
        // Counts up to now belong to the day that began before this call.
        let (now, before) = (today(), batches.day);
        let day = before.unwrap_or(now);
        for (tenant, counters) in self.statistics.all() {
            let (counts, peak) = (counters.take(), counters.take_peak());
            batches.collect(&tenant, day, counts, peak);
            let of = |kind: Counted| counts[kind as usize];
            let writes = counts[Counted::WRITES].iter().sum();
            let (requests, deliveries) = (of(Counted::Request), of(Counted::NotificationDelivered));
            recent.insert(tenant, Recent { requests, writes, deliveries });
        }
        if before != Some(now) {
            batches.day = Some(now);
            batches.peaks.clear();
        }
        let written = batches.send(self).await;
        (recent, written)
    }

    /// Deletes statistics that are too old, and the batch numbers of servers that are gone. Two statements.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn sweep_statistics(&self) -> Result<()> {
        let client = self.loader().await?;
        client.execute(SWEEP_BATCHES, &[]).await?;
        client.execute(SWEEP_DAYS, &[]).await?;
        Ok(())
    }
}

impl Batches {
    fn collect(&mut self, tenant: &TenantId, day: i32, counts: Counts, peak: i64) {
        let known = self.peaks.get(tenant).copied().unwrap_or_default();
        let peak = if peak > known { peak } else { 0 };
        if peak > 0 {
            self.peaks.insert(tenant.clone(), peak);
        }
        if peak == 0 && counts == Counts::default() {
            return;
        }
        let of_day = self.collected.entry((tenant.clone(), day)).or_default();
        of_day.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        of_day.peak = of_day.peak.max(peak);
    }

    async fn send(&mut self, database: &Database) -> Result<()> {
        // A batch whose commit was not confirmed comes first and unchanged.
        if self.sending.is_some() {
            self.try_to_send(database).await?;
        }
        if self.collected.is_empty() {
            return Ok(());
        }
        self.number += 1;
        self.sending = Some(std::mem::take(&mut self.collected));
        self.try_to_send(database).await
    }

    async fn try_to_send(&mut self, database: &Database) -> Result<()> {
        let Some(batch) = &self.sending else { return Ok(()) };
        let server = database
            .membership
            .incarnation()
            .ok_or_else(|| Error::unavailable("this server holds no slot yet"))?;
        let tenants: Vec<&str> = batch.keys().map(|(tenant, _)| tenant.as_str()).collect();
        let days: Vec<i32> = batch.keys().map(|(_, day)| *day).collect();
        let text = |of: &OfDay| of.counts.map(|count| count.to_string()).join(" ");
        let counts: Vec<String> = batch.values().map(text).collect();
        let peaks: Vec<i64> = batch.values().map(|of| of.peak).collect();
        let parameters: [&(dyn ToSql + Sync); 7] =
            [&server, &self.number, &tenants, &days, &counts, &FRESH, &peaks];
        database.loader().await?.execute(ADD, &parameters).await?;
        self.sending = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(id: &str) -> TenantId {
        TenantId::parse(id).expect("an id")
    }

    fn events(count: u64) -> Counts {
        let mut counts = Counts::default();
        counts[Counted::EventCreated as usize] = count;
        counts
    }

    #[test]
    fn counts_of_a_day_add_up_and_days_are_separate() {
        let mut batches = Batches::default();
        for (day, count) in [(1, 3), (1, 4), (2, 5)] {
            batches.collect(&tenant("main"), day, events(count), 0);
        }
        batches.collect(&tenant("idle"), 2, Counts::default(), 0);

        let sums = batches
            .collected
            .iter()
            .map(|((of, day), of_day)| (of.as_str(), *day, of_day.counts[Counted::EventCreated as usize]));
        assert_eq!(sums.collect::<Vec<_>>(), [("main", 1, 7), ("main", 2, 5)]);
    }

    #[test]
    fn peak_is_collected_when_it_rises() {
        let mut batches = Batches::default();
        let mut collected = |peak| {
            batches.collect(&tenant("main"), 1, Counts::default(), peak);
            std::mem::take(&mut batches.collected).values().map(|of| of.peak).collect::<Vec<_>>()
        };
        assert_eq!(
            [collected(2), collected(2), collected(1), collected(3)],
            [vec![2], vec![], vec![], vec![3]]
        );
    }

    #[test]
    fn pause_ends_at_midnight() {
        assert!(until_next(Duration::from_secs(200_000)) <= Duration::from_secs(86_400));
        assert_eq!(until_next(Duration::ZERO), Duration::ZERO);
    }
}
