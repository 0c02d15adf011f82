//! Runs the phases of a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::sleep;

use super::compare::Baseline;
use super::live::Live;
use super::load::Load;
use super::metrics::Metrics;
use super::outcome::{LoadOutcome, Mark, Outcome, PhaseOutcome, SCHEMA, VERSION};
use super::pulse::Pulse;
use super::sample::Sampler;
use super::{Phase, ScenarioFile, html, junit};
use crate::cli::interruption::interrupted;
use crate::cli::{Common, RunFile};
use crate::devices;
use crate::error::Error;
use crate::population::{Assignments, Population};
use crate::report;
use crate::scenario;
use crate::target::Target;

/// The reason why a run ended early after a signal.
const INTERRUPTED: &str = "interrupted";
/// The time between two checks of the thresholds that end a run.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs a file, prints the result and writes it to the requested files. Returns whether the run was clean and not worse
/// than its baseline. A signal, a lost server or a lost worker ends the run early: the result then contains the figures
/// until that time and the reason, and the created devices are removed. So does a missed threshold with `abort`; such
/// a run is
/// measured, and not clean.
///
/// # Errors
/// The target does not respond to the user, a load could not be measured, a file cannot be read or written, or a
/// signal ended the run.
pub(crate) async fn run(file: &ScenarioFile, settings: &RunFile, common: &Common) -> Result<bool, Error> {
    let (target, server) = common.target_and_server()?;
    let baseline = settings.baseline.as_deref().map(Baseline::read).transpose()?;
    let uses_target = file.uses_target();
    if uses_target {
        target.check().await?;
    }
    let live = Arc::new(Live::new());
    let _metrics = Metrics::start(settings.metrics, &live).await?;
    let began = OffsetDateTime::now_utc();
    let mut population = match &file.plan {
        Some(plan) => Some(Box::pin(Population::open(plan, common, file.assignments(settings))).await?),
        None => None,
    };
    let started = Instant::now();
    let observer = population.as_ref().map(Population::observer);
    let sampler =
        Sampler::start(started, server.filter(|_| uses_target), observer.clone(), Arc::clone(&live));
    let pulse = Pulse::start(started);
    let mut phases = Vec::new();
    let watched = Watched { file, live: &live, pulse: &pulse, started };
    let target_of_run = uses_target.then_some(&target);
    let (ended_early, aborted) = watched.played(population.as_mut(), target_of_run, &mut phases).await?;
    let samples = sampler.stop();
    let delays = pulse.stop();
    if let Some(last) = phases.last_mut().filter(|last| last.ended.is_infinite()) {
        last.ended = started.elapsed().as_secs_f64();
    }
    let since = |at: Instant| at.saturating_duration_since(started).as_secs_f64();
    let mut outcome = Outcome {
        schema: SCHEMA,
        version: VERSION,
        name: file.name.clone(),
        target: file.target(&target),
        generator: format!("loadtest {}", env!("CARGO_PKG_VERSION")),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        began: began.replace_nanosecond(0).unwrap_or(began).format(&Rfc3339).unwrap_or_default(),
        seed: file.plan.as_ref().map(|plan| plan.seed),
        ended_early,
        aborted,
        phases,
        ..Outcome::default()
    };
    if let Some(population) = population {
        outcome.add(Box::pin(population.close()).await);
    }
    let happened = observer.iter().flat_map(|observer| observer.happened());
    outcome.happened = happened.map(|one| Mark { at: since(one.at), what: one.what }).collect();
    for (phase, of_file) in outcome.phases.iter_mut().zip(&file.phases) {
        phase.judge(&of_file.thresholds, &samples, &delays);
    }
    outcome.not_begun =
        file.phases.iter().skip(outcome.phases.len()).map(|phase| phase.name.clone()).collect();
    if let (Some(_), Some(last)) = (&outcome.ended_early, outcome.phases.last_mut()) {
        // A part of a phase is not the phase.
        last.clean = false;
    }
    outcome.clean = outcome.ended_early.is_none() && outcome.phases.iter().all(|phase| phase.clean);
    finish(&outcome, settings, common, baseline).await
}

/// Prints and writes the result. Returns whether the run was clean and not worse than the baseline.
async fn finish(
    outcome: &Outcome,
    settings: &RunFile,
    common: &Common,
    baseline: Option<Baseline>,
) -> Result<bool, Error> {
    report::print(&outcome.text());
    write(common.json.as_deref(), || report::json(outcome))?;
    write(settings.junit.as_deref(), || Ok(junit::xml(outcome)))?;
    write(settings.report.as_deref(), || Ok(html::page(outcome)))?;
    let compared = baseline.map(|baseline| baseline.judge(outcome, settings.tolerance)).transpose();
    if let Some(reason) = outcome.ended_early.as_ref().filter(|_| !outcome.aborted) {
        if reason == INTERRUPTED {
            return Err(after_interruption(outcome, common.keep).await);
        }
        return Err(Error::Refused(reason.clone()));
    }
    let is_worse = compared?.unwrap_or(false);
    let mut loads = outcome.phases.iter().flat_map(|phase| &phase.loads);
    let mut unclean = outcome.phases.iter().filter(|phase| !phase.clean).peekable();
    match loads.find_map(|load| load.error.clone()) {
        Some(error) => Err(Error::Refused(error)),
        None if unclean.peek().is_some() && unclean.all(PhaseOutcome::is_unjudged) => Err(Error::Refused(
            "the generator itself was late, so these latencies say nothing about the server; give it more CPU".into(),
        )),
        None => Ok(outcome.clean && !is_worse),
    }
}

