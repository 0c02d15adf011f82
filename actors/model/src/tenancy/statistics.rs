//! The statistics of a tenant: counts of each day, measurements, and its current activity (Z-07).

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use time::{Date, Duration, Month};

use crate::id::TenantId;
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// A day in UTC, counted from 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub i32);

impl Day {
    /// Returns the day of an instant in UTC.
    pub fn of(time: Timestamp) -> Self {
        Self(time.instant().unix_timestamp().div_euclid(86_400) as i32)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = Date::from_calendar_date(1970, Month::January, 1).unwrap_or(Date::MIN);
        let (year, month, day) = first.saturating_add(Duration::days(self.0.into())).to_calendar_date();
        write!(f, "{year:04}-{:02}-{day:02}", u8::from(month))
    }
}

/// The counts of a tenant.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct UsageCounts {
    /// Requests with valid credentials, including those that fail.
    pub requests: i64,
    /// Requests of devices with valid credentials.
    pub device_requests: i64,
    /// New alarms.
    pub alarms_created: i64,
    /// Repetitions and changes of alarms.
    pub alarms_updated: i64,
    /// New events.
    pub events_created: i64,
    /// Changes of events.
    pub events_updated: i64,
    /// New managed objects.
    pub inventories_created: i64,
    /// Changes of managed objects.
    pub inventories_updated: i64,
    /// New measurements.
    pub measurements_created: i64,
    /// New operations.
    pub operations_created: i64,
    /// Changes of operations.
    pub operations_updated: i64,
    /// Notifications that were passed to a transport.
    pub notifications_delivered: i64,
    /// The most simultaneous sessions.
    pub sessions_peak: i64,
}

impl UsageCounts {
    /// Returns each number with its name in the API, in the order in which tables show them.
    pub fn named(&self) -> [(&'static str, i64); 15] {
        let created =
            self.alarms_created + self.events_created + self.inventories_created + self.measurements_created;
        let updated = self.alarms_updated + self.events_updated + self.inventories_updated;
        [
            ("requestCount", self.requests),
            ("deviceRequestCount", self.device_requests),
            ("alarmsCreatedCount", self.alarms_created),
            ("alarmsUpdatedCount", self.alarms_updated),
            ("eventsCreatedCount", self.events_created),
            ("eventsUpdatedCount", self.events_updated),
            ("inventoriesCreatedCount", self.inventories_created),
            ("inventoriesUpdatedCount", self.inventories_updated),
            ("measurementsCreatedCount", self.measurements_created),
            // Measurements cannot be changed; clients expect the member (Z-07).
            ("measurementsUpdatedCount", 0),
            ("totalResourceCreateAndUpdateCount", created + updated),
            ("operationsCreatedCount", self.operations_created),
            ("operationsUpdatedCount", self.operations_updated),
            ("notificationsDeliveredCount", self.notifications_delivered),
            ("sessionsPeakCount", self.sessions_peak),
        ]
    }
}

/// The latest storage figures of a tenant.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct UsageMeasures {
    /// Devices.
    pub devices: i64,
    /// Objects with child devices.
    pub devices_with_children: i64,
    /// Bytes in the database.
    pub stored_bytes: i64,
    /// The names of the applications to which the tenant subscribes.
    pub subscribed_applications: Vec<String>,
}

impl UsageMeasures {
    /// Returns each number with its name in the API, in the order in which tables show them.
    pub fn named(&self) -> [(&'static str, i64); 4] {
        [
            ("deviceCount", self.devices),
            ("deviceEndpointCount", (self.devices - self.devices_with_children).max(0)),
            ("deviceWithChildrenCount", self.devices_with_children),
            ("storageSize", self.stored_bytes),
        ]
    }

    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for (name, number) in self.named() {
            map.serialize_entry(name, &number)?;
        }
        map.serialize_entry("subscribedApplications", &self.subscribed_applications)
    }
}

/// The statistics of a tenant and a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyStatistics {
    /// The day.
    pub day: Day,
    /// The counts of this day.
    pub counts: UsageCounts,
    /// The last measurement of this day; `None` if there was none.
    pub measures: Option<UsageMeasures>,
}

impl Serialize for Linked<'_, DailyStatistics> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let DailyStatistics { day, counts, measures } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("day", &format!("{day}T00:00:00.000Z"))?;
        for (name, number) in counts.named() {
            map.serialize_entry(name, &number)?;
        }
        measures.clone().unwrap_or_default().serialize_into(&mut map)?;
        map.end()
    }
}

/// The statistics of a tenant over several days.
#[derive(Debug, Clone, PartialEq)]
pub struct StatisticsSummary {
    /// The tenant.
    pub tenant: TenantId,
    /// Its domain.
    pub domain: String,
    /// Its company.
    pub company: String,
    /// The tenant that created it.
    pub parent: Option<String>,
    /// The time when it was created.
    pub created: Timestamp,
    /// The sums of the counts; the peak of sessions is the highest one.
    pub counts: UsageCounts,
    /// The last measurement.
    pub measures: UsageMeasures,
    /// The most devices.
    pub peak_devices: i64,
    /// The most bytes.
    pub peak_stored_bytes: i64,
}

