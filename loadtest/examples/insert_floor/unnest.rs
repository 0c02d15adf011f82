//! Many measurements per statement, one statement after the other on one connection, each in its own
//! transaction.

use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use time::OffsetDateTime;
use tokio_postgres::types::Json;

use crate::TENANT;

const OBJECTS: i64 = 1000;

const INSERT_OBJECTS: &str = "
    INSERT INTO floor_objects (tenant, id, fragments)
    SELECT $1, n, '{}' FROM generate_series(1, $2::bigint) AS n";

const INSERT: &str = "
    INSERT INTO floor_measurements (tenant, id, source, type, time, time_offset, created_at, fragments)
    SELECT $1, nextval('floor_ids'), r.source, 'loadtest', r.time, 0, $2, r.fragments
    FROM unnest($3::bigint[], $4::timestamptz[], $5::json[]) AS r (source, time, fragments)";

/// Inserts for this long and prints the rows per second.
pub(crate) async fn run(
    pool: &Pool,
    limit: Duration,
    per_statement: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let client = pool.get().await?;
    client.execute(INSERT_OBJECTS, &[&TENANT, &OBJECTS]).await?;
    let insert = client.prepare(INSERT).await?;
    let (started, mut rows) = (Instant::now(), 0);
    while started.elapsed() < limit {
        let now = OffsetDateTime::now_utc();
        let source = rows / per_statement as i64 % OBJECTS + 1;
        let sources = vec![source; per_statement];
        let times: Vec<_> = (0..per_statement as i64).map(|row| now + time::Duration::seconds(row)).collect();
        let fragments: Vec<_> = (0..per_statement as i64).map(|row| Json(fragments(rows + row))).collect();
        let stored = client.execute(&insert, &[&TENANT, &now, &sources, &times, &fragments]).await?;
        rows += i64::try_from(stored)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("rows/s                   {:.0}  ({rows} rows in {seconds:.1} s)", rows as f64 / seconds);
    Ok(())
}

/// Returns the fragments of a measurement as `loadtest measurements` sends them.
fn fragments(row: i64) -> serde_json::Value {
    let vary = |step: i64, span: i64| (row * step % span) as f64;
    serde_json::json!({
        "lt_Air": {
            "T": {"value": (1500.0 + vary(17, 1999)) / 100.0, "unit": "C"},
            "H": {"value": (200.0 + vary(13, 599)) / 10.0, "unit": "%"},
        },
        "lt_Power": {
            "U": {"value": (2250.0 + vary(3, 99)) / 10.0, "unit": "V"},
            "I": {"value": vary(101, 15_999) / 1000.0, "unit": "A"},
        },
        "lt_Mark": {
            "run": {"value": 4_000_000_000_u32, "unit": "1"},
            "n": {"value": row, "unit": "1"},
        },
    })
}
