//! `measurements`: how many measurements, alarms or events the server commits per second, one or many per post; in a
//! closed loop, at a fixed rate, or at rising rates until it breaks.

use std::sync::Arc;

use super::Bench;
use super::closed_loop::{self, Load};
use super::open_loop::{OpenLoop, Outcomes};
use crate::cli::{Measurements, Ramp};
use crate::devices;
use crate::error::Error;
use crate::ledger::latency::Latency;
use crate::ledger::run::Run;
use crate::ledger::{Audit, Watch};
use crate::protocol::body::Kind;
use crate::protocol::object_kind::ObjectKind;
use crate::report::{Posts, Report, Step};
use crate::target::header_line;
use crate::traffic::poster::Poster;
use crate::traffic::read_back::{DEVICES, read_back};

/// The 99th percentile in milliseconds above which a server counts as broken.
const BROKEN: u32 = 1000;

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Measurements) -> Result<Report, Error> {
    let stores = settings.mode.as_deref().is_none_or(|mode| {
        !["TRANSIENT", "CEP"].iter().any(|transient| mode.eq_ignore_ascii_case(transient))
    });
    if settings.verify && !stores {
        return Err(Error::Refused("--verify: in this mode nothing is stored".to_owned()));
    }
    let kind = kind(settings)?;
    let ids = Arc::new(devices::create(&bench.target, settings.devices as usize).await?);
    let run = Arc::new(Run::new(ids.len()));
    let receiver = settings.verify.then(|| run.add_receiver(Watch::All));
    let headers: Arc<str> = headers(bench, settings).into();
    let poster = |measured_from| Poster::new(&bench.target, &run, measured_from).with(kind, &headers);
    let steady = settings.rate.map(|rate| Ramp { from: rate, to: rate });
    let mut report = match steady.or(settings.ramp) {
        Some(ramp) => {
            let posters = (0..settings.connections).map(|_| poster(0)).collect();
            climb(bench, settings, OpenLoop::new(&run, &ids, posters), ramp).await
        }
        None => {
            let &Measurements { connections, warmup, seconds, .. } = settings;
            let load = Load { connections, warmup, seconds };
            let (responses, seconds, cpu) = closed_loop::post_all(bench, &run, &ids, load, poster).await;
            let posts = Some(Posts::of_rows(&responses, seconds, kind.rows()));
            let clean = responses.failures() == 0;
            Report { seconds, clean, posts, cpu: Some(cpu), ..bench.report("measurements", settings) }
        }
    };
    if let Some(receiver) = receiver {
        read_back(&bench.target, &run, receiver, &[kind], &ids, DEVICES).await?;
        let ledger = run.audit();
        report.clean &= Audit::is_clean(&ledger);
        report.ledger = Some(ledger);
    }
    report.devices_left = bench.remove_devices(Arc::unwrap_or_clone(ids)).await;
    Ok(report)
}

/// Returns the kind of post.
///
/// # Errors
/// Alarms or events are to be posted as collections, which only measurements have.
fn kind(settings: &Measurements) -> Result<Kind, Error> {
    match (settings.kind, settings.per_post) {
        (kind, 1) => Ok(kind.kind()),
        (ObjectKind::Measurement, rows) => Ok(Kind::Measurements(rows)),
        (_, rows) => Err(Error::Refused(format!(
            "--per-post {rows}: only measurements are posted as collections; allowed is 1 with this --kind"
        ))),
    }
}

fn headers(bench: &Bench, settings: &Measurements) -> String {
    let headers =
        if settings.accept { bench.target.post_headers() } else { bench.target.quiet_post_headers() };
    let mode = settings.mode.iter().map(|mode| header_line(&format!("X-Platform-Processing-Mode: {mode}")));
    headers.to_owned() + &mode.collect::<String>()
}

/// Posts at rising rates; each step is printed when it is over, and the first that breaks the server is the
/// last.
async fn climb(bench: &Bench, settings: &Measurements, mut posters: OpenLoop, ramp: Ramp) -> Report {
    let window = bench.open_window();
    let mut steps = Vec::new();
    let mut warmup = settings.warmup;
    for rate in ramp.rates(settings.step) {
        let step = step(rate, settings.seconds, &posters.post(rate, warmup, settings.seconds).await);
        if ramp.from < ramp.to {
            eprintln!("{}", step.row());
        }
        let broke = step.broke;
        steps.push(step);
        if broke {
            break;
        }
        // The connections and the server's caches are warm.
        warmup = 0;
    }
    let (seconds, cpu) = bench.close_window(&window);
    // A ramp is there to find the breaking point; a requested rate must hold.
    let clean = ramp.from < ramp.to || steps.iter().all(|step| step.failed == 0 && step.unsent == 0);
    Report { seconds, clean, steps, cpu: Some(cpu), ..bench.report("measurements", settings) }
}

fn step(rate: u32, seconds: u64, outcomes: &Outcomes) -> Step {
    let latency = Latency::of(&outcomes.responses.latency);
    let failed = outcomes.responses.failures();
    Step {
        rate,
        per_second: outcomes.responses.latency.len() as f64 / seconds as f64,
        broke: failed > 0 || outcomes.unsent > 0 || !latency.is_within(BROKEN),
        failed,
        late: outcomes.late,
        unsent: outcomes.unsent,
        latency,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Arguments, Scenario};
    use crate::traffic::poster::Responses;

    fn outcomes(milliseconds: u64, failures: u64, unsent: u64) -> Outcomes {
        let mut responses = Responses::default();
        responses.latency.record_n(milliseconds * 1000, 100);
        responses.by_status.insert("201".to_owned(), 100);
        responses.by_status.insert("no response".to_owned(), failures);
        Outcomes { responses, late: 0, unsent }
    }

    #[test]
    fn kind_of_post_follows_from_the_settings() {
        let kind = |words: &str| {
            let words = ["loadtest", "measurements"].into_iter().chain(words.split_whitespace());
            let scenario = Arguments::parse_from(words).scenario;
            let Scenario::Measurements(settings) = scenario else { panic!("another scenario") };
            super::kind(&settings).map_err(|error| error.to_string())
        };
        assert_eq!(kind(""), Ok(Kind::Measurement));
        assert_eq!(kind("--per-post 5"), Ok(Kind::Measurements(5)));
        assert_eq!(kind("--kind alarm"), Ok(Kind::Alarm));
        assert_eq!(kind("--kind event"), Ok(Kind::Event));
        let error = kind("--kind alarm --per-post 5").unwrap_err();
        assert!(error.starts_with("--per-post 5: only measurements"), "{error}");
    }

    #[test]
    fn server_breaks_when_it_fails_leaves_posts_unsent_or_takes_more_than_a_second() {
        for (outcomes, broke) in [
            (outcomes(999, 0, 0), false),
            (outcomes(1100, 0, 0), true),
            (outcomes(5, 1, 0), true),
            (outcomes(5, 0, 1), true),
        ] {
            let step = step(20, 5, &outcomes);
            assert_eq!((step.broke, step.per_second), (broke, 20.0));
        }
    }
}
