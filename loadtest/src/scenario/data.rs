//! `data`: how long it takes to read the newest alarms, events and measurements among very many that
//! `data-fill` created: the first page, small and large, of all devices and of one, and the pages after it by
//! their links `next`.

use super::Bench;
use super::sampling::{self, Samples, Walk};
use crate::cli::Data;
use crate::data::{STRIDE, device_id};
use crate::error::Error;
use crate::object_kind::ObjectKind;
use crate::report::Report;

/// The unmeasured requests of each kind before.
const WARMUP: u32 = 5;
/// The number of links `next` that are followed.
const DEPTH: u32 = 10;

/// A collection, and the names of its reads.
struct Collection {
    newest: &'static str,
    all: [&'static str; 3],
    of_one: [&'static str; 3],
}

/// Measurements are ordered oldest first by default (G-05).
fn collection(written: ObjectKind) -> Collection {
    match written {
        ObjectKind::Alarm => Collection {
            newest: "/alarm/alarms?",
            all: ["alarms, 5", "alarms, 100", "alarms, by next"],
            of_one: ["alarms of one, 5", "alarms of one, 100", "alarms of one, by next"],
        },
        ObjectKind::Event => Collection {
            newest: "/event/events?",
            all: ["events, 5", "events, 100", "events, by next"],
            of_one: ["events of one, 5", "events of one, 100", "events of one, by next"],
        },
        ObjectKind::Measurement => Collection {
            newest: "/measurement/measurements?revert=true&",
            all: ["measurements, 5", "measurements, 100", "measurements, by next"],
            of_one: ["measurements of one, 5", "measurements of one, 100", "measurements of one, next"],
        },
    }
}

/// Runs the scenario. It is clean when every response was 200, and the 99th percentile is within the limit.
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
        // The page is smaller, so that one device has enough of them.
        reads.push(sampling::follow(bench, of, of_one[2], walk, |n| page(source(n), 20)).await?);
    }
    let (seconds, cpu) = bench.close_window(&window);
    // A response without rows is fast but proves nothing: the reads must have found their pages.
    let found = |reads: &crate::report::Reads| {
        reads.by_status.values().sum::<u64>() >= u64::from(settings.requests / 2)
    };
    let clean = reads.iter().all(|reads| reads.is_within(settings.limit) && found(reads));
    Ok(Report { seconds, clean, reads, cpu: Some(cpu), ..bench.report("data", settings) })
}
