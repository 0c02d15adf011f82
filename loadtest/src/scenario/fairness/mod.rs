//! `fairness`: one tenant loads the server as much as it can, with each kind of load in turn. Another tenant sends
//! requests at a fixed rate, first alone and then beside each load. The 99th percentile of the other tenant must not
//! grow beyond a factor.

mod noise;
mod quiet;
mod tenants;

use std::time::Instant;

use super::Bench;
use crate::cli::{Fairness, NoiseKind};
use crate::error::Error;
use crate::ledger::latency::{Delay, Latency};
use crate::report::{Fact, Report};
use noise::Noise;
use quiet::{Measured, Quiet};
use tenants::Tenants;

/// Runs the scenario. The user must belong to tenant `management`, and must be allowed to create and delete tenants.
pub(super) async fn run(bench: &Bench, settings: &Fairness) -> Result<Report, Error> {
    let tenants = Tenants::create(&bench.target).await?;
    let measured = Box::pin(measure(&tenants, settings)).await;
    let is_removed = bench.common.keep || tenants.remove(&bench.target).await;
    let (rows, window) = measured?;
    let mut facts: Vec<Fact> = rows.iter().map(|row| row.fact(settings)).collect();
    let failed = rows.iter().map(|row| row.alone.failed + row.beside.failed).sum::<u64>();
    facts.push(Fact::number("requests of the quiet tenant that failed", failed as usize, 0));
    facts.push(Fact::any("tenants removed", is_removed.to_string()));
    let delays =
        rows.iter().map(|row| Delay { kind: row.kind.name(), latency: Latency::of(&row.beside.latency) });
    Ok(Report {
        seconds: window,
        clean: facts.iter().all(|fact| fact.holds),
        delays: delays.collect(),
        facts,
        ..bench.report("fairness", settings)
    })
}

/// The results of the quiet tenant alone and beside a kind of load.
struct Row {
    kind: NoiseKind,
    alone: Measured,
    beside: Measured,
    /// The load of the noisy tenant during the measurement, in words.
    noise: String,
}

async fn measure(tenants: &Tenants, settings: &Fairness) -> Result<(Vec<Row>, f64), Error> {
    let quiet = Quiet::prepare(&tenants.quiet, settings).await?;
    let begun = Instant::now();
    // The first requests of a server are slower than all others.
    quiet.measure(settings.warmup).await?;
    let mut rows = Vec::new();
    for kind in settings.kinds.iter().copied() {
        let prepared = noise::prepare(kind, &tenants.noisy, settings).await?;
        let alone = quiet.measure(settings.seconds).await?;
        let noise = Noise::begin(prepared, settings);
        tokio::time::sleep(std::time::Duration::from_secs(settings.warmup)).await;
        noise.restart_count();
        let beside = quiet.measure(settings.seconds).await?;
        let done = noise.end().await;
        let row = Row { kind, alone, beside, noise: done };
        eprintln!("{}: {}", kind.name(), row.text(settings));
        rows.push(row);
    }
    Ok((rows, begun.elapsed().as_secs_f64()))
}

impl Row {
    fn ratio(&self) -> f64 {
        self.beside.at(0.99) / self.alone.at(0.99).max(0.001)
    }

    fn text(&self, settings: &Fairness) -> String {
        let ratio = self.ratio();
        let judged = match ratio {
            _ if ratio <= settings.aim => "aim met",
            _ if ratio <= settings.most => "met",
            _ => "MISSED",
        };
        format!(
            "alone {:.1} / {:.1} ms, beside {:.1} / {:.1} ms, p99 {ratio:.2} x: {judged} ({})",
            self.alone.at(0.5),
            self.alone.at(0.99),
            self.beside.at(0.5),
            self.beside.at(0.99),
            self.noise
        )
    }

    fn fact(&self, settings: &Fairness) -> Fact {
        Fact {
            what: self.kind.name(),
            found: self.text(settings),
            expected: format!("p99 at most {} x", settings.most),
            holds: self.ratio() <= settings.most,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Arguments, Scenario};

    fn measured(milliseconds: u64) -> Measured {
        Measured { latency: (0..100).map(|_| milliseconds * 1000).collect(), failed: 0 }
    }

    #[test]
    fn growth_is_judged_by_the_aim_and_the_limit() {
        let Scenario::Fairness(settings) = Arguments::parse_from(["loadtest", "fairness"]).scenario else {
            panic!("another scenario")
        };
        for (beside, judged, holds) in [(29, "aim met", true), (39, ": met", true), (41, "MISSED", false)] {
            let (alone, beside, noise) = (measured(20), measured(beside), String::new());
            let fact = Row { kind: NoiseKind::Polls, alone, beside, noise }.fact(&settings);
            assert!(fact.found.contains(judged), "{}", fact.found);
            assert_eq!((fact.what, fact.holds), ("polls", holds));
        }
    }
}
