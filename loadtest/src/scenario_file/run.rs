//! Runs the phases of a file.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::load::Load;
use super::outcome::{LoadOutcome, Outcome, PhaseOutcome, SCHEMA, Sample, VERSION};
use super::{Phase, ScenarioFile, html, junit};
use crate::cli::{Common, RunFile};
use crate::devices;
use crate::error::Error;
use crate::report;
use crate::scenario;
use crate::server_process::Process;

const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Runs a file, prints the result and writes it to the files that are asked for. Returns whether it was clean. Ctrl-C ends
/// it: the result is that of the phases before, and the devices that were created are removed.
///
/// # Errors
/// The target does not respond to the user, a load could not be measured, a file cannot be written, or Ctrl-C was pressed.
pub(crate) async fn run(file: &ScenarioFile, settings: &RunFile, common: &Common) -> Result<bool, Error> {
    let (target, server) = common.target_and_server()?;
    if file.phases.iter().flat_map(|phase| &phase.loads).any(Load::uses_target) {
        target.tenant().await.map_err(|error| error.during("before the first phase"))?;
    }
    let started = Instant::now();
    let mut phases = Vec::new();
    for (number, phase) in (1..).zip(&file.phases) {
        eprintln!(
            "{:>5.0} s: phase {number} of {}, {}",
            started.elapsed().as_secs_f64(),
            file.phases.len(),
            phase.name
        );
        tokio::select! {
            phase = run_phase(phase, server.filter(|_| phase.loads.iter().any(Load::uses_target)), started) => phases.push(phase),
            signal = tokio::signal::ctrl_c() => {
                signal?;
                break;
            }
        }
    }
    let is_interrupted = phases.len() < file.phases.len();
    let outcome = Outcome {
        schema: SCHEMA,
        version: VERSION,
        name: file.name.clone(),
        target: target.authority().to_owned(),
        clean: !is_interrupted && phases.iter().all(|phase| phase.clean),
        phases,
    };
    report::print(&outcome.text());
    write(common.json.as_deref(), || report::json(&outcome))?;
    write(settings.junit.as_deref(), || Ok(junit::xml(&outcome)))?;
    write(settings.report.as_deref(), || Ok(html::page(&outcome)))?;
    if is_interrupted {
        return Err(devices::remove_interrupted(common.keep).await);
    }
    let mut loads = outcome.phases.iter().flat_map(|phase| &phase.loads);
    match loads.find_map(|load| load.error.clone()) {
        Some(error) => Err(Error::Refused(error)),
        None => Ok(outcome.clean),
    }
}

fn write(file: Option<&Path>, text: impl FnOnce() -> Result<String, Error>) -> Result<(), Error> {
    let Some(file) = file else { return Ok(()) };
    let unwritable = |error| Error::Refused(format!("{} cannot be written: {error}", file.display()));
    fs::write(file, text()?).map_err(unwritable)
}

async fn run_phase(phase: &Phase, server: Option<Process>, started: Instant) -> PhaseOutcome {
    let since = || started.elapsed().as_secs_f64();
    let phase_started = since();
    let mut samples = Vec::new();
    let loads = tokio::select! {
        loads = join_all(phase.loads.iter().map(run_load)) => loads,
        never = sample(server, started, &mut samples) => match never {},
    };
    let reports: Vec<_> = loads.iter().map(|load| load.report.clone()).collect();
    let thresholds: Vec<_> =
        phase.thresholds.iter().map(|threshold| threshold.judge(&reports, &samples)).collect();
    PhaseOutcome {
        name: phase.name.clone(),
        started: phase_started,
        ended: since(),
        clean: loads.iter().all(|load| load.clean) && thresholds.iter().all(|judged| judged.holds),
        thresholds,
        loads,
        samples,
    }
}

async fn run_load(load: &Load) -> LoadOutcome {
    let scenario = load.scenario.clone();
    match Box::pin(scenario::run(&load.arguments)).await {
        Ok(report) => LoadOutcome {
            scenario,
            clean: report.clean,
            error: None,
            table: report.table(),
            report: serde_json::to_value(&report).unwrap_or_default(),
        },
        Err(error) => LoadOutcome {
            scenario,
            clean: false,
            error: Some(error.to_string()),
            report: serde_json::Value::Null,
            table: String::new(),
        },
    }
}

/// Reads memory and CPU of the server once a second, until it is dropped.
async fn sample(
    server: Option<Process>,
    started: Instant,
    samples: &mut Vec<Sample>,
) -> std::convert::Infallible {
    let Some(server) = server else { return std::future::pending().await };
    let mut ticks = tokio::time::interval(SAMPLE_INTERVAL);
    let mut before: Option<(Instant, f64)> = None;
    loop {
        ticks.tick().await;
        let now = server.cpu_seconds().map(|cpu| (Instant::now(), cpu));
        let percent = before
            .zip(now)
            .map(|(before, now)| 100.0 * (now.1 - before.1) / (now.0 - before.0).as_secs_f64());
        before = now;
        samples.push(Sample {
            at: started.elapsed().as_secs_f64(),
            server_memory: server.memory(),
            server_cpu_percent: percent,
        });
    }
}
