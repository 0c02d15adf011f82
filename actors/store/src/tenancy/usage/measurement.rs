//! The measurement of the usage of tenants. Devices are counted. The bytes of a table are those that PostgreSQL
//! reports, divided among tenants by the widths of their rows. Of a table with more than [`MOST_PAGES`] pages, only
//! this number of pages is read, at random. Pages differ, so a tenant's part `p` of such a table has a standard error
//! of about `sqrt(p / MOST_PAGES)`: 3 % ± 0.5 % of the table.

use std::collections::HashMap;
use std::time::Duration;

use platform_model::error::Result;
use platform_model::naming::naming;
use serde_json::{Map, Value, json};
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql};

use crate::Database;

const BEGIN: &str = include_str!("../../../../../sql/queries/usage/begin.sql");
const RENEW: &str = include_str!("../../../../../sql/queries/usage/renew.sql");
const FINISH: &str = include_str!("../../../../../sql/queries/usage/finish.sql");
const LIST_TABLES: &str = include_str!("../../../../../sql/queries/usage/list_tables.sql");
const COUNT_DEVICES: &str = include_str!("../../../../../sql/queries/usage/count_devices.sql");
const COUNT_PARENTS: &str = include_str!("../../../../../sql/queries/usage/count_parents.sql");
const PUT: &str = include_str!("../../../../../sql/queries/usage/put.sql");
const PUT_DAY: &str = include_str!("../../../../../sql/queries/usage/put_day.sql");
const PUT_TABLES: &str = include_str!("../../../../../sql/queries/usage/put_tables.sql");
const FORGET_TABLES: &str = include_str!("../../../../../sql/queries/usage/forget_tables.sql");
const PUT_DATABASE_SIZE: &str = include_str!("../../../../../sql/queries/usage/put_database_size.sql");
const THIN_OUT: &str = include_str!("../../../../../sql/queries/usage/thin_out.sql");

/// The most pages of a table that are read, 8 kB each.
const MOST_PAGES: i64 = 1000;
/// The time after which another server may take over a measurement whose lease is not renewed. A statement takes
/// seconds at most.
const LEASE: Duration = Duration::from_secs(60);

/// The figures of a tenant so far.
#[derive(Default)]
struct Found {
    devices: i64,
    devices_with_children: i64,
    bytes: f64,
    tables: Map<String, Value>,
}

/// A table or partition with its size.
struct Measured {
    name: String,
    rows: i64,
    bytes: i64,
    sampled: f64,
}

/// A measurement that this server holds.
pub struct Measurement {
    fence: i64,
    tenants: HashMap<String, Found>,
    tables: Vec<Measured>,
}

impl Measurement {
    /// Begins a measurement if one is due and no other server runs one. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn begin(database: &Database) -> Result<Option<Self>> {
        let client = database.loader().await?;
        let Some(row) = client.query_opt(BEGIN, &[&LEASE.as_secs_f64()]).await? else { return Ok(None) };
        Ok(Some(Self { fence: row.try_get(0)?, tenants: HashMap::new(), tables: Vec::new() }))
    }

    /// Measures everything. One statement per table; returns `false` if another server has taken the measurement over.
    ///
    /// # Errors
    /// `Timeout`, `Unavailable` or `Database`.
    pub async fn measure(&mut self, database: &Database) -> Result<bool> {
        let listed = database.loader().await?.query(LIST_TABLES, &[]).await?;
        for row in &listed {
            let name: String = row.try_get(0)?;
            let (bytes, rows, has_tenants) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
            let mut table = Measured { name, rows, bytes, sampled: 0.0 };
            if has_tenants {
                self.share(database, &mut table).await?;
            }
            self.tables.push(table);
            if !self.renew(database).await? {
                return Ok(false);
            }
        }
        self.count_devices(database).await?;
        Ok(true)
    }

    /// Divides the bytes of a table among tenants.
    async fn share(&mut self, database: &Database, table: &mut Measured) -> Result<()> {
        let client = database.loader().await?;
        let statement = "SELECT of_tenant, row_count, widths, sampled FROM tenant_shares($1, $2)";
        let shares = client.query(statement, &[&table.name, &MOST_PAGES]).await?;
        let share = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?));
        let shares = shares.iter().map(share).collect::<Result<Vec<(String, f64, f64, f64)>>>()?;
        // An empty table has no shares and counts as read completely.
        table.sampled = shares.first().map_or(1.0, |(.., sampled)| *sampled);
        table.rows = shares.iter().map(|(_, rows, ..)| rows).sum::<f64>().round() as i64;
        let all: f64 = shares.iter().map(|(_, _, width, _)| width).sum();
        for (tenant, rows, width, _) in shares {
            let bytes = table.bytes as f64 * width / all;
            let found = self.tenants.entry(tenant).or_default();
            found.bytes += bytes;
            found.tables.insert(table.name.clone(), json!([rows.round() as i64, bytes.round() as i64]));
        }
        Ok(())
    }

    async fn count_devices(&mut self, database: &Database) -> Result<()> {
        let client = database.loader().await?;
        let devices = client.query(COUNT_DEVICES, &[&naming().fragment("IsDevice")]).await?;
        for row in devices {
            self.tenants.entry(row.try_get(0)?).or_default().devices = row.try_get(1)?;
        }
        for row in client.query(COUNT_PARENTS, &[]).await? {
            self.tenants.entry(row.try_get(0)?).or_default().devices_with_children = row.try_get(1)?;
        }
        Ok(())
    }

    async fn renew(&self, database: &Database) -> Result<bool> {
        let client = database.loader().await?;
        Ok(client.execute(RENEW, &[&self.fence, &LEASE.as_secs_f64()]).await? > 0)
    }

    /// Stores the result, with the statistics of today. The next measurement is due after `pause`. One transaction,
    /// which changes nothing if another server has taken over the measurement.
    ///
    /// # Errors
    /// `Contended`, `Unavailable` or `Database`.
    pub async fn finish(self, database: &Database, pause: Duration) -> Result<()> {
        let mut client = database.loader().await?;
        let transaction = client.transaction().await?;
        if transaction.execute(FINISH, &[&self.fence, &pause.as_secs_f64()]).await? == 0 {
            return Ok(());
        }
        let mut usage = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (tenant, found) in self.tenants {
            usage.0.push(tenant);
            usage.1.push(found.devices);
            usage.2.push(found.devices_with_children);
            usage.3.push(found.bytes.round() as i64);
            usage.4.push(Json(Value::Object(found.tables)));
        }
        transaction.execute(PUT, &[&usage.0, &usage.1, &usage.2, &usage.3, &usage.4]).await?;
        transaction.execute(PUT_DAY, &[]).await?;
        let names: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        let rows: Vec<i64> = self.tables.iter().map(|table| table.rows).collect();
        let bytes: Vec<i64> = self.tables.iter().map(|table| table.bytes).collect();
        let sampled: Vec<f64> = self.tables.iter().map(|table| table.sampled).collect();
        let sizes: [&(dyn ToSql + Sync); 4] = [&names, &rows, &bytes, &sampled];
        transaction.execute(PUT_TABLES, &sizes).await?;
        transaction.execute(FORGET_TABLES, &[&names]).await?;
        transaction.execute(PUT_DATABASE_SIZE, &[]).await?;
        transaction.execute(THIN_OUT, &[]).await?;
        transaction.commit().await?;
        Ok(())
    }
}
