//! `fleet`: the main job. Devices and dashboards hold connections, alarms arrive on a fixed schedule, and every
//! one must reach its device and every dashboard.

use std::sync::Arc;

use super::Bench;
use super::ordered::{self, Load};
use crate::audience::{Audience, Seat, Transport};
use crate::cli::Fleet;
use crate::devices;
use crate::error::Error;
use crate::ledger::Watch;
use crate::poster::Poster;
use crate::report::{Deliveries, Memory, Posts, Report};
use crate::run::Run;

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Fleet) -> Result<Report, Error> {
    let settings = Fleet { posters: settings.posters.min(settings.devices), ..settings.clone() };
    let ids = Arc::new(devices::create(&bench.target, settings.devices as usize).await?);
    let run = Arc::new(Run::new(ids.len()));
    let before = bench.memory();
    let seats = seats(&run, &ids, settings.dashboards);
    let polls = seats.len();
    let audience = Audience::open(&bench.target, &run, seats, bench.common.connecting).await?;
    let held = bench.memory_at_rest().await;

    let window = bench.open_window();
    let load = Load {
        per_second: settings.alarms_per_second,
        warmup: settings.warmup,
        seconds: settings.seconds,
        posters: settings.posters,
    };
    let poster = |measured_from| Poster::new(&bench.target, &run, measured_from);
    let (devices, posters) = (ids.len(), settings.posters as usize);
    let turns = |number| (number as usize..devices).step_by(posters).cycle();
    let answers = ordered::post_all(&run, &ids, load, poster, turns).await;
    bench.drain(&run).await;
    let (_, cpu) = bench.close_window(&window);
    let after = bench.memory_at_rest().await;
    let clients = audience.close();
    let ledger = run.audit();

    let seconds = settings.seconds as f64;
    Ok(Report {
        seconds,
        clean: ledger.is_clean() && answers.failures() == 0 && clients.ended == 0,
        posts: Some(Posts::of(&answers, seconds)),
        deliveries: Some(Deliveries::of(&run.latency(), seconds)),
        memory: Memory::of(polls, before, held, after),
        cpu: Some(cpu),
        clients: Some(clients),
        ledger: Some(ledger),
        devices_left: bench.remove_devices(Arc::unwrap_or_clone(ids)).await,
        ..bench.report("fleet", &settings)
    })
}

fn seats(run: &Run, ids: &[String], dashboards: u32) -> Vec<Seat> {
    let device_seats = (0..).zip(ids).map(|(device, id)| Seat {
        receiver: run.add_receiver(Watch::Device(device)),
        channel: format!("/alarms/{id}"),
        transport: Transport::LongPolling,
    });
    let dashboard_seats = (0..dashboards).map(|dashboard| Seat {
        receiver: run.add_receiver(Watch::All),
        channel: "/alarms/*".to_owned(),
        transport: if dashboard % 2 == 0 { Transport::LongPolling } else { Transport::WebSocket },
    });
    device_seats.chain(dashboard_seats).collect()
}
