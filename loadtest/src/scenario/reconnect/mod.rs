//! `reconnect`: all devices of a fleet connect at once, as after a restart of the server. Each sends a
//! handshake with its own credentials, subscribes and polls, over its own connection. All must hold their
//! polls in time, and be rejected by nothing but a 503 with `Retry-After`. They may disconnect and reconnect:
//! then the server has their credentials cached.

mod certificates;
mod enrolment;
mod storm;

use std::sync::Arc;
use std::time::Duration;

use self::enrolment::Enrolment;
use self::storm::{ReconnectingDevice, Storm};
use super::Bench;
use super::gauge::ParkedPolls;
use crate::cli::Reconnect;
use crate::error::Error;
use crate::ledger::latency::{Delay, Latency};
use crate::report::{Cpu, Fact, Report};
use crate::target::child::ServerChild;

/// The time beyond the limit in which the run still waits.
const OVERTIME: Duration = Duration::from_secs(60);

/// The result of one storm.
struct Outcome {
    facts: Vec<Fact>,
    seconds: f64,
    cpu: Cpu,
    latency: Latency,
}

/// Runs the scenario. Time, CPU and latency are those of the last storm.
pub(super) async fn run(bench: &Bench, settings: &Reconnect) -> Result<Report, Error> {
    let server = start(bench, settings).await?;
    let devices = Enrolment::of(&bench.target, settings).await?;
    let server = match server {
        Some(running) => {
            running.stop().await?;
            start(bench, settings).await?
        }
        None => None,
    };
    // The measured process is the one that is running now.
    let bench = &Bench::new(&bench.common)?;
    let reconnecting = devices.reconnecting(&bench.target)?;
    let limit = Duration::from_secs(settings.within);
    let mut parked = ParkedPolls::new(&bench.target).await?;
    let mut last = storm(bench, &reconnecting, &mut parked, limit).await;
    for _ in 0..settings.returns {
        parked.emptied(OVERTIME).await;
        let again = storm(bench, &reconnecting, &mut parked, limit).await;
        last = Outcome { facts: [last.facts, again.facts].concat(), ..again };
    }
    let report = report(bench, settings, last);
    let devices_left = devices.remove(bench).await;
    if let Some(server) = server {
        server.stop().await?;
    }
    Ok(Report { devices_left, ..report })
}

/// Lets all devices connect, and disconnect when all hold their polls.
async fn storm(
    bench: &Bench,
    reconnecting: &[Arc<ReconnectingDevice>],
    parked: &mut ParkedPolls,
    limit: Duration,
) -> Outcome {
    let count = reconnecting.len();
    let window = bench.open_window();
    let storm = Arc::new(Storm::new());
    let watching = async {
        parked.watch(count, limit + OVERTIME).await;
        storm.end();
    };
    let (held, ()) = tokio::join!(storm.run(reconnecting, limit + OVERTIME), watching);
    let (seconds, cpu) = bench.close_window(&window);
    let mut facts = storm.facts(count);
    facts.extend(parked.facts(count, limit));
    // Dropping the connections ends the polls.
    drop(held);
    Outcome { facts, seconds, cpu, latency: Latency::of(&storm.latency()) }
}

async fn start(bench: &Bench, settings: &Reconnect) -> Result<Option<ServerChild>, Error> {
    match &settings.server_command {
        Some(command) => ServerChild::start(&bench.target, command, &settings.server_log).await.map(Some),
        None => Ok(None),
    }
}

fn report(bench: &Bench, settings: &Reconnect, last: Outcome) -> Report {
    let Outcome { facts, seconds, cpu, latency } = last;
    let clean = facts.iter().all(|fact| fact.holds);
    let delays = vec![Delay { kind: "until the poll was sent", latency }];
    Report { seconds, clean, facts, delays, cpu: Some(cpu), ..bench.report("reconnect", settings) }
}
