//! `series`: how long it takes to read one source's year of measurements, as `series-fill` sent it.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Bench;
use super::sampling::{self, Samples};
use crate::body::Kind;
use crate::cli::Series;
use crate::connection::Connection;
use crate::error::Error;
use crate::report::{Fact, Report};
use crate::year;

/// Values of an answer without aggregation (document 2, limits).
const LONGEST_RAW: usize = 5000;
const MINUTES_OF_A_DAY: u32 = 1440;
/// A number without a factor in common with the year: leads to days all over it.
const STRIDE: u32 = 7919;

#[derive(Debug, Deserialize)]
struct SeriesResult {
    values: HashMap<String, IgnoredAny>,
    truncated: bool,
}

/// Runs the scenario. Clean when every answer holds as many buckets as the year has, and 99 of 100 came in time.
pub(super) async fn run(bench: &Bench, settings: &Series) -> Result<Report, Error> {
    let mut connection = bench.target.connect().await?;
    let source = match &settings.source {
        Some(source) => source.clone(),
        None => find_source(bench, &mut connection).await?,
    };
    let path = Kind::Measurement.path();
    let (from, to) = (year::time(0), year::time(settings.minutes));
    let series = format!("{path}/series?source={source}&dateFrom={from}&dateTo={to}&series={}", year::SERIES);
    let (daily, hourly) =
        (format!("{series}&aggregationType=DAILY"), format!("{series}&aggregationType=HOURLY"));
    // A bucket that begins with the end of the range may hold nothing.
    let days = settings.minutes.div_ceil(MINUTES_OF_A_DAY) as usize;
    let hours = settings.minutes.div_ceil(60) as usize;
    let raw = LONGEST_RAW.min(settings.minutes as usize);
    let cut = settings.minutes as usize > LONGEST_RAW;
    let facts = vec![
        count(bench, &mut connection, "daily buckets", &daily, (days, false)).await?,
        count(bench, &mut connection, "hourly buckets", &hourly, (hours, false)).await?,
        count(bench, &mut connection, "raw values", &series, (raw, cut)).await?,
    ];

    let window = bench.open_window();
    let samples = Samples { warmup: 2, measured: settings.requests };
    let day = |request: u32| {
        let start = request * STRIDE % settings.minutes.saturating_sub(MINUTES_OF_A_DAY).max(1);
        let (from, to) = (year::time(start), year::time(start + MINUTES_OF_A_DAY));
        format!("{path}?source={source}&dateFrom={from}&dateTo={to}&pageSize=100")
    };
    let reads = vec![
        sampling::read(bench, &mut connection, "series, daily", samples, |_| daily.clone()).await?,
        sampling::read(bench, &mut connection, "series, hourly", samples, |_| hourly.clone()).await?,
        sampling::read(bench, &mut connection, "series, raw", samples, |_| series.clone()).await?,
        sampling::read(bench, &mut connection, "a day, page of 100", samples, day).await?,
    ];
    let (seconds, cpu) = bench.close_window(&window);
    let clean =
        reads.iter().all(|reads| reads.is_within(settings.limit)) && facts.iter().all(|fact| fact.holds);
    Ok(Report { seconds, clean, facts, reads, cpu: Some(cpu), ..bench.report("series", settings) })
}

/// The newest device that `series-fill` filled.
async fn find_source(bench: &Bench, connection: &mut Connection) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Object {
        id: String,
    }
    #[derive(Deserialize)]
    struct Found {
        #[serde(rename = "managedObjects")]
        managed_objects: Vec<Object>,
    }
    let step = "looking for the device of series-fill";
    let path = format!("/inventory/managedObjects?type={}&pageSize=2000", year::DEVICE_TYPE);
    let response = connection.call(step, &bench.target.get(&path)).await?;
    if response.status != 200 {
        return Err(Error::status(step, response.status, response.body));
    }
    let found: Found = serde_json::from_slice(response.body).map_err(std::io::Error::from)?;
    let newest = found.managed_objects.into_iter().next_back();
    newest.map(|object| object.id).ok_or_else(|| Error::Refused(format!("{step}: run series-fill first")))
}

/// Asks once and counts the times of the answer.
async fn count(
    bench: &Bench,
    connection: &mut Connection,
    what: &'static str,
    path: &str,
    expected: (usize, bool),
) -> Result<Fact, Error> {
    let response = connection.call(what, &bench.target.get(path)).await?;
    if response.status != 200 {
        return Err(Error::status(what, response.status, response.body));
    }
    let result: SeriesResult = serde_json::from_slice(response.body).map_err(std::io::Error::from)?;
    let (times, truncated) = (result.values.len(), result.truncated);
    let said = |(times, truncated)| format!("{times}{}", if truncated { ", truncated" } else { "" });
    Ok(Fact {
        what,
        found: said((times, truncated)),
        expected: said(expected),
        holds: (times, truncated) == expected,
    })
}