impl StatisticsSummary {
    /// Returns each number with its name in the API, in the order in which tables show them.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let peaks = [("peakDeviceCount", self.peak_devices), ("peakStorageSize", self.peak_stored_bytes)];
        self.counts.named().into_iter().chain(self.measures.named()).chain(peaks)
    }

    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for (name, number) in self.named() {
            map.serialize_entry(name, &number)?;
        }
        map.serialize_entry("subscribedApplications", &self.measures.subscribed_applications)
    }
}

/// The summary of the requested tenant.
#[derive(Debug)]
pub struct OwnSummary(pub StatisticsSummary);

impl Serialize for Linked<'_, OwnSummary> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: OwnSummary(summary), links } = *self;
        let mut map = serializer.serialize_map(None)?;
        let tenant = summary.tenant.as_str();
        map.serialize_entry("self", &format!("{}/tenant/statistics/summary?tenant={tenant}", links.base()))?;
        map.serialize_entry("tenantId", tenant)?;
        summary.serialize_into(&mut map)?;
        map.end()
    }
}

/// The summaries of all tenants, an array.
#[derive(Debug)]
pub struct AllSummaries(pub Vec<StatisticsSummary>);

impl Serialize for Linked<'_, AllSummaries> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let links = self.links;
        serializer.collect_seq(self.value.0.iter().map(|value| Linked { value, links }))
    }
}

impl Serialize for Linked<'_, StatisticsSummary> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let summary = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tenantId", summary.tenant.as_str())?;
        map.serialize_entry("tenantDomain", &summary.domain)?;
        map.serialize_entry("tenantCompany", &summary.company)?;
        if let Some(parent) = &summary.parent {
            map.serialize_entry("parentTenantId", parent)?;
        }
        map.serialize_entry("creationTime", &summary.created)?;
        summary.serialize_into(&mut map)?;
        map.end()
    }
}

/// The current activity of a tenant at all servers.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantActivity {
    /// The tenant.
    pub tenant: String,
    /// Sessions.
    pub sessions: i64,
    /// Held long polls.
    pub polls: i64,
    /// Open WebSockets of sessions.
    pub sockets: i64,
    /// Notifications that wait in the queues of sessions.
    pub queued: i64,
    /// Requests per second.
    pub requests: f64,
    /// Created and changed objects of all nouns per second.
    pub writes: f64,
    /// Delivered notifications per second.
    pub deliveries: f64,
    /// The names of the servers at which it is active.
    pub servers: Vec<String>,
}

/// The current activity of tenants.
#[derive(Debug)]
pub struct LiveStatistics {
    /// The seconds over which rates are computed.
    pub seconds: f64,
    /// The tenants, the busiest first.
    pub tenants: Vec<TenantActivity>,
}

fn rounded(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}

impl Serialize for Linked<'_, TenantActivity> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let activity = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tenantId", &activity.tenant)?;
        map.serialize_entry("sessionCount", &activity.sessions)?;
        map.serialize_entry("heldPollCount", &activity.polls)?;
        map.serialize_entry("socketCount", &activity.sockets)?;
        map.serialize_entry("queuedNotificationCount", &activity.queued)?;
        map.serialize_entry("requestsPerSecond", &rounded(activity.requests))?;
        map.serialize_entry("writesPerSecond", &rounded(activity.writes))?;
        map.serialize_entry("deliveriesPerSecond", &rounded(activity.deliveries))?;
        map.serialize_entry("servers", &activity.servers)?;
        map.end()
    }
}

impl Serialize for Linked<'_, LiveStatistics> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: live, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &format!("{}/tenant/statistics/live", links.base()))?;
        map.serialize_entry("seconds", &live.seconds)?;
        let tenants: Vec<_> = live.tenants.iter().map(|value| Linked { value, links }).collect();
        map.serialize_entry("tenants", &tenants)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_begins_at_midnight_in_utc() {
        for (time, day) in [
            ("1970-01-01T00:00:00Z", "1970-01-01"),
            ("2024-02-29T23:59:59.999Z", "2024-02-29"),
            ("2024-03-01T00:30:00+01:00", "2024-02-29"),
        ] {
            assert_eq!(Day::of(Timestamp::parse("time", time).expect(time)).to_string(), day);
        }
    }

    #[test]
    fn total_is_the_sum_of_created_and_updated_resources() {
        let counts = UsageCounts {
            alarms_created: 1,
            alarms_updated: 2,
            events_created: 4,
            events_updated: 8,
            inventories_created: 16,
            inventories_updated: 32,
            measurements_created: 64,
            operations_created: 1000,
            ..UsageCounts::default()
        };
        let named = counts.named();
        let total = named.iter().find(|(name, _)| *name == "totalResourceCreateAndUpdateCount");
        assert_eq!(total, Some(&("totalResourceCreateAndUpdateCount", 127)));
    }
}
