//! Posts on a fixed schedule, regardless of the responses; all posts for a device use one connection, so that
//! their order is defined.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::ledger::run::Run;
use crate::progress::Progress;
use crate::traffic::poster::{Poster, Responses};
use crate::traffic::schedule::Schedule;

/// The time between the start of a schedule and its first post, in microseconds.
const LEAD: u64 = 100_000;
/// The time after its due time in which a post is still sent when the server falls behind.
const OVERTIME: Duration = Duration::from_secs(120);

/// The rate and the duration of posting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Posts per second.
    pub(super) per_second: u32,
    /// The seconds before, in the ledger but not measured.
    pub(super) warmup: u64,
    /// The measured seconds.
    pub(super) seconds: u64,
    /// The number of connections that post.
    pub(super) posters: u32,
}

/// Posts the whole schedule. `poster` creates a connection that measures from a time on; `turns` returns the
/// endless sequence of devices of each connection.
pub(super) async fn post_all<Turns>(
    run: &Arc<Run>,
    ids: &Arc<Vec<String>>,
    load: Load,
    poster: impl Fn(u64) -> Poster,
    turns: impl Fn(u32) -> Turns,
) -> Responses
where
    Turns: Iterator<Item = usize> + Send + 'static,
{
    let schedule = Schedule::constant(run.now() + LEAD, load.per_second, load.warmup + load.seconds);
    let measured_from = schedule.due(u64::from(load.per_second) * load.warmup);
    run.measure_from(measured_from);
    let mut posters = JoinSet::new();
    let mut paced = Vec::new();
    for number in 0..load.posters {
        let (sender, dues) = mpsc::unbounded_channel();
        paced.push(sender);
        posters.spawn(post_some(poster(measured_from), dues, turns(number), Arc::clone(ids)));
    }
    let paced_run = Arc::clone(run);
    let pacer = std::thread::spawn(move || schedule.pace(&paced_run, &paced));
    Progress::pass("posting", run.instant(schedule.end())).await;
    let mut responses = Responses::default();
    while let Some(Ok(poster)) = posters.join_next().await {
        responses.add(&poster);
    }
    pacer.join().ok();
    responses
}

async fn post_some(
    mut poster: Poster,
    mut dues: mpsc::UnboundedReceiver<u64>,
    mut turns: impl Iterator<Item = usize>,
    ids: Arc<Vec<String>>,
) -> Responses {
    while let Some((due, device)) = dues.recv().await.zip(turns.next()) {
        if poster.lateness(due) > OVERTIME {
            break;
        }
        poster.post(device as u32, &ids[device], due).await;
    }
    poster.responses
}
