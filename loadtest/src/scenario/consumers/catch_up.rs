//! A consumer that was away reads its backlog as fast as it can, while others write at a fixed rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use super::crowd::Crowd;
use super::{Measured, Measuring, delay, failed};
use crate::error::Error;
use crate::ledger::Outcome;
use crate::ledger::run::Run;
use crate::protocol::consumer::reader::Reading;
use crate::report::Fact;
use crate::scenario::open_loop::{OpenLoop, Outcomes};

const MAX_BYTES: u64 = 1_073_741_824;
/// The measurements in each write of the backlog.
const ROWS: u32 = 100;
/// The seconds of each schedule of the others, until the consumer has caught up.
const SLICE: u64 = 2;
/// The goals: notifications per second, and the growth of the 99th percentile of the others.
const LEAST_RATE: f64 = 20_000.0;
const MOST_GROWTH: f64 = 1.2;

/// Measures the others alone, the catching up beside them, and the others alone again.
pub(super) async fn measure(measuring: &Measuring<'_>) -> Result<Measured, Error> {
    let (bench, settings) = (measuring.bench, measuring.settings);
    let run = measuring.new_run();
    let mut crowd = Crowd::create(&bench.target, &run, measuring.ids.len(), (1, MAX_BYTES)).await?;
    fill(measuring, &run).await;
    let mut others = measuring.others(&run);
    let alone = others.post(settings.rate, settings.warmup, settings.seconds).await;
    let newest = crowd.newest().await?;
    let backlog = crowd.behind(newest);
    let begun = Instant::now();
    crowd.read(Reading { way: settings.way, batch: settings.batch, wait: 30 });
    let caught_up = async {
        crowd.until(newest).await;
        begun.elapsed().as_secs_f64()
    };
    let (seconds, (mut others, beside)) = beside(others, settings.rate, caught_up).await;
    let again = others.post(settings.rate, 0, settings.seconds).await;
    let is_behind = crowd.behind(newest) > 0;
    let closed = crowd.close().await?;
    let mut facts = vec![
        caught_up_fact(backlog, seconds, is_behind),
        growth([&alone, &beside, &again]),
        failed(&[&alone, &beside, &again]),
    ];
    facts.extend(closed.facts());
    let delays = vec![
        delay("writes alone", &alone),
        delay("writes beside", &beside),
        delay("writes alone again", &again),
    ];
    Ok(Measured { facts, delays })
}

fn caught_up_fact(backlog: u64, seconds: f64, is_behind: bool) -> Fact {
    let rate = backlog as f64 / seconds;
    Fact {
        what: "catching up",
        found: format!("{rate:.0} notifications/s, {backlog} in {seconds:.1} s"),
        expected: format!("at least {LEAST_RATE}/s"),
        holds: rate >= LEAST_RATE && !is_behind,
    }
}

fn growth([alone, beside, again]: [&Outcomes; 3]) -> Fact {
    let p99 = |outcomes: &Outcomes| outcomes.responses.latency.ms(0.99);
    let growth = p99(beside) / p99(alone).max(0.001);
    Fact {
        what: "p99 of the others beside it",
        found: format!(
            "{growth:.2} x: {:.2} ms alone, {:.2} ms beside it, {:.2} ms alone again",
            p99(alone),
            p99(beside),
            p99(again)
        ),
        expected: format!("at most {MOST_GROWTH} x"),
        holds: growth <= MOST_GROWTH,
    }
}

/// Writes the backlog.
async fn fill(measuring: &Measuring<'_>, run: &Arc<Run>) {
    let left = Arc::new(AtomicU64::new(u64::from(measuring.settings.backlog.div_ceil(ROWS))));
    let mut connections = JoinSet::new();
    for first in 0..measuring.settings.connections as usize {
        let (left, ids, run) = (Arc::clone(&left), Arc::clone(&measuring.ids), Arc::clone(run));
        let mut poster = measuring.poster(&run, ROWS, u64::MAX);
        connections.spawn(async move {
            let mut device = first % ids.len();
            let take = |left: u64| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                if poster.post(device as u32, &ids[device], run.now()).await != Outcome::Acknowledged {
                    tokio::time::sleep(super::super::closed_loop::PAUSE_AFTER_FAILURE).await;
                }
                device = (device + 1) % ids.len();
            }
        });
    }
    while connections.join_next().await.is_some() {}
}

/// Lets the others write until a future is ready. Returns its output, the connections, and what they measured until the
/// last schedule that ended before.
async fn beside<T>(
    mut others: OpenLoop,
    rate: u32,
    caught_up: impl Future<Output = T>,
) -> (T, (OpenLoop, Outcomes)) {
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let watched = async {
        let output = caught_up.await;
        is_over.store(true, Ordering::Relaxed);
        output
    };
    let writing = async {
        let mut all = Outcomes::default();
        loop {
            let one = others.post(rate, 0, SLICE).await;
            // A schedule that lasted longer than the catching up is measured only if there is no other.
            if !is_over.load(Ordering::Relaxed) || all.responses.latency.is_empty() {
                all.add(&one);
            }
            if is_over.load(Ordering::Relaxed) {
                return (others, all);
            }
        }
    };
    tokio::join!(watched, writing)
}
