//! A closed loop: every connection posts again when it has the response to the post before, to measure the
//! highest rate of the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Bench;
use crate::ledger::Outcome;
use crate::ledger::run::Run;
use crate::progress::Progress;
use crate::report::Cpu;
use crate::traffic::poster::{Poster, Responses};

/// The pause after a post that failed, so that a server that is down is not called in a tight loop.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);

/// The number of connections that post, and the duration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// The number of connections.
    pub(super) connections: u32,
    /// The unmeasured seconds before.
    pub(super) warmup: u64,
    /// The measured seconds.
    pub(super) seconds: u64,
}

/// Posts to all devices in turn; returns the responses, the seconds measured, and the CPU used in them.
pub(super) async fn post_all(
    bench: &Bench,
    run: &Arc<Run>,
    ids: &Arc<Vec<String>>,
    load: Load,
    poster: impl Fn(u64) -> Poster,
) -> (Responses, f64, Cpu) {
    let measured_from = run.now() + load.warmup * 1_000_000;
    let end = run.instant(measured_from) + Duration::from_secs(load.seconds);
    let mut connections = JoinSet::new();
    for first in 0..load.connections {
        let (ids, run, step) = (Arc::clone(ids), Arc::clone(run), load.connections as usize);
        connections.spawn(post_until(end, poster(measured_from), first as usize, step, run, ids));
    }
    Progress::pass("warming up", run.instant(measured_from)).await;
    let window = bench.open_window();
    Progress::pass("posting", end).await;
    let mut responses = Responses::default();
    while let Some(Ok(connection)) = connections.join_next().await {
        responses.add(&connection);
    }
    let (seconds, cpu) = bench.close_window(&window);
    (responses, seconds, cpu)
}

async fn post_until(
    end: Instant,
    mut poster: Poster,
    first: usize,
    step: usize,
    run: Arc<Run>,
    ids: Arc<Vec<String>>,
) -> Responses {
    let mut device = first % ids.len();
    while Instant::now() < end {
        if poster.post(device as u32, &ids[device], run.now()).await != Outcome::Acknowledged {
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
        device = (device + step) % ids.len();
    }
    poster.responses
}
