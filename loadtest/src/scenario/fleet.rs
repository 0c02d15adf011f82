//! `fleet`: the main job. Devices and dashboards hold connections, alarms arrive on a fixed schedule, and every
//! one must reach its device and every dashboard.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Bench;
use crate::audience::{Audience, Seat, Transport};
use crate::cli::Fleet;
use crate::devices;
use crate::error::Error;
use crate::ledger::Watch;
use crate::poster::{Answers, Poster};
use crate::progress::Progress;
use crate::report::{Deliveries, Memory, Posts, Report};
use crate::run::Run;
use crate::schedule::Schedule;

/// Time between the decision to post and the first alarm, in microseconds.
const LEAD: u64 = 100_000;
/// How late an alarm is still posted when the server fell behind the schedule.
const OVERTIME: Duration = Duration::from_secs(120);

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
    let answers = post_all(bench, &run, &ids, &settings).await;
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

/// Posts the whole schedule; all alarms of a device go through one poster, so their order is defined.
async fn post_all(bench: &Bench, run: &Arc<Run>, ids: &Arc<Vec<String>>, settings: &Fleet) -> Answers {
    let schedule = Schedule {
        start: run.now() + LEAD,
        per_second: settings.alarms_per_second,
        count: u64::from(settings.alarms_per_second) * (settings.warmup + settings.seconds),
    };
    let measured_from = schedule.due(u64::from(settings.alarms_per_second) * settings.warmup);
    run.measure_from(measured_from);
    let mut posters = JoinSet::new();
    let mut paced = Vec::new();
    for number in 0..settings.posters {
        let (sender, dues) = mpsc::unbounded_channel();
        paced.push(sender);
        let own_devices = (number as usize..ids.len()).step_by(settings.posters as usize);
        let poster = Poster::new(&bench.target, run, measured_from);
        posters.spawn(post_some(poster, dues, own_devices, Arc::clone(ids)));
    }
    let paced_run = Arc::clone(run);
    let pacer = std::thread::spawn(move || schedule.pace(&paced_run, &paced));
    let end = run.instant(schedule.end());
    Progress::pass("posting alarms", end).await;
    let mut answers = Answers::new();
    while let Some(Ok(poster)) = posters.join_next().await {
        answers.add(&poster);
    }
    pacer.join().ok();
    answers
}

async fn post_some(
    mut poster: Poster,
    mut dues: mpsc::UnboundedReceiver<u64>,
    own_devices: impl Iterator<Item = usize> + Clone,
    ids: Arc<Vec<String>>,
) -> Answers {
    let mut devices = own_devices.cycle();
    while let Some((due, device)) = dues.recv().await.zip(devices.next()) {
        if poster.lateness(due) > OVERTIME {
            break;
        }
        poster.post(device as u32, &ids[device], due).await;
    }
    poster.answers
}
