//! The usage of tenants: their devices and stored bytes, measured in the background (Z-07).

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::id::TenantId;
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// The longest time until a disk is full that is reported: ten years. A database that does not grow has this value,
/// too.
pub const MOST_DAYS_LEFT: f64 = 3650.0;

/// The last measured usage of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantUsage {
    /// The tenant.
    pub tenant: TenantId,
    /// The time of the measurement; `None` for a tenant that is newer than the last measurement.
    pub measured: Option<Timestamp>,
    /// The number of devices, exact at that time.
    pub devices: i64,
    /// The number of objects with child devices, exact at that time.
    pub devices_with_children: i64,
    /// The estimated number of bytes in the database, with indexes.
    pub stored_bytes: i64,
}

impl TenantUsage {
    /// Returns the number of devices without child devices.
    pub fn device_endpoints(&self) -> i64 {
        (self.devices - self.devices_with_children).max(0)
    }
}

/// The part of a table or partition that belongs to a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct TablePart {
    /// The name of the table or partition.
    pub name: String,
    /// The estimated number of rows.
    pub rows: i64,
    /// The estimated number of bytes, with indexes and long values.
    pub bytes: i64,
}

/// The stored data of a tenant, by noun and by table.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantStorage {
    /// The totals.
    pub usage: TenantUsage,
    /// The bytes by which it has grown per day; `None` when it was measured on one day only.
    pub growth_per_day: Option<f64>,
    /// The tables and partitions with rows of the tenant.
    pub tables: Vec<TablePart>,
}

/// Returns the noun of the API to which a table belongs.
pub fn noun_of_table(table: &str) -> &'static str {
    match table {
        "alarms" | "bulk_alarm_updates" => "alarms",
        "audit_records" => "auditRecords",
        "events" => "events",
        "binaries" | "binary_chunks" => "files",
        "operations" | "bulk_operations" | "bulk_operation_targets" => "operations",
        "managed_objects" | "links" | "external_ids" | "availability" | "device_placements" => "inventory",
        "source_shapes" => "measurements",
        _ if table.starts_with("measurement") => "measurements",
        _ => "others",
    }
}

/// Rows and bytes of a noun.
#[derive(Debug, Default, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Share {
    count: i64,
    storage_size: i64,
}

fn by_noun(tables: &[TablePart]) -> BTreeMap<&'static str, Share> {
    let mut nouns: BTreeMap<&'static str, Share> = BTreeMap::new();
    for table in tables {
        let share = nouns.entry(noun_of_table(&table.name)).or_default();
        share.storage_size += table.bytes;
        // The other tables of a noun contain parts of the members that its main table counts.
        if is_main(&table.name) {
            share.count += table.rows;
        }
    }
    nouns
}

/// Returns whether each row of a table is one member of its noun.
fn is_main(table: &str) -> bool {
    let is_partition = table
        .strip_prefix("measurements_")
        .is_some_and(|month| month == "other" || month.starts_with(|first: char| first.is_ascii_digit()));
    let names =
        ["alarms", "audit_records", "events", "binaries", "operations", "managed_objects", "measurements"];
    is_partition || names.contains(&table)
}

impl Serialize for Linked<'_, TablePart> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let table = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &table.name)?;
        map.serialize_entry("noun", noun_of_table(&table.name))?;
        map.serialize_entry("count", &table.rows)?;
        map.serialize_entry("storageSize", &table.bytes)?;
        map.end()
    }
}

impl Serialize for Linked<'_, TenantStorage> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: TenantStorage { usage, growth_per_day, tables }, links } = *self;
        let tenant = usage.tenant.as_str();
        let mut map = serializer.serialize_map(None)?;
        let link = format!("{}/tenant/statistics/storage?tenant={tenant}", links.base());
        map.serialize_entry("self", &link)?;
        map.serialize_entry("tenantId", tenant)?;
        if let Some(measured) = &usage.measured {
            map.serialize_entry("measurementTime", measured)?;
        }
        map.serialize_entry("deviceCount", &usage.devices)?;
        map.serialize_entry("deviceEndpointCount", &usage.device_endpoints())?;
        map.serialize_entry("deviceWithChildrenCount", &usage.devices_with_children)?;
        map.serialize_entry("storageSize", &usage.stored_bytes)?;
        if let Some(growth) = growth_per_day {
            map.serialize_entry("storageGrowthPerDay", &growth.round())?;
        }
        map.serialize_entry("nouns", &by_noun(tables))?;
        let tables: Vec<_> = tables.iter().map(|value| Linked { value, links }).collect();
        map.serialize_entry("tables", &tables)?;
        map.end()
    }
}

