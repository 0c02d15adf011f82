//! Writes at the highest rate into a tenant with different numbers of consumers, in turns.

use super::super::closed_loop::{self, Load};
use super::crowd::Crowd;
use super::{Measured, Measuring, median};
use crate::error::Error;
use crate::ledger::latency::{Latency, Times};
use crate::protocol::consumer::reader::Reading;
use crate::report::Fact;
use crate::target::process::Process;

/// The bound of the backlog, which no reader may reach.
const MAX_BYTES: u64 = 1_073_741_824;
/// The least share of a single consumer's rate that each of several must reach.
const LEAST_SHARE: f64 = 0.6;

/// A turn with a number of consumers.
struct Turn {
    consumers: u32,
    /// The written rows per second.
    rows: f64,
    /// The notifications per second of the consumer that received the fewest.
    slowest: f64,
    /// The same on average.
    mean: f64,
    /// The notifications that were not received when the writes ended, per consumer.
    behind: f64,
    latency: Times,
    /// The CPU of the server and of its PostgreSQL in microseconds for each row; none if unknown.
    server_micros: Option<f64>,
    postgres_micros: Option<f64>,
    failed: u64,
}

/// Measures all turns.
pub(super) async fn measure(measuring: &Measuring<'_>) -> Result<Measured, Error> {
    let settings = measuring.settings;
    let (mut turns, mut facts) = (Vec::new(), Vec::new());
    for number in 0..settings.turns {
        for &consumers in &settings.counts {
            let (turn, verdict) = take(measuring, consumers).await?;
            eprintln!("turn {}: {}", number + 1, row(&[&turn]));
            // The table shows only the verdicts that do not hold.
            facts.extend(verdict.into_iter().filter(|fact| !fact.holds));
            turns.push(turn);
        }
    }
    let of_count = |count: u32| turns.iter().filter(|turn| turn.consumers == count).collect::<Vec<_>>();
    let mut table: Vec<Fact> =
        settings.counts.iter().map(|count| Fact::any("consumers", row(&of_count(*count)))).collect();
    table.extend(costs(&of_count(0), &turns));
    table.extend(share(&of_count(1), &turns));
    let failed = turns.iter().map(|turn| turn.failed).sum::<u64>();
    table.push(Fact::number("writes that failed", failed as usize, 0));
    table.push(Fact::number("turns that were not clean", facts.len(), 0));
    table.extend(facts);
    Ok(Measured { facts: table, ..Measured::default() })
}

async fn take(measuring: &Measuring<'_>, consumers: u32) -> Result<(Turn, Vec<Fact>), Error> {
    let (bench, settings) = (measuring.bench, measuring.settings);
    let run = measuring.new_run();
    let mut crowd = Crowd::create(&bench.target, &run, measuring.ids.len(), (consumers, MAX_BYTES)).await?;
    crowd.read(Reading { way: settings.way, batch: settings.batch, wait: 30 });
    let postgres = Process::postgres_below(&bench.server.into_iter().collect::<Vec<_>>());
    let postgres_cpu = || postgres.iter().filter_map(|one| one.cpu_seconds()).sum::<f64>();
    let &crate::cli::Consumers { connections, warmup, seconds, per_post, .. } = settings;
    let from = run.now() + warmup * 1_000_000;
    let load = Load { connections, warmup, seconds };
    let (before, poster) = (postgres_cpu(), |from| measuring.poster(&run, per_post, from));
    let (responses, window, cpu) = closed_loop::post_all(bench, &run, &measuring.ids, load, poster).await;
    // It includes the warm-up, unlike the CPU of the server.
    let postgres_seconds = (postgres_cpu() - before) * window / (window + warmup as f64);
    let newest = crowd.newest().await.unwrap_or_default();
    let behind = crowd.behind(newest) as f64 / f64::from(consumers.max(1));
    let received = crowd.received_within(from..from + seconds * 1_000_000);
    let rows = responses.latency.len() as f64 * f64::from(per_post);
    let per_second = |count: u64| count as f64 / seconds as f64;
    let closed = crowd.close().await?;
    let turn = Turn {
        consumers,
        rows: rows / window,
        slowest: received.iter().copied().min().map_or(0.0, per_second),
        mean: per_second(received.iter().sum()) / f64::from(consumers.max(1)),
        behind,
        latency: closed.audit.after_response.clone(),
        server_micros: cpu.server_micros(rows),
        postgres_micros: (!postgres.is_empty()).then_some(postgres_seconds * 1e6 / rows),
        failed: responses.failures(),
    };
    Ok((turn, closed.facts().into()))
}

