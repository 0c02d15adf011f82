//! `data-fill`: inserts many alarms, events and measurements into the database of a server, by SQL.
//!
//! One of each is posted, so that the server itself creates the rows; then each is copied many times over
//! many devices and the last days, with new values in the columns that distinguish rows. So nothing here
//! depends on how the server stores its data, except for the names of these columns.

use tokio_postgres::{Client, NoTls};

use super::Bench;
use crate::cli::DataFill;
use crate::devices;
use crate::error::Error;
use crate::ledger::mark::Mark;
use crate::progress::Progress;
use crate::protocol::body::Kind;
use crate::report::Report;

/// The id of the first device, which scenarios/data.toml knows. The server's own ids are larger, because they rise with
/// time.
const FIRST_DEVICE: u64 = 1_000_000_000;
/// A prime, so that neighbouring rows belong to different devices.
const STRIDE: u64 = 7919;

/// The number of rows of one statement.
const BATCH: i64 = 200_000;
/// The columns that distinguish rows, with the expressions for their values; `at` and `n` are the time and
/// the number of a row, `device` is the device it belongs to. Ids hold the milliseconds since 2025, as the
/// server's do: partitions are found by them.
const ANEW: [(&str, &str); 9] = [
    ("id", "(((extract(epoch FROM at) * 1000)::bigint - 1735689600000) << 20) | (n & 1048575)"),
    ("source", "device"),
    ("time", "at"),
    ("first_time", "at"),
    ("local_time", "at AT TIME ZONE 'UTC'"),
    ("created_at", "at"),
    ("updated_at", "at"),
    // Open alarms would be counted, and be unique by type.
    ("status", "'CLEARED'"),
    ("revision", "0"),
];
/// The same for rows of which each device has one; `nth` is that device.
const DEVICE_ANEW: [(&str, &str); 2] = [("id", "nth"), ("name", "'data device ' || n")];
const SHAPE_ANEW: [(&str, &str); 1] = [("source", "nth")];
const COLUMNS: &str = "
    SELECT attname::text
    FROM pg_attribute
    WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = ''
    ORDER BY attnum";
/// Partitions for the months of the rows, if the server creates them with a function of this name.
const PARTITIONS: &str = "
    SELECT format('SELECT %s(timestamptz %L)', p.oid::regproc, m.month)
    FROM pg_proc p
    CROSS JOIN generate_series(
        date_trunc('month', now() - make_interval(days => $1), 'UTC'), now(), interval '1 month') AS m (month)
    WHERE p.proname ~ '^make_[a-z]+_partition$' AND p.pronargs = 1";

/// Runs the command.
pub(super) async fn run(bench: &Bench, settings: &DataFill) -> Result<Report, Error> {
    let window = bench.open_window();
    let (client, connection) = tokio_postgres::connect(&settings.database_url, NoTls).await?;
    let driver = tokio::spawn(connection);
    client.batch_execute("SET statement_timeout = 0; SET synchronous_commit = off").await?;
    let templates = Templates::post(bench, settings).await?;
    for row in client.query(PARTITIONS, &[&settings.days]).await? {
        client.batch_execute(row.get(0)).await?;
    }
    let filler = Filler { client: &client, settings };
    filler.copy("managed_objects", "id", templates.device, &DEVICE_ANEW, settings.devices.into()).await?;
    for &(table, template) in &templates.rows {
        filler.copy(table, "id", template, &ANEW, settings.rows.into()).await?;
        if table == "measurements" {
            // The series that a device has sent are stored separately.
            filler
                .copy("source_shapes", "source", templates.device, &SHAPE_ANEW, settings.devices.into())
                .await?;
        }
        client.batch_execute(&format!("VACUUM (ANALYZE) {table}")).await?;
    }
    client.batch_execute("VACUUM (ANALYZE) managed_objects").await?;
    client.batch_execute("CHECKPOINT").await?;
    drop(client);
    driver.await.map_err(|error| Error::Refused(error.to_string()))??;
    let (seconds, cpu) = bench.close_window(&window);
    Ok(Report { seconds, clean: true, cpu: Some(cpu), ..bench.report("data-fill", settings) })
}

