//! Posts on a fixed schedule at the servers in turn. The posts for a device are made one after the other, so that
//! their order is defined.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Shared;
use crate::body::Kind;
use crate::cli::Cluster;
use crate::connection::Connection;
use crate::csv::verdict::Verdict;
use crate::error::Error;
use crate::ledger::Outcome;
use crate::poster::Responses;
use crate::progress::Progress;
use crate::run::Run;
use crate::schedule::Schedule;

/// The time between the start of the schedule and its first post, in microseconds.
const LEAD: u64 = 100_000;
/// The longest time until a response.
const RESPONSE_LIMIT: Duration = Duration::from_secs(5);
/// The key under which 503 without Retry-After is counted.
const UNANNOUNCED: &str = "503 without Retry-After";
/// The pause after a response that is no success.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// The schedule of the posts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    schedule: Schedule,
    posters: u32,
    /// The time from which on alarms are measured, in microseconds of the run.
    pub(super) measured_from: u64,
}

impl Load {
    /// Returns a schedule that starts now.
    pub(super) fn new(run: &Run, settings: &Cluster) -> Self {
        let schedule = Schedule {
            start: run.now() + LEAD,
            per_second: settings.rate,
            count: u64::from(settings.rate) * (settings.warmup + settings.seconds),
        };
        let measured_from = schedule.due(u64::from(settings.rate) * settings.warmup);
        Self { schedule, posters: settings.posters.min(settings.polls), measured_from }
    }

    /// Returns when the last post is over, in microseconds of the run.
    pub(super) fn end(&self) -> u64 {
        self.schedule.end()
    }
}

/// A connection to each server.
#[derive(Debug)]
struct Poster {
    shared: Arc<Shared>,
    connections: Vec<Option<Connection>>,
    turn: usize,
    measured_from: u64,
    responses: Responses,
}

/// Posts the whole schedule.
pub(super) async fn post_all(shared: &Arc<Shared>, load: Load) -> Responses {
    let mut posters = JoinSet::new();
    let mut paced = Vec::new();
    for number in 0..load.posters as usize {
        let (sender, dues) = mpsc::unbounded_channel();
        paced.push(sender);
        let poster = Poster {
            shared: Arc::clone(shared),
            connections: shared.targets.iter().map(|_| None).collect(),
            turn: number,
            measured_from: load.measured_from,
            responses: Responses::new(),
        };
        posters.spawn(poster.post_some(dues, number, load.posters as usize));
    }
    let run = Arc::clone(&shared.run);
    let pacer = std::thread::spawn(move || load.schedule.pace(&run, &paced));
    Progress::pass("posting", shared.run.instant(load.end())).await;
    let mut responses = Responses::new();
    while let Some(Ok(of_poster)) = posters.join_next().await {
        responses.add(&of_poster);
    }
    pacer.join().ok();
    responses
}

impl Poster {
    async fn post_some(
        mut self,
        mut dues: mpsc::UnboundedReceiver<u64>,
        number: usize,
        posters: usize,
    ) -> Responses {
        let own = (number..self.shared.ids.len()).step_by(posters);
        // Each device is posted to another server the next time.
        let is_multiple = own.len() % self.shared.targets.len() == 0;
        let mut devices = own.cycle();
        while let Some((due, device)) = dues.recv().await.zip(devices.next()) {
            self.turn += usize::from(is_multiple && device == number);
            self.post(device, due).await;
        }
        self.responses
    }

    /// Posts the next alarm of a device to the next server, and records it and its response.
    async fn post(&mut self, device: usize, due: u64) {
        let shared = Arc::clone(&self.shared);
        self.turn += 1;
        let server = shared.balancer.server_from(self.turn);
        let mark = shared.run.post(device as u32, 1, due);
        let body = Kind::Alarm.body(&shared.ids[device], mark);
        let request = shared.targets[server].post(Kind::Alarm.path(), &body);
        shared.ledger().post(mark.device, server, due, shared.run.now());
        let exchanged = timeout(RESPONSE_LIMIT, self.exchange(server, &request)).await;
        let now = shared.run.now();
        let verdict = match exchanged {
            Ok(Ok((503, None))) => Verdict { counted_as: UNANNOUNCED.to_owned(), ..Verdict::of_status(503) },
            Ok(Ok((status, _))) => Verdict::of_status(status),
            Ok(Err(_)) | Err(_) => {
                shared.balancer.leave_out(server);
                self.connections[server] = None;
                Verdict::none()
            }
        };
        shared.run.settle(mark, 1, verdict.outcome);
        *self.responses.by_status.entry(verdict.counted_as).or_default() += 1;
        if verdict.outcome == Outcome::Acknowledged {
            shared.ledger().acknowledge(mark.device, mark.sequence, now);
            if due >= self.measured_from {
                self.responses.latency.saturating_record(now.saturating_sub(due));
            }
        } else {
            sleep(PAUSE_AFTER_FAILURE).await;
        }
    }

    /// Returns the status and `Retry-After` of the response.
    async fn exchange(&mut self, server: usize, request: &[u8]) -> Result<(u16, Option<u16>), Error> {
        let kept = &mut self.connections[server];
        // A balancer uses no connection that the server has closed meanwhile.
        kept.take_if(|connection| connection.is_stale());
        let connection = match kept {
            Some(connection) => connection,
            missing => missing.insert(self.shared.targets[server].connect().await?),
        };
        let response = connection.call("posting", request).await?;
        Ok((response.status, response.retry_after))
    }
}

/// Returns how many posts had a response 5xx, except 503 with Retry-After.
pub(super) fn server_errors(responses: &Responses) -> u64 {
    let errors = responses.by_status.iter().filter(|(status, _)| status.starts_with('5') && *status != "503");
    errors.map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_503_with_retry_after_is_no_error_of_the_server() {
        let counts = [("201", 5), ("503", 7), (UNANNOUNCED, 2), ("500", 1), ("no response", 3)];
        let by_status = counts.map(|(status, count)| (status.to_owned(), count)).into();
        assert_eq!(server_errors(&Responses { by_status, ..Responses::new() }), 3);
    }
}