/// Returns the medians of turns with the same number of consumers.
fn row(turns: &[&Turn]) -> String {
    let of = |value: fn(&Turn) -> f64| median(turns.iter().map(|turn| value(turn)));
    let mut latency = Times::default();
    turns.iter().for_each(|turn| latency.add(&turn.latency));
    let micros = |value: fn(&Turn) -> Option<f64>| {
        let known: Vec<f64> = turns.iter().filter_map(|turn| value(turn)).collect();
        if known.is_empty() { "unknown".to_owned() } else { format!("{:.1} µs", median(known.into_iter())) }
    };
    format!(
        "{:>3}: {:.0} written/s, {:.0} notifications/s each (slowest {:.0}), {:.0} behind at the end, response to \
         receipt {}; CPU for each write: server {}, PostgreSQL {}",
        turns.first().map_or(0, |turn| turn.consumers),
        of(|turn| turn.rows),
        of(|turn| turn.mean),
        of(|turn| turn.slowest),
        of(|turn| turn.behind),
        Latency::of(&latency).brief(),
        micros(|turn| turn.server_micros),
        micros(|turn| turn.postgres_micros),
    )
}

/// Returns what a notification costs the server beyond the write, if there were turns without consumers.
fn costs(without: &[&Turn], turns: &[Turn]) -> Option<Fact> {
    let of = |turns: &[&Turn]| {
        let known: Vec<f64> = turns.iter().filter_map(|turn| turn.server_micros).collect();
        (!known.is_empty()).then(|| median(known.into_iter()))
    };
    let most = turns.iter().map(|turn| turn.consumers).max().filter(|most| *most > 0)?;
    let with: Vec<&Turn> = turns.iter().filter(|turn| turn.consumers == most).collect();
    let micros = (of(&with)? - of(without)?) / f64::from(most);
    let found = format!("{micros:.2} µs, by the turns with {most} and without consumers");
    Some(Fact::any("server CPU for a notification", found))
}

/// Returns the rate of each of many consumers as a share of that of a single one.
fn share(single: &[&Turn], turns: &[Turn]) -> Option<Fact> {
    let most = turns.iter().map(|turn| turn.consumers).max().filter(|most| *most > 1)?;
    let alone = median(single.iter().map(|turn| turn.mean));
    let each = median(turns.iter().filter(|turn| turn.consumers == most).map(|turn| turn.slowest));
    (alone > 0.0).then(|| Fact {
        what: "rate of each of many",
        found: format!("{:.2} of that of a single consumer, each of {most}", each / alone),
        expected: format!("at least {LEAST_SHARE}"),
        holds: each / alone >= LEAST_SHARE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(consumers: u32, mean: f64, server_micros: f64) -> Turn {
        Turn {
            consumers,
            rows: 1000.0,
            slowest: mean - 10.0,
            mean,
            behind: 0.0,
            latency: Times::default(),
            server_micros: Some(server_micros),
            postgres_micros: None,
            failed: 0,
        }
    }

    #[test]
    fn costs_and_shares_come_from_the_medians_of_the_turns_with_most_consumers() {
        let turns = [turn(0, 0.0, 40.0), turn(1, 900.0, 50.0), turn(10, 710.0, 100.0), turn(1, 1000.0, 50.0)];
        let of = |count: u32| turns.iter().filter(|turn| turn.consumers == count).collect::<Vec<_>>();
        assert!(costs(&of(0), &turns).unwrap().found.starts_with("6.00 µs"));
        let fact = share(&of(1), &turns).unwrap();
        assert!(fact.holds && fact.found.starts_with("0.70 of"), "{}", fact.found);
        assert!(!share(&of(1), &[turn(1, 1000.0, 0.0), turn(10, 500.0, 0.0)]).unwrap().holds);
        assert!(share(&of(1), &[turn(1, 1000.0, 0.0)]).is_none() && costs(&[], &turns).is_none());
        assert!(row(&of(1)).contains("server 50.0 µs, PostgreSQL unknown"));
    }
}
