//! `hold`: polls or sockets are held while nothing happens, to measure what an idle fleet costs the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Bench;
use crate::audience::{Audience, ClientSpec};
use crate::cli::Hold;
use crate::devices;
use crate::error::Error;
use crate::ledger::Watch;
use crate::progress::Progress;
use crate::report::Report;
use crate::run::Run;

/// Runs the scenario. It is clean when every client still holds its own at the end.
pub(super) async fn run(bench: &Bench, settings: &Hold) -> Result<Report, Error> {
    let ids = devices::create(&bench.target, settings.devices as usize).await?;
    let run = Arc::new(Run::new(ids.len()));
    let before = bench.memory();
    let channels = (0..settings.devices).zip(&ids).cycle();
    let client_specs: Vec<ClientSpec> = channels
        .take(settings.clients as usize)
        .map(|(device, id)| ClientSpec {
            receiver: run.add_receiver(Watch::Device(device)),
            channel: format!("/alarms/{id}"),
            transport: settings.transport,
        })
        .collect();
    let audience = Audience::open(&bench.target, &run, client_specs, bench.common.connecting).await?;
    let held = bench.memory_at_rest().await;
    let window = bench.open_window();
    Progress::pass("holding", Instant::now() + Duration::from_secs(settings.seconds)).await;
    let (seconds, cpu) = bench.close_window(&window);
    let after = bench.memory();
    let clients = audience.close();
    Ok(Report {
        seconds,
        clean: clients.reconnects == 0 && clients.ended == 0,
        memory: bench.memory_of(settings.clients as usize, before, held, after),
        cpu: Some(cpu),
        clients: Some(clients),
        devices_left: bench.remove_devices(ids).await,
        ..bench.report("hold", settings)
    })
}
