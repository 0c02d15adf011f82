//! `fanout`: one alarm to all clients, again and again. Each client polls again at once, or reads on; the next alarm is
//! posted when all have received the one before, so deliveries per second are the server's sustained broadcast rate.
//! With a channel for each client, alarms come at a fixed rate, each to one client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Bench;
use super::ordered::{self, Load};
use crate::cli::{Fanout, SharedChannel};
use crate::devices;
use crate::error::Error;
use crate::ledger::latency::Times;
use crate::ledger::latency::{Delay, Latency};
use crate::ledger::run::Run;
use crate::ledger::{Outcome, Watch};
use crate::progress::Progress;
use crate::report::{Cpu, Deliveries, Posts, Report};
use crate::traffic::audience::{Audience, ClientSpec};
use crate::traffic::poster::{Poster, Responses};

/// The connections that post on a schedule.
const POSTERS: u32 = 64;

/// The posts of a run.
struct Played {
    responses: Responses,
    /// The posts that failed, before the measurement too.
    failures: u64,
    delays: Vec<Delay>,
    seconds: f64,
    cpu: Cpu,
}

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Fanout) -> Result<Report, Error> {
    let is_own = settings.channel == SharedChannel::Own;
    let devices = if is_own { settings.clients as usize } else { 1 };
    let ids = Arc::new(devices::create(&bench.target, devices).await?);
    let run = Arc::new(Run::new(devices));
    let before = bench.memory();
    let client_specs = client_specs(&run, &ids, settings);
    let audience = Audience::open(&bench.target, &run, client_specs, bench.common.connecting).await?;
    let held = bench.memory_at_rest().await;

    let played = if is_own {
        on_schedule(bench, &run, &ids, settings).await
    } else {
        in_rounds(bench, &run, &ids[0], settings).await
    };
    let after = bench.memory_at_rest().await;
    let facts = bench.polls_held(settings.clients as usize).await;
    let clients = audience.close();
    let ledger = run.audit();

    let Played { responses, failures, delays, seconds, cpu } = played;
    let latency = run.latency();
    // The window of a schedule includes the posts before the measurement.
    let in_window = if is_own { ledger.delivered } else { latency.len() };
    Ok(Report {
        seconds,
        clean: ledger.is_clean()
            && failures == 0
            && clients.ended == 0
            && facts.iter().all(|fact| fact.holds),
        posts: Some(Posts::of(&responses, seconds)),
        deliveries: Some(Deliveries::of(&latency, seconds)),
        delays,
        memory: bench.memory_of(settings.clients as usize, before, held, after),
        cpu: Some(cpu.per_delivery(in_window)),
        facts,
        clients: Some(clients),
        ledger: Some(ledger),
        devices_left: bench.remove_devices(Arc::unwrap_or_clone(ids)).await,
        ..bench.report("fanout", settings)
    })
}

fn client_specs(run: &Run, ids: &[String], settings: &Fanout) -> Vec<ClientSpec> {
    let channel = settings.kind.channel();
    let client_spec = |(device, id): (u32, &String)| {
        let (watch, channel) = match settings.channel {
            SharedChannel::Device | SharedChannel::Own => (Watch::Device(device), format!("{channel}/{id}")),
            SharedChannel::Wildcard => (Watch::All, format!("{channel}/*")),
        };
        ClientSpec { receiver: run.add_receiver(watch), channel, transport: settings.transport }
    };
    (0..).zip(ids).cycle().take(settings.clients as usize).map(client_spec).collect()
}

/// Posts to the devices of all or some clients at a fixed rate, whatever arrives.
async fn on_schedule(bench: &Bench, run: &Arc<Run>, ids: &Arc<Vec<String>>, settings: &Fanout) -> Played {
    let speaking = settings.speaking.unwrap_or(settings.clients).min(settings.clients);
    let load = Load {
        per_second: settings.rate,
        warmup: settings.warmup,
        seconds: settings.seconds,
        posters: POSTERS.min(speaking),
    };
    let turns = |number| (number as usize..speaking as usize).step_by(load.posters as usize).cycle();
    let window = bench.open_window();
    let poster = |measured_from| poster(bench, run, measured_from, settings);
    let responses = ordered::post_all(run, ids, load, poster, turns).await;
    bench.drain(run).await;
    let (_, cpu) = bench.close_window(&window);
    let (failures, seconds) = (responses.failures(), settings.seconds as f64);
    Played { responses, failures, delays: Vec::new(), seconds, cpu }
}

fn poster(bench: &Bench, run: &Arc<Run>, measured_from: u64, settings: &Fanout) -> Poster {
    let headers = bench.target.post_headers().into();
    Poster::new(&bench.target, run, measured_from).with(settings.kind.notified_kind(), &headers)
}

/// Posts one object after the other, each when all clients have received the one before.
async fn in_rounds(bench: &Bench, run: &Arc<Run>, id: &str, settings: &Fanout) -> Played {
    let warm_up = broadcast(bench, run, id, settings, settings.warmup).await;
    run.measure_from(run.now());
    let window = bench.open_window();
    let rounds = broadcast(bench, run, id, settings, settings.seconds).await;
    let (seconds, cpu) = bench.close_window(&window);
    bench.drain(run).await;
    let failures = warm_up.poster.responses.failures() + rounds.poster.responses.failures();
    let to_last = Delay { kind: "post to last delivery", latency: Latency::of(&rounds.to_last_delivery) };
    Played { responses: rounds.poster.responses, failures, delays: vec![to_last], seconds, cpu }
}

/// Alarms that were posted one after the other.
struct Rounds {
    poster: Poster,
    /// The microseconds from each post to its last delivery.
    to_last_delivery: Times,
}

/// Posts one alarm after the other for some seconds; ends early when one does not reach all clients in time.
async fn broadcast(bench: &Bench, run: &Arc<Run>, id: &str, settings: &Fanout, seconds: u64) -> Rounds {
    let mut poster = poster(bench, run, 0, settings);
    let mut to_last_delivery = Times::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    let rounds = async {
        while Instant::now() < end {
            let due = run.now();
            let outcome = poster.post(0, id, due).await;
            run.drain(Duration::from_secs(bench.common.drain)).await;
            if outcome != Outcome::Acknowledged || run.outstanding() > 0 {
                break;
            }
            to_last_delivery.record(run.last_delivery().saturating_sub(due));
        }
    };
    // The bar ends on time, but the last round when all clients have received its alarm.
    let ticking = async {
        Progress::pass("broadcasting", end).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = rounds => {}
        () = ticking => {}
    }
    Rounds { poster, to_last_delivery }
}
