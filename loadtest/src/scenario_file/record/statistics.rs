//! Reads the statistics of a tenant: what it created in a day, its devices and sessions, and the size of its objects.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use time::{Date, OffsetDateTime};

use super::{Counts, KINDS};
use crate::error::Error;
use crate::target::Target;

const DAY_SECONDS: f64 = 86_400.0;

/// The figures of a day of a tenant.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Statistics {
    /// The alarms, events and measurements that were created.
    pub(super) created: [u64; 3],
    pub(super) devices: u64,
    pub(super) sessions: u64,
    /// The mean bytes of an alarm, an event and a measurement in the database, with indexes, if there are any.
    pub(super) sizes: [Option<u64>; 3],
    /// The seconds of the day that have passed.
    pub(super) seconds: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Days {
    usage_statistics: Vec<Day>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Day {
    alarms_created_count: u64,
    events_created_count: u64,
    measurements_created_count: u64,
    device_count: u64,
    sessions_peak_count: u64,
}

#[derive(Debug, Deserialize)]
struct Storage {
    #[serde(default)]
    tables: Vec<Table>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    noun: String,
    count: u64,
    storage_size: u64,
}

impl Statistics {
    /// Reads the statistics of a day.
    ///
    /// # Errors
    /// The server rejects a request, or its response is not understood.
    pub(super) async fn read(target: &Target, day: Date) -> Result<Self, Error> {
        let path = format!("/tenant/statistics?dateFrom={day}&dateTo={day}&pageSize=1");
        let days: Days = read(target, &path).await?;
        let storage: Storage = read(target, "/tenant/statistics/storage").await?;
        let midnight = day.midnight().assume_utc();
        let passed = (OffsetDateTime::now_utc() - midnight).as_seconds_f64();
        let seconds = passed.clamp(1.0, DAY_SECONDS);
        Ok(Self::of(days.usage_statistics.first(), &storage.tables, seconds))
    }

    fn of(day: Option<&Day>, tables: &[Table], seconds: f64) -> Self {
        let size = |noun: &str| {
            let of_noun = || tables.iter().filter(|table| table.noun == noun);
            let count: u64 = of_noun().map(|table| table.count).sum();
            (count > 0).then(|| of_noun().map(|table| table.storage_size).sum::<u64>() / count)
        };
        let created = day
            .map(|day| [day.alarms_created_count, day.events_created_count, day.measurements_created_count]);
        Self {
            created: created.unwrap_or_default(),
            devices: day.map_or(0, |day| day.device_count),
            sessions: day.map_or(0, |day| day.sessions_peak_count),
            sizes: ["alarms", "events", "measurements"].map(size),
            seconds,
        }
    }

    /// Returns what was created as counts of requests; reads are not known.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = [0; KINDS];
        counts[..3].copy_from_slice(&self.created);
        counts
    }
}

async fn read<T: DeserializeOwned>(target: &Target, path: &str) -> Result<T, Error> {
    target.connect().await?.json(200, "reading the statistics", &target.get(path)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_means_over_all_tables_of_a_noun() {
        let table = |noun: &str, count, storage_size| Table { noun: noun.to_owned(), count, storage_size };
        let tables = [table("events", 10, 4000), table("events", 30, 4000), table("alarms", 0, 8192)];
        let statistics = Statistics::of(None, &tables, 60.0);
        assert_eq!(statistics.sizes, [None, Some(200), None]);
        assert_eq!(statistics.counts(), [0; KINDS]);
    }
}
