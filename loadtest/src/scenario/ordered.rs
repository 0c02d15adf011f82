//! Posts on a fixed schedule, whatever the server does; all posts for a device go through one connection, so that their
//! order is defined.

use std::iter::repeat_with;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::poster::{Answers, Poster};
use crate::progress::Progress;
use crate::random;
use crate::run::Run;
use crate::schedule::Schedule;

/// Time between the decision to post and the first post, in microseconds.
const LEAD: u64 = 100_000;
/// How late something is still posted when the server fell behind the schedule.
const OVERTIME: Duration = Duration::from_secs(120);

/// How much is posted for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Posts per second.
    pub(super) per_second: u32,
    /// Seconds of posting before, in the ledger but not in the figures.
    pub(super) warmup: u64,
    /// Seconds of measured posting.
    pub(super) seconds: u64,
    /// Connections that post.
    pub(super) posters: u32,
}

/// Random devices without end, of those that belong to a connection.
pub(super) fn random_turns(
    number: u32,
    posters: u32,
    devices: usize,
) -> impl Iterator<Item = usize> + Send + use<> {
    let own: Vec<usize> = (number as usize..devices).step_by(posters as usize).collect();
    repeat_with(move || own[random::below(own.len() as u64) as usize])
}

/// Posts the whole schedule. `poster` makes a connection that counts from a time on; `turns` gives the devices of each
/// connection in the order they are posted to, without end.
pub(super) async fn post_all<Turns>(
    run: &Arc<Run>,
    ids: &Arc<Vec<String>>,
    load: Load,
    poster: impl Fn(u64) -> Poster,
    turns: impl Fn(u32) -> Turns,
) -> Answers
where
    Turns: Iterator<Item = usize> + Send + 'static,
{
    let schedule = Schedule {
        start: run.now() + LEAD,
        per_second: load.per_second,
        count: u64::from(load.per_second) * (load.warmup + load.seconds),
    };
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
    mut turns: impl Iterator<Item = usize>,
    ids: Arc<Vec<String>>,
) -> Answers {
    while let Some((due, device)) = dues.recv().await.zip(turns.next()) {
        if poster.lateness(due) > OVERTIME {
            break;
        }
        poster.post(device as u32, &ids[device], due).await;
    }
    poster.answers
}
