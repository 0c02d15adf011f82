//! `alarms`: how many alarms the server makes durable per second. Every connection posts its next alarm as soon
//! as the one before is answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Bench;
use crate::poster::{Answers, Poster};
use crate::cli::Alarms;
use crate::devices;
use crate::error::Error;
use crate::ledger::Outcome;
use crate::progress::Progress;
use crate::report::{Posts, Report};
use crate::run::Run;

/// Pause after a post that failed, so that a server that is away is not asked in a loop.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Alarms) -> Result<Report, Error> {
    let ids = Arc::new(devices::create(&bench.target, settings.devices as usize).await?);
    let run = Arc::new(Run::new(ids.len()));
    let measured_from = run.now() + settings.warmup * 1_000_000;
    let end = run.instant(measured_from) + Duration::from_secs(settings.seconds);
    let mut connections = JoinSet::new();
    for first in 0..settings.connections {
        let poster = Poster::new(&bench.target, &run, measured_from);
        let (ids, run, step) = (Arc::clone(&ids), Arc::clone(&run), settings.connections as usize);
        connections.spawn(post_until(end, poster, first as usize, step, run, ids));
    }
    Progress::pass("warming up", run.instant(measured_from)).await;
    let window = bench.open_window();
    Progress::pass("posting alarms", end).await;
    let mut answers = Answers::new();
    while let Some(Ok(connection)) = connections.join_next().await {
        answers.add(&connection);
    }
    let (seconds, cpu) = bench.close_window(&window);
    Ok(Report {
        seconds,
        clean: answers.failures() == 0,
        posts: Some(Posts::of(&answers, seconds)),
        cpu: Some(cpu),
        devices_left: bench.remove_devices(Arc::unwrap_or_clone(ids)).await,
        ..bench.report("alarms", settings)
    })
}

async fn post_until(
    end: Instant,
    mut poster: Poster,
    first: usize,
    step: usize,
    run: Arc<Run>,
    ids: Arc<Vec<String>>,
) -> Answers {
    let mut device = first % ids.len();
    while Instant::now() < end {
        if poster.post(device as u32, &ids[device], run.now()).await != Outcome::Acknowledged {
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
        device = (device + step) % ids.len();
    }
    poster.answers
}