/// The size of the database and its growth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DatabaseGrowth {
    /// The bytes of the database.
    pub bytes: i64,
    /// The time of the measurement.
    pub measured: Timestamp,
    /// The bytes per day by which it grows; `None` in the first hour.
    pub per_day: Option<f64>,
}

impl DatabaseGrowth {
    /// Returns the days until this number of bytes is filled, at most [`MOST_DAYS_LEFT`]; `None` while the growth is
    /// unknown.
    pub fn days_left(&self, free_bytes: u64) -> Option<f64> {
        let per_day = self.per_day?;
        let grows = per_day > 0.0;
        Some(if grows { (free_bytes as f64 / per_day).min(MOST_DAYS_LEFT) } else { MOST_DAYS_LEFT })
    }
}

/// A table or partition of the deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSize {
    /// Its name, rows and bytes.
    pub whole: TablePart,
    /// The share of its pages that were read to find the tenants of its rows.
    pub sampled: f64,
}

/// The stored data of the whole deployment, for its operator.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentStorage {
    /// The database; `None` before the first measurement.
    pub growth: Option<DatabaseGrowth>,
    /// The free bytes of its disk, if this server knows them.
    pub free_bytes: Option<u64>,
    /// The tables and partitions, largest first.
    pub tables: Vec<TableSize>,
}

/// The usage of the tenants that a tenant manages, and for `management` that of the whole deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct AllTenantsStorage {
    /// The deployment, for tenant `management`.
    pub deployment: Option<DeploymentStorage>,
    /// The tenants, ordered by id.
    pub tenants: Vec<TenantUsage>,
}

impl Serialize for Linked<'_, TenantUsage> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let usage = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tenantId", usage.tenant.as_str())?;
        if let Some(measured) = &usage.measured {
            map.serialize_entry("measurementTime", measured)?;
        }
        map.serialize_entry("deviceCount", &usage.devices)?;
        map.serialize_entry("storageSize", &usage.stored_bytes)?;
        map.end()
    }
}

impl Serialize for Linked<'_, TableSize> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TableSize { whole, sampled } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &whole.name)?;
        map.serialize_entry("noun", noun_of_table(&whole.name))?;
        map.serialize_entry("count", &whole.rows)?;
        map.serialize_entry("storageSize", &whole.bytes)?;
        map.serialize_entry("sampled", sampled)?;
        map.end()
    }
}

impl Serialize for Linked<'_, AllTenantsStorage> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: all, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &format!("{}/tenant/statistics/allTenantsStorage", links.base()))?;
        if let Some(DeploymentStorage { growth, free_bytes, tables }) = &all.deployment {
            if let Some(growth) = growth {
                map.serialize_entry("measurementTime", &growth.measured)?;
                map.serialize_entry("databaseSize", &growth.bytes)?;
            }
            if let Some(free) = free_bytes {
                map.serialize_entry("freeSize", free)?;
            }
            if let Some(per_day) = growth.and_then(|growth| growth.per_day) {
                map.serialize_entry("databaseGrowthPerDay", &per_day.round())?;
            }
            if let Some(days) = growth.zip(*free_bytes).and_then(|(growth, free)| growth.days_left(free)) {
                map.serialize_entry("daysLeft", &days)?;
            }
            let tables: Vec<_> = tables.iter().map(|value| Linked { value, links }).collect();
            map.serialize_entry("tables", &tables)?;
        }
        let tenants: Vec<_> = all.tenants.iter().map(|value| Linked { value, links }).collect();
        map.serialize_entry("tenants", &tenants)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growing(per_day: Option<f64>) -> DatabaseGrowth {
        DatabaseGrowth { bytes: 100, measured: Timestamp::now(), per_day }
    }

    #[test]
    fn days_left_are_bounded_and_unknown_without_a_growth() {
        assert_eq!(growing(Some(10.0)).days_left(100), Some(10.0));
        assert_eq!(growing(Some(0.001)).days_left(1 << 40), Some(MOST_DAYS_LEFT));
        assert_eq!(growing(Some(-5.0)).days_left(0), Some(MOST_DAYS_LEFT));
        assert_eq!(growing(Some(10.0)).days_left(0), Some(0.0));
        assert_eq!(growing(None).days_left(100), None);
    }

    #[test]
    fn partitions_of_measurements_are_counted_together_and_their_shapes_are_not() {
        let table = |name: &str, rows| TablePart { name: name.into(), rows, bytes: 10 };
        let nouns = by_noun(&[
            table("measurements_2026_01", 5),
            table("measurements_other", 1),
            table("measurement_shapes", 3),
            table("measurement_rollups", 7),
            table("users", 2),
        ]);

        let measurements = nouns["measurements"];
        assert_eq!((measurements.count, measurements.storage_size), (6, 40));
        assert_eq!(nouns["others"].storage_size, 10);
    }
}