/// Removes the devices of loads that were interrupted, and returns the error that ends the program. Those of groups are
/// removed before the result exists.
async fn after_interruption(outcome: &Outcome, keep: bool) -> Error {
    let (removed, left) = devices::remove_interrupted(keep).await;
    let (removed, left) = (outcome.removed + removed, outcome.left + left);
    Error::Refused(format!(
        "interrupted; {removed} devices, users or tenants removed, {left} could not be removed"
    ))
}

impl ScenarioFile {
    /// Returns whether the file uses the target of the command line; otherwise it only starts its own servers.
    fn uses_target(&self) -> bool {
        let by_loads = || self.phases.iter().flat_map(|phase| &phase.loads).any(Load::uses_target);
        self.plan.as_ref().map_or_else(by_loads, |plan| plan.servers.is_none())
    }

    /// Returns the addresses of the workers and the scenario file that they receive; `None` without `--workers`.
    fn assignments(&self, settings: &RunFile) -> Option<Assignments> {
        let addresses = settings.workers.clone();
        (!addresses.is_empty()).then(|| Assignments { addresses, file: self.source.clone() })
    }

    fn target(&self, target: &Target) -> String {
        let servers = self.plan.as_ref().and_then(|plan| plan.servers.as_ref());
        servers
            .map_or(target.authority().to_owned(), |servers| format!("{} servers of its own", servers.count))
    }
}

fn write(file: Option<&Path>, text: impl FnOnce() -> Result<String, Error>) -> Result<(), Error> {
    let Some(file) = file else { return Ok(()) };
    let unwritable = |error| Error::Refused(format!("{} cannot be written: {error}", file.display()));
    fs::write(file, text()?).map_err(unwritable)
}

/// A run under way.
struct Watched<'a> {
    file: &'a ScenarioFile,
    live: &'a Live,
    pulse: &'a Pulse,
    started: Instant,
}

impl Watched<'_> {
    /// Plays all phases. Returns the reason why the run ended early, if it did, and whether a missed threshold ended
    /// it.
    async fn played(
        &self,
        population: Option<&mut Population>,
        target: Option<&Target>,
        phases: &mut Vec<PhaseOutcome>,
    ) -> Result<(Option<String>, bool), Error> {
        let lost = async {
            match target {
                Some(target) => target.lost().await,
                None => std::future::pending().await,
            }
        };
        Ok(tokio::select! {
            () = self.play(population, phases) => (None, false),
            reason = self.missed() => (Some(reason), true),
            signal = interrupted() => {
                signal?;
                (Some(INTERRUPTED.to_owned()), false)
            }
            reason = lost => (Some(reason), false),
        })
    }

    /// Waits until a threshold that ends the run is missed, and returns which one.
    async fn missed(&self) -> String {
        loop {
            sleep(CHECK_INTERVAL).await;
            if let Some(reason) = self.live.missed(&self.file.phases, &self.pulse.so_far()) {
                return reason;
            }
        }
    }

    /// Runs the phases. The outcome of a phase is created when the phase starts, so that an interrupted phase has a
    /// result.
    async fn play(&self, mut population: Option<&mut Population>, phases: &mut Vec<PhaseOutcome>) {
        let (file, since) = (self.file, || self.started.elapsed().as_secs_f64());
        for (number, phase) in (1..).zip(&file.phases) {
            eprintln!("{:>7.1} s: phase {number} of {}, {}", since(), file.phases.len(), phase.name);
            let begins = since();
            self.live.begin(number - 1, begins);
            phases.push(PhaseOutcome {
                name: phase.name.clone(),
                started: begins,
                ended: f64::INFINITY,
                ..PhaseOutcome::default()
            });
            let groups = async {
                match population.as_deref_mut() {
                    Some(population) => Box::pin(population.play()).await.err(),
                    None => None,
                }
            };
            let (mut loads, failure) = tokio::join!(run_loads(phase), groups);
            loads.extend(failure.map(|error| LoadOutcome::of("faults".to_owned(), Err(error))));
            let last = phases.last_mut().expect("it was pushed before");
            (last.ended, last.loads) = (since(), loads);
            if last.loads.iter().any(|load| load.scenario == "faults") {
                return;
            }
        }
    }
}

async fn run_loads(phase: &Phase) -> Vec<LoadOutcome> {
    join_all(phase.loads.iter().map(async |load| {
        LoadOutcome::of(load.scenario.clone(), Box::pin(scenario::run(&load.arguments)).await)
    }))
    .await
}
