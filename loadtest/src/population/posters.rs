//! Posts and reads on a fixed schedule at the servers in turn. The posts of a device are sent one after the other, so
//! that their
//! order is defined.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Shared;
use super::clients::{OPERATIONS, topic};
use super::plan::{Act, Mode, Reader, Transport};
use super::template::{self, Values};
use crate::error::Error;
use crate::ledger::Outcome;
use crate::ledger::mark::Mark;
use crate::ledger::session::{Promise, TOPICS};
use crate::protocol::body::{self, Kind};
use crate::protocol::csv::verdict::Verdict;
use crate::protocol::csv::{ACCEPT, x_id};
use crate::target::connection::Connection;
use crate::target::pages::Page;
use crate::traffic::poster::Responses;

/// The longest time until a response.
const RESPONSE_LIMIT: Duration = Duration::from_secs(5);
/// A post that waits longer than this for its connection is late, in microseconds.
const LATE: u64 = 10_000;
/// A post that waits longer than this is not sent, in microseconds.
const OVERTIME: u64 = 30_000_000;
/// The key that counts responses 503 without Retry-After.
const UNANNOUNCED: &str = "503 without Retry-After";
/// The pause after an unsuccessful response.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// A post that is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    /// The due time in microseconds of the run.
    pub(super) at: u64,
    /// The place of the phase and the group among the [`Posted`].
    pub(super) slot: usize,
    pub(super) device: u32,
    /// The kind of post or read.
    pub(super) act: Act,
    /// The number of the query among those of the group, for reads.
    pub(super) query: usize,
    pub(super) mode: Mode,
    /// The number of objects in the post.
    pub(super) rows: u32,
}

/// The posts of a group in a phase.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Posted {
    pub(super) responses: Responses,
    pub(super) reads: Responses,
    /// The number of accepted operations, and the number without a response.
    pub(super) operations: [usize; 2],
    /// The posts that were sent more than 10 ms after they were due.
    pub(super) late: u64,
    /// The posts that were not sent within 30 s.
    pub(super) unsent: u64,
}

impl Posted {
    pub(super) fn add(&mut self, other: &Self) {
        self.responses.add(&other.responses);
        self.reads.add(&other.reads);
        (0..2).for_each(|outcome| self.operations[outcome] += other.operations[outcome]);
        self.late += other.late;
        self.unsent += other.unsent;
    }

    /// Returns the number of posts with a response 5xx, except 503 with Retry-After.
    pub(super) fn server_errors(&self) -> u64 {
        let by_status = self.responses.by_status.iter();
        by_status
            .filter(|(status, _)| status.starts_with('5') && *status != "503")
            .map(|(_, count)| count)
            .sum()
    }

    /// Returns the number of posts that were neither accepted nor rejected with 503.
    pub(super) fn failures(&self) -> u64 {
        self.responses.failures() - self.responses.by_status.get("503").copied().unwrap_or_default()
    }
}

