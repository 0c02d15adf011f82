//! A connection that posts, and counts responses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ledger::Outcome;
use crate::ledger::latency::Times;
use crate::ledger::run::Run;
use crate::protocol::body::Kind;
use crate::protocol::csv::verdict::{CLEAN, Verdict};
use crate::protocol::nchan;
use crate::target::Floor;
use crate::target::Target;
use crate::target::connection::{Connection, Traffic};

/// The number of response lines that are shown.
const EXAMPLES: usize = 5;

/// The responses to the posts of one or more posters.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Responses {
    /// The number of responses by status, warm-up included; `no response` for broken connections.
    pub(crate) by_status: BTreeMap<String, u64>,
    /// The microseconds from the due time to the response, for 201 responses to measured posts.
    pub(crate) latency: Times,
    /// The traffic of those posts, requests and responses.
    pub(crate) traffic: Traffic,
    /// The first responses to rows that had unexpected lines.
    pub(crate) lines: Vec<String>,
}

impl Responses {
    /// Adds the responses of another poster.
    pub(crate) fn add(&mut self, other: &Self) {
        for (status, count) in &other.by_status {
            *self.by_status.entry(status.clone()).or_default() += count;
        }
        self.latency.add(&other.latency);
        self.traffic.add(other.traffic);
        other.lines.iter().cloned().for_each(|line| self.show(line));
    }

    /// Keeps the first distinct responses.
    fn show(&mut self, line: String) {
        if self.lines.len() < EXAMPLES && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Returns the number of posts without a 201 response or, for rows, without an empty one.
    pub(crate) fn failures(&self) -> u64 {
        let failed = self.by_status.iter().filter(|(status, _)| !["201", CLEAN].contains(&status.as_str()));
        failed.map(|(_, count)| count).sum()
    }

    /// Returns the number of posts with a 4xx response.
    pub(crate) fn refused(&self) -> u64 {
        self.by_status.iter().filter(|(status, _)| status.starts_with('4')).map(|(_, count)| count).sum()
    }
}

/// The sender of posts for a device, if there is not one user for all.
#[derive(Debug)]
pub(crate) struct Sender {
    /// The server, accessed as that user.
    pub(crate) target: Arc<Target>,
    /// The complete header lines that name the device of rows.
    pub(crate) headers: String,
}

/// A connection that posts, one at a time: rows of a device that use the same poster are ordered.
#[derive(Debug)]
pub(crate) struct Poster {
    target: Arc<Target>,
    run: Arc<Run>,
    kind: Kind,
    headers: Arc<str>,
    senders: Option<Arc<Vec<Sender>>>,
    connection: Option<Connection>,
    measured_from: u64,
    /// The responses so far.
    pub(crate) responses: Responses,
}

impl Poster {
    /// Creates a poster of alarms that measures latencies for those due from `measured_from` (microseconds of
    /// the run) on.
    pub(crate) fn new(target: &Arc<Target>, run: &Arc<Run>, measured_from: u64) -> Self {
        Self {
            target: Arc::clone(target),
            run: Arc::clone(run),
            kind: Kind::Alarm,
            headers: target.post_headers().into(),
            senders: None,
            connection: None,
            measured_from,
            responses: Responses::default(),
        }
    }

    /// Posts this kind instead of alarms, with these complete header lines.
    pub(crate) fn with(self, kind: Kind, headers: &Arc<str>) -> Self {
        Self { kind, headers: Arc::clone(headers), ..self }
    }

    /// Sends the posts of each device by its own sender.
    pub(crate) fn from(self, senders: &Arc<Vec<Sender>>) -> Self {
        Self { senders: Some(Arc::clone(senders)), ..self }
    }

    /// Measures latencies for posts due from here on (microseconds of the run), and resets the figures.
    pub(crate) fn measure_from(&mut self, micros: u64) -> Responses {
        self.measured_from = micros;
        std::mem::take(&mut self.responses)
    }

    /// Posts the next row or rows of a device, due at `due`, and records them and their response in the
    /// ledger.
    pub(crate) async fn post(&mut self, device: u32, id: &str, due: u64) -> Outcome {
        self.post_one(self.kind, device, id, due).await
    }

    /// Posts as [`Self::post`] does, any kind.
    pub(crate) async fn post_one(&mut self, kind: Kind, device: u32, id: &str, due: u64) -> Outcome {
        let mark = if kind.is_csv() {
            self.run.post_apart(device, kind.rows(), due)
        } else {
            self.run.post(device, kind.rows(), due)
        };
        let body = kind.body(id, mark);
        let request = match self.target.floor() {
            Some(Floor::Nchan) => self.target.post(&nchan::publisher_path(kind, id), &body),
            None => self.request(kind, device, &body),
        };
        let (verdict, traffic) = match self.exchange(kind, &request).await {
            Ok(exchanged) => exchanged,
            Err(_) => {
                self.connection = None;
                (Verdict::none(), Traffic::default())
            }
        };
        match &verdict.rows {
            Some(rows) => self.run.settle_each(mark, rows),
            None => self.run.settle(mark, kind.rows(), verdict.outcome),
        }
        *self.responses.by_status.entry(verdict.counted_as).or_default() += 1;
        if let Some(line) = verdict.line {
            self.responses.show(line);
        }
        if verdict.outcome == Outcome::Acknowledged && due >= self.measured_from {
            self.responses.latency.record(self.run.now().saturating_sub(due));
            self.responses.traffic.add(traffic);
        }
        verdict.outcome
    }

    fn request(&self, kind: Kind, device: u32, body: &str) -> Vec<u8> {
        let sender = self.senders.as_ref().map(|senders| &senders[device as usize]);
        let target = sender.map_or(&self.target, |sender| &sender.target);
        let own = sender.filter(|_| kind.is_csv()).map_or("", |sender| &sender.headers);
        match (kind.is_bare(), own) {
            (false, _) => target.post_with(&self.headers, kind.path(), body),
            (true, "") => target.post_bare(&self.headers, kind.path(), body),
            (true, own) => target.post_bare(&format!("{}{own}", self.headers), kind.path(), body),
        }
    }

    /// Returns how long ago a post was due.
    pub(crate) fn lateness(&self, due: u64) -> Duration {
        Duration::from_micros(self.run.now().saturating_sub(due))
    }

    async fn exchange(&mut self, kind: Kind, request: &[u8]) -> Result<(Verdict, Traffic), Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(self.target.connect().await?),
        };
        let before = connection.traffic();
        let response = connection.call("posting", request).await?;
        let verdict = if kind.is_csv() {
            Verdict::of_rows(response.status, response.body, kind.rows())
        } else {
            Verdict::of_status(response.status)
        };
        Ok((verdict, connection.traffic().since(before)))
    }
}

#[cfg(test)]
#[path = "poster_tests.rs"]
mod tests;
