//! The scenarios, and their common frame: devices, memory readings, CPU readings, the report.

mod availability;
mod bulk;
mod closed_loop;
mod consumers;
mod credentials;
mod csv_rows;
mod data_fill;
mod download;
mod fairness;
mod fanout;
mod gauge;
mod hosted;
mod inventory;
mod inventory_fill;
mod measurements;
mod modules;
mod open_loop;
mod ordered;
mod reconnect;
mod registration;
mod sampling;
mod series;
mod series_fill;
mod service;
mod trickle;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use self::gauge::ParkedPolls;
use crate::cli::{self, Arguments, Common};
use crate::devices;
use crate::devices::fleet_registration::Fleet;
use crate::error::Error;
use crate::ledger::run::Run;
use crate::progress::Progress;
use crate::report::{Cpu, Fact, Memory, Report};
use crate::target::Target;
use crate::target::process::Process;

/// The time in which unexpected further deliveries may arrive, to be counted as doubled.
const LATE_DELIVERIES: Duration = Duration::from_secs(1);

/// A server that has used more CPU seconds than these has memory from earlier work, which it uses again.
const FRESH: f64 = 5.0;

/// Runs the selected scenario.
///
/// # Errors
/// The run could not be prepared; faults under load are in the report.
pub(crate) async fn run(arguments: &Arguments) -> Result<Report, Error> {
    let bench = Bench::new(&arguments.common)?;
    match &arguments.scenario {
        cli::Scenario::Fanout(settings) => Box::pin(fanout::run(&bench, settings)).await,
        cli::Scenario::Consumers(settings) => Box::pin(consumers::run(&bench, settings)).await,
        cli::Scenario::Measurements(settings) => Box::pin(measurements::run(&bench, settings)).await,
        cli::Scenario::CsvRows(settings) => Box::pin(csv_rows::run(&bench, settings)).await,
        cli::Scenario::Credentials(settings) => Box::pin(credentials::run(&bench, settings)).await,
        cli::Scenario::Modules(settings) => Box::pin(modules::run(&bench, settings)).await,
        cli::Scenario::SeriesFill(settings) => Box::pin(series_fill::run(&bench, settings)).await,
        cli::Scenario::Series(settings) => Box::pin(series::run(&bench, settings)).await,
        cli::Scenario::Fairness(settings) => Box::pin(fairness::run(&bench, settings)).await,
        cli::Scenario::Availability(settings) => Box::pin(availability::run(&bench, settings)).await,
        cli::Scenario::DataFill(settings) => Box::pin(data_fill::run(&bench, settings)).await,
        cli::Scenario::Service(settings) => Box::pin(service::run(&bench, settings)).await,
        cli::Scenario::Hosted(settings) => Box::pin(hosted::run(&bench, settings)).await,
        cli::Scenario::InventoryFill(settings) => Box::pin(inventory_fill::run(&bench, settings)).await,
        cli::Scenario::Bulk(settings) => Box::pin(bulk::run(&bench, settings)).await,
        cli::Scenario::Registration(settings) => Box::pin(registration::run(&bench, settings)).await,
        cli::Scenario::Reconnect(settings) => Box::pin(reconnect::run(&bench, settings)).await,
        cli::Scenario::Trickle(settings) => Box::pin(trickle::run(&bench, settings)).await,
    }
}

/// The common context of every scenario: the target, the server's process and the common settings.
#[derive(Debug)]
struct Bench {
    target: Arc<Target>,
    server: Option<Process>,
    /// Whether the server has hardly worked yet, so that the memory for clients is visible in its growth.
    is_fresh: bool,
    common: Common,
}

/// The CPU time and wall clock at the start of a measured window.
#[derive(Debug)]
struct Window {
    started: Instant,
    server: Option<f64>,
    generator: f64,
}

impl Bench {
    fn new(common: &Common) -> Result<Self, Error> {
        let (target, server) = common.target_and_server()?;
        let target = target.of_kind(common.floor);
        let target = Arc::new(match &common.post_header {
            Some(header) => target.with_post_header(header),
            None => target,
        });
        let is_fresh = server.and_then(Process::cpu_seconds).is_some_and(|used| used < FRESH);
        Ok(Self { target, server, is_fresh, common: common.clone() })
    }

    /// Returns the memory that this number of held polls needs, from three readings.
    fn memory_of(
        &self,
        polls: usize,
        before: Option<u64>,
        held: Option<u64>,
        after: Option<u64>,
    ) -> Option<Memory> {
        Memory::of(polls, before, held, after).map(|memory| memory.if_meant(self.is_fresh))
    }

    /// Returns the PSS of the server in bytes.
    fn memory(&self) -> Option<u64> {
        self.server.and_then(Process::memory)
    }

    /// Returns the PSS of the server after the settling time.
    async fn memory_at_rest(&self) -> Option<u64> {
        Progress::pass("settling", Instant::now() + Duration::from_secs(self.common.settle)).await;
        self.memory()
    }

    /// Returns whether the server reports that it holds this many polls; nothing if it has no such metric.
    async fn polls_held(&self, count: usize) -> Vec<Fact> {
        let gauge = ParkedPolls::new(&self.target).await.ok();
        gauge
            .map(|gauge| Fact::at_least("polls held at the end", gauge.at_first() as usize, count))
            .into_iter()
            .collect()
    }

    /// Waits for outstanding deliveries, and then for unexpected ones.
    async fn drain(&self, run: &Run) {
        run.drain(Duration::from_secs(self.common.drain)).await;
        tokio::time::sleep(LATE_DELIVERIES).await;
    }

    /// Removes the devices unless `--keep` is set; returns how many could not be removed.
    async fn remove_devices(&self, ids: Vec<String>) -> usize {
        if self.common.keep { 0 } else { devices::remove(&self.target, &ids).await }
    }

    /// Removes the devices of a fleet and their users unless `--keep` is set; returns how many could not be
    /// removed.
    async fn remove_fleet(&self, fleet: &Fleet, ids: &[String]) -> usize {
        if self.common.keep { 0 } else { fleet.remove(&self.target, ids).await }
    }

    fn open_window(&self) -> Window {
        Window {
            started: Instant::now(),
            server: self.server.and_then(Process::cpu_seconds),
            generator: Process::own().cpu_seconds().unwrap_or_default(),
        }
    }

    /// Returns the wall-clock seconds of the window and the CPU used in it.
    fn close_window(&self, window: &Window) -> (f64, Cpu) {
        let seconds = window.started.elapsed().as_secs_f64();
        let server =
            self.server.and_then(Process::cpu_seconds).zip(window.server).map(|(now, then)| now - then);
        let generator = Process::own().cpu_seconds().unwrap_or_default() - window.generator;
        (seconds, Cpu::of(server, generator, seconds))
    }

    /// Returns a report without figures.
    fn report(&self, scenario: &'static str, settings: &impl Serialize) -> Report {
        Report {
            scenario,
            target: self.target.authority().to_owned(),
            settings: serde_json::to_value(settings).unwrap_or_default(),
            ..Report::default()
        }
    }
}
