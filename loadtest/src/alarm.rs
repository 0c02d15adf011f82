//! Posting alarms: the body, the connection, and the counting of answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::connection::Connection;
use crate::error::Error;
use crate::ledger::Outcome;
use crate::mark::{FRAGMENT, Mark};
use crate::run::{Run, latency_histogram};
use crate::target::Target;

const PATH: &str = "/alarm/alarms";

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
}

/// One connection that posts alarms, one at a time: alarms of a device that go through the same poster are
/// ordered.
#[derive(Debug)]
pub(crate) struct Poster {
    target: Arc<Target>,
    run: Arc<Run>,
    connection: Option<Connection>,
    measured_from: u64,
    /// What was answered so far.
    pub(crate) answers: Answers,
}

impl Poster {
    /// A poster that counts alarms due from `measured_from` (microseconds of the run) on in the latencies.
    pub(crate) fn new(target: &Arc<Target>, run: &Arc<Run>, measured_from: u64) -> Self {
        Self {
            target: Arc::clone(target),
            run: Arc::clone(run),
            connection: None,
            measured_from,
            answers: Answers::new(),
        }
    }

    /// Posts the next alarm of a device, due at `due`, and enters it and its answer into the ledger. Every alarm
    /// has a type of its own, so none is de-duplicated.
    pub(crate) async fn post(&mut self, device: u32, id: &str, due: u64) -> Outcome {
        let mark = self.run.post(device, due);
        let request = self.target.post_alarm(PATH, &body(id, mark));
        let status = self.exchange(&request).await;
        let outcome = match status {
            Ok(201) => Outcome::Acknowledged,
            Ok(400..=499) => Outcome::Refused,
            _ => Outcome::Unknown,
        };
        self.run.settle(mark, outcome);
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

    /// How long ago an alarm was due.
    pub(crate) fn lateness(&self, due: u64) -> Duration {
        Duration::from_micros(self.run.now().saturating_sub(due))
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<u16, Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(self.target.connect().await?),
        };
        Ok(connection.call("posting an alarm", request).await?.status)
    }
}

fn body(source: &str, mark: Mark) -> String {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_millisecond(now.millisecond()).unwrap_or(now);
    json!({
        "type": format!("loadtest_{}_{}", mark.device, mark.sequence),
        "time": now.format(&Rfc3339).unwrap_or_default(),
        "text": "Raised by the load test",
        "severity": "MAJOR",
        "source": {"id": source},
        FRAGMENT: mark.to_string(),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarm_carries_its_mark_and_a_type_of_its_own() {
        let mark = Mark { run: 1, device: 2, sequence: 3, due: 4 };
        let text = body("208", mark);
        let alarm: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(alarm["type"], "loadtest_2_3");
        assert_eq!(alarm["source"]["id"], "208");
        assert!(alarm["time"].as_str().unwrap().ends_with('Z'));
        assert_eq!(Mark::scan(text.as_bytes()).collect::<Vec<_>>(), [mark]);
    }
}