/// The connections that post. After they are dropped, they send what is due and end.
#[derive(Debug)]
pub(super) struct Posters {
    dues: Vec<mpsc::UnboundedSender<Due>>,
    tasks: JoinSet<()>,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Posters {
    /// Starts `count` connections for this number of groups in all phases.
    pub(super) fn start(shared: &Arc<Shared>, count: u32, slots: usize) -> Self {
        let posted = (0..slots).map(|_| Posted::default()).collect();
        let posted = Arc::new(Mutex::new(posted));
        let mut posters = Self { dues: Vec::new(), tasks: JoinSet::new(), posted };
        for number in 0..count as usize {
            let (sender, dues) = mpsc::unbounded_channel();
            posters.dues.push(sender);
            let poster = Poster {
                shared: Arc::clone(shared),
                connections: shared.targets.iter().map(|_| None).collect(),
                turn: number,
                read: number as u64,
                posted: Arc::clone(&posters.posted),
            };
            posters.tasks.spawn(poster.post_all(dues));
        }
        posters
    }

    /// Returns the queues of due posts. All posts of a device go to the same queue.
    pub(super) fn queues(&self) -> Vec<mpsc::UnboundedSender<Due>> {
        self.dues.clone()
    }

    /// Waits until all due posts are sent. Returns the posts of each slot.
    pub(super) async fn finish(&mut self) -> Vec<Posted> {
        self.dues.clear();
        while self.tasks.join_next().await.is_some() {}
        std::mem::take(&mut *self.posted.lock())
    }
}

/// A connection to each server.
#[derive(Debug)]
struct Poster {
    shared: Arc<Shared>,
    connections: Vec<Option<Connection>>,
    turn: usize,
    /// The number of reads so far.
    read: u64,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Poster {
    async fn post_all(mut self, mut dues: mpsc::UnboundedReceiver<Due>) {
        while let Some(due) = dues.recv().await {
            let lateness = self.shared.run.now().saturating_sub(due.at);
            self.note(due, |posted| {
                if due.act == Act::Read {
                    // A read that was not sent is one that failed; its latency shows when it was late.
                    let unsent = posted.reads.by_status.entry("not sent".to_owned());
                    *unsent.or_default() += u64::from(lateness > OVERTIME);
                    return;
                }
                posted.late += u64::from(lateness > LATE);
                posted.unsent += u64::from(lateness > OVERTIME);
            });
            match due.act {
                _ if lateness > OVERTIME => {}
                Act::Read => self.read(due).await,
                _ => self.post(due).await,
            }
        }
    }

    fn note(&self, due: Due, note: impl FnOnce(&mut Posted)) {
        note(&mut self.posted.lock()[due.slot]);
    }

    /// Posts to the next server, and records the post and its response.
    async fn post(&mut self, due: Due) {
        let shared = Arc::clone(&self.shared);
        self.turn += 1;
        let server = shared.balancer.server_from(self.turn);
        let object = due.act.object();
        let lane = due.device * TOPICS + object.map_or(OPERATIONS, topic);
        let promise = Promise { stores: due.mode.stores(), notifies: due.mode.notifies() };
        let mark = shared.run.post(lane, due.rows, due.at);
        let (kind, request) = self.request(server, due, |kind, id| self.body(due, kind, id, mark));
        for _ in 0..due.rows {
            shared.ledger.lock().post(lane, promise, server, due.at, shared.run.now());
        }
        let exchanged = timeout(RESPONSE_LIMIT, self.exchange(server, kind, &request)).await;
        let now = shared.run.now();
        let verdict = exchanged.unwrap_or(Err(Error::Timeout("posting"))).unwrap_or_else(|_| {
            shared.balancer.leave_out(server);
            self.connections[server] = None;
            Verdict::none()
        });
        let is_accepted = verdict.outcome == Outcome::Acknowledged;
        // A write that is not to be stored counts as rejected, so finding it in the database is an error.
        let stored = if is_accepted && !promise.stores { Outcome::Refused } else { verdict.outcome };
        shared.run.settle(mark, due.rows, stored);
        self.note(due, |posted| {
            *posted.responses.by_status.entry(verdict.counted_as).or_default() += 1;
            if object.is_none() {
                posted.operations[0] += usize::from(is_accepted);
                posted.operations[1] += usize::from(verdict.outcome == Outcome::Unknown);
            }
            if is_accepted {
                posted.responses.latency.record(now.saturating_sub(due.at));
            }
        });
        if is_accepted {
            for row in 0..due.rows {
                shared.ledger.lock().acknowledge(lane, mark.sequence + row, now);
            }
            shared.series.posted(now.saturating_sub(due.at));
        } else {
            shared.series.failed();
            sleep(PAUSE_AFTER_FAILURE).await;
        }
    }

    /// Returns the request of a post: the device sends its own objects, the administrator sends operations.
    fn request(&self, server: usize, due: Due, body: impl Fn(Kind, &str) -> String) -> (Kind, Vec<u8>) {
        let world = &self.shared.world;
        let device = &world.devices[due.device as usize];
        let target = &self.shared.targets[server];
        match (due.act.object(), device.transport) {
            (None, _) => {
                let target = world.administrator(device.home).at(target);
                (Kind::Operation, target.post(Kind::Operation.path(), &body(Kind::Operation, &device.id)))
            }
            (Some(object), Transport::CsvPoll) => {
                let kind = Kind::CustomRow(object);
                let headers = x_id(&world.x_ids(device.home)[0]) + ACCEPT;
                (kind, device.login.at(target).post_bare(&headers, kind.path(), &body(kind, &device.id)))
            }
            (Some(object), _) => {
                let kind = match due.rows {
                    1 => object.notified_kind(),
                    rows => Kind::NotifiedMeasurements(rows),
                };
                let headers = format!("{}{}", target.quiet_post_headers(), due.mode.header());
                (kind, device.login.at(target).post_with(&headers, kind.path(), &body(kind, &device.id)))
            }
        }
    }

    /// Returns the body of a post: that of the scenario file, or one of this program.
    fn body(&self, due: Due, kind: Kind, id: &str, mark: Mark) -> String {
        let group = &self.shared.groups[due.slot % self.shared.groups.len()];
        match group.bodies.iter().find(|(act, _)| *act == due.act) {
            Some((_, template)) => {
                let values = Values { sequence: mark.sequence.into(), device: due.device, source: id };
                body::marked(&template.render(values, &self.shared.feeders), kind, id, mark, &template::now())
            }
            None => kind.body(id, mark),
        }
    }

    /// Reads a list or an object, and further pages of a list, and records the responses.
    async fn read(&mut self, due: Due) {
        let shared = Arc::clone(&self.shared);
        let device = &shared.world.devices[due.device as usize];
        let query = &shared.groups[due.slot % shared.groups.len()].queries[due.query];
        let user = match query.by {
            Reader::Device => &device.login,
            Reader::Administrator => shared.world.administrator(device.home),
        };
        let values = Values { sequence: self.read, device: due.device, source: &device.id };
        self.read += 1;
        self.turn += 1;
        let server = shared.balancer.server_from(self.turn);
        let mut link = Some(query.path.render(values, &shared.feeders));
        let mut since = due.at;
        for _ in 0..=query.follow {
            let Some(path) = link.take() else { return };
            let request = user.at(&shared.targets[server]).get(&path);
            let fetched = timeout(RESPONSE_LIMIT, self.fetch(server, &request)).await;
            let fetched = fetched.unwrap_or(Err(Error::Timeout("reading")));
            let now = shared.run.now();
            let status = match fetched {
                Ok((status, next)) => {
                    link = next.filter(|_| status == 200);
                    status.to_string()
                }
                Err(_) => {
                    shared.balancer.leave_out(server);
                    self.connections[server] = None;
                    "no response".to_owned()
                }
            };
            self.note(due, |posted| {
                if status == "200" {
                    posted.reads.latency.record(now.saturating_sub(since));
                }
                *posted.reads.by_status.entry(status).or_default() += 1;
            });
            // Further pages are read one after the other.
            since = now;
        }
    }

    /// Returns the status of a response and the link to the next page, if it has one.
    async fn fetch(&mut self, server: usize, request: &[u8]) -> Result<(u16, Option<String>), Error> {
        let response = self.connection(server).await?.call("reading", request).await?;
        let next = Page::read(response.body).ok().and_then(|page| page.next);
        Ok((response.status, next))
    }

    async fn exchange(&mut self, server: usize, kind: Kind, request: &[u8]) -> Result<Verdict, Error> {
        let response = self.connection(server).await?.call("posting", request).await?;
        Ok(match (response.status, response.retry_after) {
            (503, None) => Verdict { counted_as: UNANNOUNCED.to_owned(), ..Verdict::of_status(503) },
            (status, _) if kind.is_csv() => Verdict::of_rows(status, response.body, 1),
            (status, _) => Verdict::of_status(status),
        })
    }

    async fn connection(&mut self, server: usize) -> Result<&mut Connection, Error> {
        let kept = &mut self.connections[server];
        // A balancer does not use a connection that the server has closed meanwhile.
        kept.take_if(|connection| connection.is_stale());
        Ok(match kept {
            Some(connection) => connection,
            missing => missing.insert(self.shared.targets[server].connect().await?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_503_with_retry_after_does_not_count_as_a_server_error() {
        let counts = [("201", 5), ("503", 7), (UNANNOUNCED, 2), ("500", 1), ("no response", 3)];
        let mut posted = Posted::default();
        posted.responses.by_status = counts.map(|(status, count)| (status.to_owned(), count)).into();
        assert_eq!((posted.server_errors(), posted.failures()), (3, 6));
    }
}
