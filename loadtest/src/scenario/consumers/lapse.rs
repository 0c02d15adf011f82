//! A backlog grows beyond its bound: how soon the consumer lapses, and whether the writers notice.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::crowd::Crowd;
use super::{Measured, Measuring, delay, failed};
use crate::error::Error;
use crate::protocol::consumer::reader::{Reader, Reading, Way};
use crate::protocol::consumer::{Consumer, State};
use crate::report::Fact;
use crate::scenario::open_loop::Outcomes;
use crate::target::Target;

const MAX_BYTES: u64 = 1_073_741_824;
const LOOK: Duration = Duration::from_millis(20);
/// The longest wait for the lapse after the writes.
const LIMIT: Duration = Duration::from_secs(30);
/// The goals: seconds from the bound to the lapse, and the growth of the 99th percentile of the writers.
const MOST_SECONDS: f64 = 1.0;
const MOST_GROWTH: f64 = 1.2;
const ALARMS: &str = "/alarm/alarms?type=plat_ConsumerLapsed&pageSize=100&status=ACTIVE";

/// The time at which a consumer lapsed, in seconds.
struct Lapse {
    /// The time from the last look at which the backlog was within its bound.
    at_most: f64,
    /// The time from the first look at which the backlog was beyond its bound; none if no look found it.
    at_least: Option<f64>,
    /// The largest backlog that was found, in bytes.
    bytes: u64,
}

/// Measures the writers before, during and after the lapse.
pub(super) async fn measure(measuring: &Measuring<'_>) -> Result<Measured, Error> {
    let (bench, settings) = (measuring.bench, measuring.settings);
    let run = measuring.new_run();
    let devices = measuring.ids.len();
    let mut steady = Crowd::create(&bench.target, &run, devices, (1, MAX_BYTES)).await?;
    steady.read(Reading { way: settings.way, batch: settings.batch, wait: 30 });
    let mut others = measuring.others(&run);
    let before = others.post(settings.rate, settings.warmup, settings.seconds).await;
    let mut lapsing = Crowd::create(&bench.target, &run, devices, (1, settings.max_bytes)).await?;
    let name = lapsing.names()[0].clone();
    let bytes_per_second = u64::from(settings.rate) * 300;
    let seconds = settings.seconds.max(2 * settings.max_bytes / bytes_per_second);
    let writing = others.post(settings.rate, 0, seconds);
    let (during, lapse) =
        tokio::join!(writing, watch(&bench.target, &name, settings.max_bytes, Duration::from_secs(seconds)));
    let after = others.post(settings.rate, 0, settings.seconds).await;
    let gap = first_read(&bench.target, &name).await;
    let alarms = active_alarms(&bench.target).await;
    let left = lapsing.remove().await;
    let closed = steady.close().await?;
    let mut facts = lapse_facts(lapse?);
    facts.push(growth([&before, &during, &after]));
    facts.push(Fact::any("next read of the lapsed one", gap?));
    facts.push(Fact::at_least("active alarms of lapses", alarms?, 1));
    facts.push(failed(&[&before, &during, &after]));
    facts.push(Fact::number("lapsed consumers left behind", left, 0));
    facts.extend(closed.facts());
    let delays = vec![
        delay("writes before the lapse", &before),
        delay("writes around the lapse", &during),
        delay("writes after the lapse", &after),
    ];
    Ok(Measured { facts, delays })
}

/// Looks at a consumer until it has lapsed.
async fn watch(target: &Target, name: &str, bound: u64, writing: Duration) -> Result<Option<Lapse>, Error> {
    let mut connection = target.connect().await?;
    let begun = Instant::now();
    let (mut within, mut beyond, mut bytes) = (begun, None, 0);
    while begun.elapsed() < writing + LIMIT {
        let asked = Instant::now();
        let consumer = Consumer::get(target, &mut connection, name).await?;
        if consumer.state == State::Lapsed {
            let since = |at: Instant| at.elapsed().as_secs_f64();
            return Ok(Some(Lapse { at_most: since(within), at_least: beyond.map(since), bytes }));
        }
        bytes = bytes.max(consumer.backlog.bytes);
        if consumer.backlog.bytes <= bound {
            within = asked;
        } else {
            beyond.get_or_insert(asked);
        }
        sleep(LOOK).await;
    }
    Ok(None)
}

fn lapse_facts(lapse: Option<Lapse>) -> Vec<Fact> {
    let found = lapse.as_ref().map_or("it did not lapse".to_owned(), |lapse| {
        let at_least =
            lapse.at_least.map_or(String::new(), |seconds| format!("at least {seconds:.2} s and "));
        format!("{at_least}at most {:.2} s, with a backlog of {} bytes", lapse.at_most, lapse.bytes)
    });
    vec![Fact {
        what: "from the bound to the lapse",
        found,
        expected: format!("at most {MOST_SECONDS} s"),
        holds: lapse.is_some_and(|lapse| lapse.at_most <= MOST_SECONDS),
    }]
}

fn growth([before, during, after]: [&Outcomes; 3]) -> Fact {
    let p99 = |outcomes: &Outcomes| outcomes.responses.latency.ms(0.99);
    let growth = p99(during).max(p99(after)) / p99(before).max(0.001);
    Fact {
        what: "p99 of the writers",
        found: format!(
            "{growth:.2} x: {:.2} ms before, {:.2} ms around the lapse, {:.2} ms after",
            p99(before),
            p99(during),
            p99(after)
        ),
        expected: format!("at most {MOST_GROWTH} x"),
        holds: growth <= MOST_GROWTH,
    }
}

/// Returns what the next read of a lapsed consumer reports.
///
/// # Errors
/// The server reports no gap.
async fn first_read(target: &Target, name: &str) -> Result<String, Error> {
    let reading = Reading { way: Way::LongPoll, batch: 1000, wait: 0 };
    let mut reader = Reader::connect(target, name, reading, None).await?;
    let batch = Box::pin(reader.receive(target)).await?;
    let missed = batch.missed.ok_or_else(|| Error::Refused("a lapsed consumer reports no gap".to_owned()))?;
    Ok(format!("not recovered, positions {} to {} are missed", missed.from, missed.to))
}

async fn active_alarms(target: &Target) -> Result<usize, Error> {
    #[derive(Deserialize)]
    struct Page {
        alarms: Vec<serde_json::Value>,
    }
    let page: Page =
        target.connect().await?.json(200, "looking for the alarm of the lapse", &target.get(ALARMS)).await?;
    Ok(page.alarms.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lapse_is_in_time_by_the_longest_time_that_it_may_have_taken() {
        let fact = |at_most: Option<f64>| {
            let lapse = at_most.map(|at_most| Lapse { at_most, at_least: None, bytes: 7 });
            lapse_facts(lapse).remove(0)
        };
        assert!(fact(Some(0.9)).holds && fact(Some(0.9)).found.starts_with("at most 0.90 s"));
        assert!(!fact(Some(1.1)).holds);
        assert_eq!((fact(None).holds, fact(None).found.as_str()), (false, "it did not lapse"));
        let both = Lapse { at_most: 0.4, at_least: Some(0.2), bytes: 7 };
        assert!(lapse_facts(Some(both))[0].found.starts_with("at least 0.20 s and at most 0.40 s"));
    }
}
