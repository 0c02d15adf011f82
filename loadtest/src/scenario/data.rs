//! `data`: how long it takes to read the newest alarms, events and measurements among very many, as `data-fill` made
//! them: the first page, small and large, of all devices and of one, and the pages behind by their links `next`.

use super::Bench;
use super::sampling::{self, Samples, Walk};
use crate::cli::{Data, Written};
use crate::data::{STRIDE, device_id};
use crate::error::Error;
use crate::report::Report;

/// Requests of each kind before those that are measured.
const WARMUP: u32 = 5;
/// How far the links `next` are followed.
const DEPTH: u32 = 10;

/// A collection, and what its reads are called.
struct Collection {
    newest: &'static str,
    all: [&'static str; 3],
    of_one: [&'static str; 3],
}

/// Measurements come oldest first unless asked otherwise (G-05).
fn collection(written: Written) -> Collection {
    match written {
        Written::Alarm => Collection {
            newest: "/alarm/alarms?",
            all: ["alarms, 5", "alarms, 100", "alarms, by next"],
            of_one: ["alarms of one, 5", "alarms of one, 100", "alarms of one, by next"],
        },
        Written::Event => Collection {
            newest: "/event/events?",
            all: ["events, 5", "events, 100", "events, by next"],
            of_one: ["events of one, 5", "events of one, 100", "events of one, by next"],
        },
        Written::Measurement => Collection {
            newest: "/measurement/measurements?revert=true&",
            all: ["measurements, 5", "measurements, 100", "measurements, by next"],
            of_one: ["measurements of one, 5", "measurements of one, 100", "measurements of one, next"],
        },
    }
}

/// Runs the scenario. Clean when everything was answered 200, and 99 of 100 in time.
pub(super) async fn run(bench: &Bench, settings: &Data) -> Result<Report, Error> {
    let window = bench.open_window();
    let mut connection = bench.target.connect().await?;
    let samples = Samples { warmup: WARMUP, measured: settings.requests };
    let walk = Walk { pages: 1 + DEPTH, skipped: 1, times: settings.requests.div_ceil(DEPTH) };
    let source = |request: u32| {
        let device = u64::from(request) * STRIDE % u64::from(settings.devices);
        format!("source={}&", device_id(device))
    };
    let all = |_: u32| String::new();
    let mut reads = Vec::new();
    for &written in &settings.kinds {
        let Collection { newest, all: names, of_one } = collection(written);
        let page = |filter: String, size: u32| format!("{newest}{filter}pageSize={size}");
        let of = &mut connection;
        reads.push(sampling::read(bench, of, names[0], samples, |n| page(all(n), 5)).await?);
        reads.push(sampling::read(bench, of, names[1], samples, |n| page(all(n), 100)).await?);
        reads.push(sampling::follow(bench, of, names[2], walk, |n| page(all(n), 100)).await?);
        reads.push(sampling::read(bench, of, of_one[0], samples, |n| page(source(n), 5)).await?);
        reads.push(sampling::read(bench, of, of_one[1], samples, |n| page(source(n), 100)).await?);
        // A smaller page: so that one device has enough of them.
        reads.push(sampling::follow(bench, of, of_one[2], walk, |n| page(source(n), 20)).await?);
    }
    let (seconds, cpu) = bench.close_window(&window);
    // An answer without rows is fast and says nothing: the walks must have found their pages.
    let found = |reads: &crate::report::Reads| {
        reads.by_status.values().sum::<u64>() >= u64::from(settings.requests / 2)
    };
    let clean = reads.iter().all(|reads| reads.is_within(settings.limit) && found(reads));
    Ok(Report { seconds, clean, reads, cpu: Some(cpu), ..bench.report("data", settings) })
}
