//! `fleet`: the main scenario. Devices and dashboards hold connections, alarms (or other objects) are posted
//! on a fixed schedule, and each must reach its device and every dashboard.

use std::sync::Arc;

use super::Bench;
use super::ordered::{self, Load};
use crate::audience::{Audience, ClientSpec, Transport};
use crate::cli::Fleet;
use crate::devices;
use crate::error::Error;
use crate::ledger::Watch;
use crate::poster::Poster;
use crate::report::{Deliveries, Posts, Report};
use crate::run::Run;

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Fleet) -> Result<Report, Error> {
    let speaking = settings.speaking.unwrap_or(settings.devices).min(settings.devices);
    let settings = Fleet { posters: settings.posters.min(speaking), ..settings.clone() };
    let ids = Arc::new(devices::create(&bench.target, settings.devices as usize).await?);
    let run = Arc::new(Run::new(ids.len()));
    let before = bench.memory();
    let client_specs = client_specs(&run, &ids, &settings);
    let polls = client_specs.len();
    let long_polls =
        client_specs.iter().filter(|client_spec| client_spec.transport == Transport::LongPolling).count();
    let audience = Audience::open(&bench.target, &run, client_specs, bench.common.connecting).await?;
    let held = bench.memory_at_rest().await;

    let window = bench.open_window();
    let load = Load {
        per_second: settings.alarms_per_second,
        warmup: settings.warmup,
        seconds: settings.seconds,
        posters: settings.posters,
    };
    let headers = bench.target.post_headers().into();
    let poster = |measured_from| {
        Poster::new(&bench.target, &run, measured_from).with(settings.kind.notified_kind(), &headers)
    };
    let (speaking, posters) = (speaking as usize, settings.posters as usize);
    let turns = |number| (number as usize..speaking).step_by(posters).cycle();
    let responses = ordered::post_all(&run, &ids, load, poster, turns).await;
    bench.drain(&run).await;
    let (_, cpu) = bench.close_window(&window);
    let after = bench.memory_at_rest().await;
    let facts = bench.polls_held(long_polls).await;
    let clients = audience.close();
    let ledger = run.audit();

    let seconds = settings.seconds as f64;
    Ok(Report {
        seconds,
        clean: ledger.is_clean()
            && responses.failures() == 0
            && clients.ended == 0
            && facts.iter().all(|fact| fact.holds),
        posts: Some(Posts::of(&responses, seconds)),
        deliveries: Some(Deliveries::of(&run.latency(), seconds)),
        memory: bench.memory_of(polls, before, held, after),
        // The window includes the posts before the measurement.
        cpu: Some(cpu.per_delivery(ledger.delivered)),
        facts,
        clients: Some(clients),
        ledger: Some(ledger),
        devices_left: bench.remove_devices(Arc::unwrap_or_clone(ids)).await,
        ..bench.report("fleet", &settings)
    })
}

fn client_specs(run: &Run, ids: &[String], settings: &Fleet) -> Vec<ClientSpec> {
    let channel = settings.kind.channel();
    let of_devices = (0..).zip(ids).map(|(device, id)| ClientSpec {
        receiver: run.add_receiver(Watch::Device(device)),
        channel: format!("{channel}/{id}"),
        transport: Transport::LongPolling,
    });
    let of_dashboards = (0..settings.dashboards).map(|dashboard| ClientSpec {
        receiver: run.add_receiver(Watch::All),
        channel: format!("{channel}/*"),
        transport: if dashboard % 2 == 0 { Transport::LongPolling } else { Transport::WebSocket },
    });
    of_devices.chain(of_dashboards).collect()
}
