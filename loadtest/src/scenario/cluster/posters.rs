//! Posts on a fixed schedule at the servers in turn. The posts for a device are made one after the other, so that
//! their order is defined. A server that did not respond is left out for a while, as a balancer would do.

use std::sync::Arc;
use std::sync::atomic::Ordering;
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
/// How long a server that did not respond is left out, in microseconds; then a single post tries it again.
const AVOIDANCE: u64 = 1_000_000;
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
        let server = self.next_server();
        let shared = Arc::clone(&self.shared);
        let mark = shared.run.post(device as u32, 1, due);
        let body = Kind::Alarm.body(&shared.ids[device], mark);
        let request = shared.targets[server].post(Kind::Alarm.path(), &body);
        shared.ledger().post(mark.device, server, due, shared.run.now());
        let exchanged = timeout(RESPONSE_LIMIT, self.exchange(server, &request)).await;
        let now = shared.run.now();
        let verdict = match exchanged {
            Ok(Ok(status)) => {
                shared.avoided_until[server].store(0, Ordering::Relaxed);
                Verdict::of_status(status)
            }
            Ok(Err(_)) | Err(_) => {
                shared.avoided_until[server].store(now + AVOIDANCE, Ordering::Relaxed);
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

    /// Returns the next server in turn, except those that did not respond. When the time of such a one is over, one
    /// poster tries it.
    fn next_server(&mut self) -> usize {
        let (now, servers) = (self.shared.run.now(), self.shared.targets.len());
        self.turn += 1;
        let is_open = |server: &usize| {
            let avoided = &self.shared.avoided_until[*server];
            let until = avoided.load(Ordering::Relaxed);
            let tries_again = || {
                let next = now + RESPONSE_LIMIT.as_micros() as u64;
                avoided.compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            };
            until == 0 || (until <= now && tries_again())
        };
        let mut in_turn = (0..servers).map(|offset| (self.turn + offset) % servers);
        in_turn.find(is_open).unwrap_or(self.turn % servers)
    }

    async fn exchange(&mut self, server: usize, request: &[u8]) -> Result<u16, Error> {
        let connection = match &mut self.connections[server] {
            Some(connection) => connection,
            missing => missing.insert(self.shared.targets[server].connect().await?),
        };
        Ok(connection.call("posting", request).await?.status)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::session_ledger::SessionLedger;
    use crate::target::{Reach, Target};

    /// Returns a poster for three servers, of which the second is avoided until a time of the run.
    fn poster(avoided_until: u64) -> Poster {
        let target = || Target::resolve("http://127.0.0.1:1", Reach::Loopback, "a", "b").map(Arc::new);
        let shared = Shared {
            run: Arc::new(Run::new(0)),
            targets: (0..3).map(|_| target().unwrap()).collect(),
            ids: Vec::new(),
            is_round_robin: false,
            ledger: Mutex::new(SessionLedger::new(0)),
            causes: Mutex::default(),
            avoided_until: [0, avoided_until, 0].map(AtomicU64::new).into(),
        };
        let responses = Responses::new();
        Poster { shared: Arc::new(shared), connections: Vec::new(), turn: 2, measured_from: 0, responses }
    }

    fn next_servers(poster: &mut Poster) -> Vec<usize> {
        (0..6).map(|_| poster.next_server()).collect()
    }

    #[test]
    fn servers_take_turns() {
        assert_eq!(next_servers(&mut poster(0)), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn server_that_did_not_respond_is_left_out_and_tried_again_by_a_single_post() {
        assert_eq!(next_servers(&mut poster(u64::MAX)), [0, 2, 2, 0, 2, 2]);
        let mut poster = poster(1);
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(next_servers(&mut poster), [0, 1, 2, 0, 2, 2]);
    }
}
