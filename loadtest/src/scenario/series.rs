//! `series`: how long it takes to read one source's year of measurements, as `series-fill` sent it.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;

use super::Bench;
use super::sampling::{self, Samples};
use crate::cli::Series;
use crate::error::Error;
use crate::protocol::body::Kind;
use crate::protocol::year;
use crate::report::{Fact, Report};
use crate::target::connection::Connection;

/// The number of values of a response without aggregation (G-08).
const LONGEST_RAW: u32 = 5000;
const MINUTES_OF_A_DAY: u32 = 1440;
/// A number without a common factor with the year, so that it leads to days all over it.
const STRIDE: u32 = 7919;

#[derive(Debug, Deserialize)]
struct SeriesResult {
    /// The values by time; one entry for each requested series, which is one.
    values: HashMap<String, [Option<Extremes>; 1]>,
    truncated: bool,
}

#[derive(Debug, Deserialize)]
struct Extremes {
    min: f64,
    max: f64,
}

/// The content of a response: the number of times, the least and the greatest value of all, whether it was
/// truncated.
#[derive(Debug, PartialEq)]
struct Content {
    times: usize,
    range: (f64, f64),
    truncated: bool,
}

impl SeriesResult {
    fn content(&self) -> Content {
        let extremes = || self.values.values().flatten().flatten();
        let least = extremes().map(|extremes| extremes.min).fold(f64::INFINITY, f64::min);
        let greatest = extremes().map(|extremes| extremes.max).fold(f64::NEG_INFINITY, f64::max);
        Content { times: self.values.len(), range: (least, greatest), truncated: self.truncated }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, greatest) = self.range;
        let cut = if self.truncated { ", truncated" } else { "" };
        write!(formatter, "{}, from {least} to {greatest}{cut}", self.times)
    }
}

/// Runs the scenario. It is clean when every response holds the buckets and the extremes of the year, and the
/// 99th percentile of those by day and by hour is within the limit.
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
    let buckets = |minutes: u32| Content {
        times: settings.minutes.div_ceil(minutes) as usize,
        range: year::range(settings.minutes),
        truncated: false,
    };
    let raw = LONGEST_RAW.min(settings.minutes);
    let first =
        Content { times: raw as usize, range: year::range(raw), truncated: settings.minutes > LONGEST_RAW };
    let facts = vec![
        count(bench, &mut connection, "daily buckets", &daily, &buckets(MINUTES_OF_A_DAY)).await?,
        count(bench, &mut connection, "hourly buckets", &hourly, &buckets(60)).await?,
        count(bench, &mut connection, "raw values", &series, &first).await?,
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
    // The limit is for the buckets; the other responses are larger.
    let in_time = reads[..2].iter().all(|reads| reads.is_within(settings.limit));
    let answered = reads.iter().all(|reads| reads.is_within(u32::MAX));
    let clean = in_time && answered && facts.iter().all(|fact| fact.holds);
    Ok(Report { seconds, clean, facts, reads, cpu: Some(cpu), ..bench.report("series", settings) })
}

/// Returns the newest device that `series-fill` filled.
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
    let found: Found = connection.json(200, step, &bench.target.get(&path)).await?;
    let newest = found.managed_objects.into_iter().next_back();
    newest.map(|object| object.id).ok_or_else(|| Error::Refused(format!("{step}: run series-fill first")))
}

/// Sends one request and compares the response with what was sent.
async fn count(
    bench: &Bench,
    connection: &mut Connection,
    what: &'static str,
    path: &str,
    expected: &Content,
) -> Result<Fact, Error> {
    let result: SeriesResult = connection.json(200, what, &bench.target.get(path)).await?;
    let found = result.content();
    let holds = found == *expected;
    Ok(Fact { what, found: found.to_string(), expected: expected.to_string(), holds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_counted_over_all_times() {
        let answer = r#"{"values":{"a":[{"min":1.5,"max":3}],"b":[{"min":-2,"max":2.25}],"c":[null]},
            "series":[{"name":"T","type":"lt_Climate","unit":"C"}],"truncated":true}"#;
        let content = serde_json::from_str::<SeriesResult>(answer).unwrap().content();
        assert_eq!(content, Content { times: 3, range: (-2.0, 3.0), truncated: true });
        assert_eq!(content.to_string(), "3, from -2 to 3, truncated");
    }
}
