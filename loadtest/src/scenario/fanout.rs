//! `fanout`: one alarm to all clients, again and again. Each client polls again at once, or reads on; the
//! next alarm is posted when all have received the one before, so deliveries per second are the server's
//! sustained broadcast rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::Bench;
use crate::audience::{Audience, ClientSpec};
use crate::cli::{Fanout, SharedChannel};
use crate::devices;
use crate::error::Error;
use crate::latency::{Delay, Latency};
use crate::ledger::{Outcome, Watch};
use crate::poster::Poster;
use crate::progress::Progress;
use crate::report::{Deliveries, Posts, Report};
use crate::run::{Run, latency_histogram};

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Fanout) -> Result<Report, Error> {
    let ids = devices::create(&bench.target, 1).await?;
    let run = Arc::new(Run::new(1));
    let before = bench.memory();
    let client_specs = client_specs(&run, &ids[0], settings);
    let audience = Audience::open(&bench.target, &run, client_specs, bench.common.connecting).await?;
    let held = bench.memory_at_rest().await;

    let warm_up = broadcast(bench, &run, &ids[0], settings.warmup).await;
    run.measure_from(run.now());
    let window = bench.open_window();
    let rounds = broadcast(bench, &run, &ids[0], settings.seconds).await;
    let (seconds, cpu) = bench.close_window(&window);
    bench.drain(&run).await;
    let after = bench.memory_at_rest().await;
    let facts = bench.polls_held(settings.clients as usize).await;
    let clients = audience.close();
    let ledger = run.audit();

    let failures = warm_up.poster.responses.failures() + rounds.poster.responses.failures();
    let latency = run.latency();
    Ok(Report {
        seconds,
        clean: ledger.is_clean()
            && failures == 0
            && clients.ended == 0
            && facts.iter().all(|fact| fact.holds),
        posts: Some(Posts::of(&rounds.poster.responses, seconds)),
        deliveries: Some(Deliveries::of(&latency, seconds)),
        delays: vec![Delay { kind: "post to last delivery", latency: Latency::of(&rounds.to_last_delivery) }],
        memory: bench.memory_of(settings.clients as usize, before, held, after),
        cpu: Some(cpu.per_delivery(latency.len())),
        facts,
        clients: Some(clients),
        ledger: Some(ledger),
        devices_left: bench.remove_devices(ids).await,
        ..bench.report("fanout", settings)
    })
}

fn client_specs(run: &Run, id: &str, settings: &Fanout) -> Vec<ClientSpec> {
    let (watch, channel) = match settings.channel {
        SharedChannel::Device => (Watch::Device(0), format!("/alarms/{id}")),
        SharedChannel::Wildcard => (Watch::All, "/alarms/*".to_owned()),
    };
    let client_spec = |_| ClientSpec {
        receiver: run.add_receiver(watch),
        channel: channel.clone(),
        transport: settings.transport,
    };
    (0..settings.clients).map(client_spec).collect()
}

/// Alarms that were posted one after the other.
struct Rounds {
    poster: Poster,
    /// The microseconds from each post to its last delivery.
    to_last_delivery: Histogram<u64>,
}

/// Posts one alarm after the other for some seconds; ends early when one does not reach all clients in time.
async fn broadcast(bench: &Bench, run: &Arc<Run>, id: &str, seconds: u64) -> Rounds {
    let mut poster = Poster::new(&bench.target, run, 0);
    let mut to_last_delivery = latency_histogram();
    let end = Instant::now() + Duration::from_secs(seconds);
    let rounds = async {
        while Instant::now() < end {
            let due = run.now();
            let outcome = poster.post(0, id, due).await;
            run.drain(Duration::from_secs(bench.common.drain)).await;
            if outcome != Outcome::Acknowledged || run.outstanding() > 0 {
                break;
            }
            to_last_delivery.saturating_record(run.last_delivery().saturating_sub(due));
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
