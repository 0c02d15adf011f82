//! `consumers`: what named consumers cost. Writes at the highest rate with different numbers of consumers, a consumer
//! that catches up, idle consumers, and a backlog that grows beyond its bound. Each consumer sees every change of the
//! tenant of the user, and the ledger by positions judges what it received.

mod catch_up;
mod crowd;
mod idle;
mod lapse;
mod throughput;

use std::sync::Arc;
use std::time::Instant;

use super::Bench;
use super::open_loop::{OpenLoop, Outcomes};
use crate::cli::{ConsumerFigure, Consumers};
use crate::devices;
use crate::error::Error;
use crate::ledger::latency::{Delay, Latency};
use crate::ledger::run::Run;
use crate::protocol::body::Kind;
use crate::report::{Fact, Report};
use crate::traffic::poster::Poster;

/// The settings and devices that all figures use.
struct Measuring<'a> {
    bench: &'a Bench,
    settings: &'a Consumers,
    ids: Arc<Vec<String>>,
}

/// The results of a figure.
#[derive(Default)]
struct Measured {
    facts: Vec<Fact>,
    delays: Vec<Delay>,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Consumers) -> Result<Report, Error> {
    let ids = devices::create(&bench.target, settings.devices as usize).await?;
    let measuring = Measuring { bench, settings, ids: Arc::new(ids) };
    let (begun, window) = (Instant::now(), bench.open_window());
    let (measured, memory) = measuring.measure().await;
    let (_, cpu) = bench.close_window(&window);
    let devices_left = bench.remove_devices(Arc::unwrap_or_clone(measuring.ids)).await;
    let Measured { facts, delays } = measured?;
    Ok(Report {
        seconds: begun.elapsed().as_secs_f64(),
        clean: facts.iter().all(|fact| fact.holds),
        facts,
        delays,
        memory,
        cpu: Some(cpu),
        devices_left,
        ..bench.report("consumers", settings)
    })
}

impl Measuring<'_> {
    async fn measure(&self) -> (Result<Measured, Error>, Option<crate::report::Memory>) {
        let (mut all, mut memory) = (Measured::default(), None);
        for figure in &self.settings.figures {
            let measured = match figure {
                ConsumerFigure::Throughput => Box::pin(throughput::measure(self)).await,
                ConsumerFigure::CatchUp => Box::pin(catch_up::measure(self)).await,
                ConsumerFigure::Lapse => Box::pin(lapse::measure(self)).await,
                ConsumerFigure::Idle => Box::pin(idle::measure(self)).await.map(|(measured, of_polls)| {
                    memory = of_polls;
                    measured
                }),
            };
            match measured {
                Ok(measured) => {
                    all.facts.extend(measured.facts);
                    all.delays.extend(measured.delays);
                }
                Err(error) => return (Err(error), memory),
            }
        }
        (Ok(all), memory)
    }

    /// Returns a run that keeps the times of responses.
    fn new_run(&self) -> Arc<Run> {
        let run = Run::new(self.ids.len());
        run.keep_times();
        Arc::new(run)
    }

    fn poster(&self, run: &Arc<Run>, rows: u32, measured_from: u64) -> Poster {
        let kind = match rows {
            1 => Kind::NotifiedMeasurement,
            rows => Kind::NotifiedMeasurements(rows),
        };
        let headers: Arc<str> = self.bench.target.quiet_post_headers().into();
        Poster::new(&self.bench.target, run, measured_from).with(kind, &headers)
    }

    /// Returns the connections of the others, which write at a fixed rate.
    fn others(&self, run: &Arc<Run>) -> OpenLoop {
        let posters = (0..self.settings.connections).map(|_| self.poster(run, 1, 0)).collect();
        OpenLoop::new(run, &self.ids, posters)
    }
}

/// Returns the latency of writes at a fixed rate.
fn delay(kind: &'static str, outcomes: &Outcomes) -> Delay {
    Delay { kind, latency: Latency::of(&outcomes.responses.latency) }
}

/// Returns the number of writes that failed or were not sent, which must be none.
fn failed(outcomes: &[&Outcomes]) -> Fact {
    let failed = outcomes.iter().map(|one| one.responses.failures() + one.unsent).sum::<u64>();
    Fact::number("writes of the others that failed", failed as usize, 0)
}

/// Returns the middle value.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