/// The posted objects that are copied.
#[derive(Debug)]
struct Templates {
    device: i64,
    /// The table and the id of each.
    rows: Vec<(&'static str, i64)>,
}

impl Templates {
    /// Posts a device, and one object of each kind for it.
    async fn post(bench: &Bench, settings: &DataFill) -> Result<Self, Error> {
        let step = "posting the copied objects";
        let number =
            |id: &str| id.parse().map_err(|_| Error::Refused(format!("{step}: {id} is not a number")));
        let ids = devices::create(&bench.target, 1).await?;
        let mut connection = bench.target.connect().await?;
        let mut rows = Vec::new();
        for written in &settings.kinds {
            let kind = written.kind();
            let body = kind.body(&ids[0], Mark { run: 0, device: 0, sequence: 0, due: 0 });
            let id = connection.created(step, &bench.target.post(kind.path(), &body)).await?;
            rows.push((table(kind), number(&id)?));
        }
        Ok(Self { device: number(&ids[0])?, rows })
    }
}

fn table(kind: Kind) -> &'static str {
    match kind {
        Kind::Alarm => "alarms",
        Kind::Event | Kind::CustomRow(_) => "events",
        Kind::Measurement
        | Kind::Measurements(_)
        | Kind::NotifiedMeasurement
        | Kind::NotifiedMeasurements(_)
        | Kind::Reading
        | Kind::StaticRows(_) => "measurements",
        Kind::Operation => "operations",
    }
}

struct Filler<'a> {
    client: &'a Client,
    settings: &'a DataFill,
}

impl Filler<'_> {
    /// Copies the row whose column `key` holds `template` this many times.
    async fn copy(
        &self,
        table: &'static str,
        key: &str,
        template: i64,
        anew: &[(&str, &str)],
        count: i64,
    ) -> Result<(), Error> {
        let columns: Vec<String> =
            self.client.query(COLUMNS, &[&table]).await?.iter().map(|row| row.get(0)).collect();
        let statement = self.client.prepare(&statement(table, key, &columns, anew)).await?;
        let progress = Progress::count(table, (count / BATCH + 1) as usize);
        let tenant = &self.settings.tenant;
        let (days, devices) = (f64::from(self.settings.days), i64::from(self.settings.devices));
        let mut first = 0;
        while first < count {
            let last = count.min(first + BATCH) - 1;
            let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
                [tenant, &template, &first, &last, &count, &days, &devices];
            self.client.execute(&statement, &parameters).await?;
            first = last + 1;
            progress.advance();
        }
        progress.finish();
        Ok(())
    }
}

/// Returns the statement. Its parameters are: tenant, key of the template, first and last number, numbers in
/// total, days, devices.
fn statement(table: &str, key: &str, columns: &[String], anew: &[(&str, &str)]) -> String {
    let value = |column: &String| match anew.iter().find(|(name, _)| name == column) {
        Some((_, expression)) => (*expression).to_owned(),
        None => format!("template.\"{column}\""),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!(
        "INSERT INTO {table} ({})
         SELECT {}
         FROM generate_series($3::bigint, $4::bigint) AS n
         CROSS JOIN LATERAL (SELECT
             now() - make_interval(secs => $6::float8 * 86400 * (1 - (n + 1)::float8 / $5::bigint)) AS at,
             {first} + n * {STRIDE} % $7::bigint AS device,
             {first} + n AS nth) AS row
         CROSS JOIN (SELECT * FROM {table} WHERE tenant = $1 AND {key} = $2::bigint) AS template
         ON CONFLICT DO NOTHING",
        columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", "),
        values.join(", "),
        first = FIRST_DEVICE,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_distinguish_rows_are_generated_and_all_others_copied() {
        let columns = ["tenant", "id", "source", "time", "fragments"].map(str::to_owned);
        let text = statement("events", "id", &columns, &ANEW);
        assert!(
            text.starts_with("INSERT INTO events (\"tenant\", \"id\", \"source\", \"time\", \"fragments\")")
        );
        let values =
            format!("SELECT template.\"tenant\", {}, device, at, template.\"fragments\"\n", ANEW[0].1);
        assert!(text.contains(&values), "{text}");
    }
}
