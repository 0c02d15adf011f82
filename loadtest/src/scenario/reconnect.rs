//! `reconnect`: all devices of a fleet come at once, as after a restart of the server. Each shakes hands with credentials of
//! its own, subscribes and polls, over a connection of its own; all must hold their polls in time, and be turned away by
//! nothing but a 503 that says when to come again.

mod gauge;
mod storm;

use std::sync::Arc;
use std::time::Duration;

use self::gauge::ParkedPolls;
use self::storm::{Comer, Storm};
use super::Bench;
use crate::cli::Reconnect;
use crate::error::Error;
use crate::fleet_registration::{Fleet, Rows};
use crate::report::{Cpu, Delay, Fact, Latency, Report};
use crate::server_child::ServerChild;

/// How much longer than it may take is waited.
const OVERTIME: Duration = Duration::from_secs(60);

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Reconnect) -> Result<Report, Error> {
    let server = start(bench, settings).await?;
    let count = settings.devices as usize;
    let rows = Rows { devices: count, agents: count, group: None };
    let fleet = Fleet::register(&bench.target, rows).await?;
    let ids = fleet.ids(&bench.target).await?;
    let server = match server {
        Some(running) => {
            running.stop().await?;
            start(bench, settings).await?
        }
        None => None,
    };
    // The process that is measured is the one that runs now.
    let bench = &Bench::new(&bench.common)?;
    let comers: Vec<Comer> = (0..count)
        .map(|number| Comer { id: ids[number].clone(), target: fleet.target(&bench.target, number) })
        .collect();

    let limit = Duration::from_secs(settings.within);
    let mut parked = ParkedPolls::new(&bench.target).await?;
    let window = bench.open_window();
    let storm = Arc::new(Storm::new());
    let (held, ()) = tokio::join!(storm.run(comers, limit + OVERTIME), parked.watch(count, limit + OVERTIME));
    let (seconds, cpu) = bench.close_window(&window);
    let mut facts = storm.facts(count);
    facts.extend(parked.facts(count, limit));
    // With the connections the polls go.
    drop(held);
    let report = report(bench, settings, facts, (seconds, cpu), Latency::of(&storm.latency()));
    let devices_left = bench.remove_fleet(&fleet, &ids).await;
    if let Some(server) = server {
        server.stop().await?;
    }
    Ok(Report { devices_left, ..report })
}

async fn start(bench: &Bench, settings: &Reconnect) -> Result<Option<ServerChild>, Error> {
    match &settings.server_command {
        Some(command) => ServerChild::start(&bench.target, command, &settings.server_log).await.map(Some),
        None => Ok(None),
    }
}

fn report(
    bench: &Bench,
    settings: &Reconnect,
    facts: Vec<Fact>,
    (seconds, cpu): (f64, Cpu),
    latency: Latency,
) -> Report {
    let clean = facts.iter().all(|fact| fact.holds);
    // The server keeps the head of a held poll back for a moment: what the gauge tells is a little earlier.
    let delays = vec![Delay { kind: "until the head came", latency }];
    Report { seconds, clean, facts, delays, cpu: Some(cpu), ..bench.report("reconnect", settings) }
}
