//! Posting: the connection, and the counting of answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::body::Kind;
use crate::connection::Connection;
use crate::error::Error;
use crate::ledger::Outcome;
use crate::run::{Run, latency_histogram};
use crate::target::Target;

/// What became of the posts of one or more posters.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Answers by status, warm-up included; `no answer` for broken connections.
    pub(crate) by_status: BTreeMap<String, u64>,
    /// Microseconds from the due time to the answer, of 201 answers to measured posts.
    pub(crate) latency: Histogram<u64>,
}

impl Answers {
    /// Nothing posted yet.
    pub(crate) fn new() -> Self {
        Self { by_status: BTreeMap::new(), latency: latency_histogram() }
    }

    /// Adds the answers of another poster.
    pub(crate) fn add(&mut self, other: &Self) {
        for (status, count) in &other.by_status {
            *self.by_status.entry(status.clone()).or_default() += count;
        }
        self.latency.add(&other.latency).expect("all latency histograms have the same bounds");
    }

    /// Posts that were not answered 201.
    pub(crate) fn failures(&self) -> u64 {
        self.by_status.iter().filter(|(status, _)| *status != "201").map(|(_, count)| count).sum()
    }

    /// Posts that were answered 4xx.
    pub(crate) fn refused(&self) -> u64 {
        self.by_status.iter().filter(|(status, _)| status.starts_with('4')).map(|(_, count)| count).sum()
    }
}

/// One connection that posts, one at a time: rows of a device that go through the same poster are ordered.
#[derive(Debug)]
pub(crate) struct Poster {
    target: Arc<Target>,
    run: Arc<Run>,
    kind: Kind,
    headers: Arc<str>,
    connection: Option<Connection>,
    measured_from: u64,
    /// What was answered so far.
    pub(crate) answers: Answers,
}

impl Poster {
    /// A poster of alarms that counts those due from `measured_from` (microseconds of the run) on in the latencies.
    pub(crate) fn new(target: &Arc<Target>, run: &Arc<Run>, measured_from: u64) -> Self {
        Self {
            target: Arc::clone(target),
            run: Arc::clone(run),
            kind: Kind::Alarm,
            headers: target.post_headers().into(),
            connection: None,
            measured_from,
            answers: Answers::new(),
        }
    }

    /// Posts this instead of alarms, with these complete header lines.
    pub(crate) fn with(self, kind: Kind, headers: &Arc<str>) -> Self {
        Self { kind, headers: Arc::clone(headers), ..self }
    }

    /// Counts what is due from here on (microseconds of the run) in the latencies, and starts the figures anew.
    pub(crate) fn measure_from(&mut self, micros: u64) -> Answers {
        self.measured_from = micros;
        std::mem::replace(&mut self.answers, Answers::new())
    }

    /// Posts the next row or rows of a device, due at `due`, and enters them and their answer into the ledger.
    pub(crate) async fn post(&mut self, device: u32, id: &str, due: u64) -> Outcome {
        self.post_one(self.kind, device, id, due).await
    }

    /// As [`Self::post`], of any kind.
    pub(crate) async fn post_one(&mut self, kind: Kind, device: u32, id: &str, due: u64) -> Outcome {
        let mark = self.run.post(device, kind.rows(), due);
        let request = self.target.post_with(&self.headers, kind.path(), &kind.body(id, mark));
        let status = self.exchange(&request).await;
        let outcome = match status {
            Ok(200..=299) => Outcome::Acknowledged,
            Ok(400..=499) => Outcome::Refused,
            _ => Outcome::Unknown,
        };
        self.run.settle(mark, kind.rows(), outcome);
        let counted_as = match status {
            Ok(status) => status.to_string(),
            Err(_) => {
                self.connection = None;
                "no answer".to_owned()
            }
        };
        *self.answers.by_status.entry(counted_as).or_default() += 1;
        if outcome == Outcome::Acknowledged && due >= self.measured_from {
            self.answers.latency.saturating_record(self.run.now().saturating_sub(due));
        }
        outcome
    }

    /// How long ago a post was due.
    pub(crate) fn lateness(&self, due: u64) -> Duration {
        Duration::from_micros(self.run.now().saturating_sub(due))
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<u16, Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(self.target.connect().await?),
        };
        Ok(connection.call("posting", request).await?.status)
    }
}
