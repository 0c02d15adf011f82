//! Counts and durations.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ledger::latency::{Latency, Times};
use crate::traffic::poster::Responses;

/// Posts; latency is measured from the due time to the response.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Posts {
    /// The 201 responses in the measured window, per second.
    per_second: f64,
    /// The rows of these responses, per second, if a post has more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_per_second: Option<f64>,
    by_status: BTreeMap<String, u64>,
    /// The posts that were not accepted.
    failed: u64,
    latency: Latency,
}

impl Posts {
    /// Computes the figures of all posters over the measured seconds.
    pub(crate) fn of(responses: &Responses, seconds: f64) -> Self {
        Self::of_rows(responses, seconds, 1)
    }

    /// Computes the figures for posts of several rows.
    pub(crate) fn of_rows(responses: &Responses, seconds: f64, rows: u32) -> Self {
        let per_second = responses.latency.len() as f64 / seconds;
        Self {
            per_second,
            rows_per_second: (rows > 1).then(|| per_second * f64::from(rows)),
            by_status: responses.by_status.clone(),
            failed: responses.failures(),
            latency: Latency::of(&responses.latency),
        }
    }
}

/// Reads of groups; latency is measured from the due time to the complete response.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Queries {
    /// The responses 200, per second.
    per_second: f64,
    by_status: BTreeMap<String, u64>,
    /// The reads without a response 200.
    pub(crate) failed: u64,
    latency: Latency,
}

impl Queries {
    /// Computes the figures over the seconds; `None` if nothing was read.
    pub(crate) fn of(responses: &Responses, seconds: f64) -> Option<Self> {
        let mut by_status = responses.by_status.clone();
        by_status.retain(|_, count| *count > 0);
        let failed = by_status.iter().filter(|(status, _)| *status != "200").map(|(_, count)| count).sum();
        let latency = Latency::of(&responses.latency);
        let per_second = responses.latency.len() as f64 / seconds;
        (!by_status.is_empty()).then_some(Self { per_second, by_status, failed, latency })
    }

    pub(super) fn brief(&self) -> String {
        let Self { per_second, failed, latency, .. } = self;
        format!("{per_second:.1}/s, {}, {failed} failed", latency.brief())
    }

    pub(super) fn rows(&self) -> [(&'static str, String); 3] {
        [
            ("reads/s", format!("{:.1}", self.per_second)),
            ("reads by status", format!("{:?}", self.by_status)),
            ("read latency", self.latency.row()),
        ]
    }
}

/// Posts at one rate on a fixed schedule; latency is measured from the due time to the response.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Step {
    /// The number of posts due per second.
    pub(crate) rate: u32,
    /// The 201 responses to measured posts, per second of the schedule.
    pub(crate) per_second: f64,
    /// The posts that were sent and had no 201 response.
    pub(crate) failed: u64,
    /// The posts that were sent more than 10 ms after they were due, because every connection was waiting for
    /// a response.
    pub(crate) late: u64,
    /// The posts that were not sent within 5 s.
    pub(crate) unsent: u64,
    /// Whether the server failed, left posts unsent, or took more than a second at the 99th percentile.
    pub(crate) broke: bool,
    pub(crate) latency: Latency,
}

impl Step {
    /// Returns one line of text.
    pub(crate) fn row(&self) -> String {
        format!(
            "{:>6}/s  answered {:.0}/s  p50 {:.2}  p99 {:.2}  max {:.2} ms  failed {}  late {}  unsent {}{}",
            self.rate,
            self.per_second,
            self.latency.p50_ms,
            self.latency.p99_ms,
            self.latency.max_ms,
            self.failed,
            self.late,
            self.unsent,
            if self.broke { "  BROKE" } else { "" }
        )
    }
}

/// Reads of one kind; latency is measured from the request to the complete response.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Reads {
    /// The kind of request.
    pub(crate) kind: &'static str,
    /// The responses by status; empty if the server does not offer this request.
    pub(crate) by_status: BTreeMap<u16, u64>,
    /// The size of the last body in bytes.
    pub(crate) bytes: usize,
    pub(crate) latency: Latency,
}

impl Reads {
    /// Returns whether all responses were 200, and the 99th percentile is within a limit. A request that the
    /// server does not offer passes.
    pub(crate) fn is_within(&self, milliseconds: u32) -> bool {
        self.by_status.keys().all(|status| *status == 200) && self.latency.is_within(milliseconds)
    }
}

impl Reads {
    pub(super) fn row(&self) -> String {
        if self.by_status.is_empty() {
            "not offered by this server".to_owned()
        } else {
            format!("{}  {:?}, {} bytes", self.latency.row(), self.by_status, self.bytes)
        }
    }
}

/// The delays of the generator's own schedule.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Kept {
    /// The posts that were sent more than 10 ms after they were due.
    pub(crate) late: u64,
    /// The posts that were not sent, because they waited too long.
    pub(crate) unsent: u64,
}

impl Kept {
    pub(super) fn row(&self) -> (&'static str, String) {
        ("schedule", format!("late {}  unsent {}", self.late, self.unsent))
    }
}

/// Notifications; latency is measured from the due time of the post to the delivery.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Deliveries {
    per_second: f64,
    latency: Latency,
}

impl Deliveries {
    /// Computes the figures of all receivers over the measured seconds.
    pub(crate) fn of(latency: &Times, seconds: f64) -> Self {
        Self { per_second: latency.len() as f64 / seconds, latency: Latency::of(latency) }
    }
}

impl Posts {
    /// Returns the most important figures in a few words.
    pub(super) fn brief(&self) -> String {
        let Self { per_second, failed, latency, .. } = self;
        format!("{per_second:.1}/s, {}, {failed} failed", latency.brief())
    }

    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        if self.by_status.is_empty() {
            return Vec::new();
        }
        let mut rows = vec![("posts/s", format!("{:.0}", self.per_second))];
        rows.extend(self.rows_per_second.iter().map(|rate| ("rows/s", format!("{rate:.0}"))));
        rows.push(("posts by status", format!("{:?}", self.by_status)));
        rows.push(("post latency", self.latency.row()));
        rows
    }
}

impl Deliveries {
    /// Returns the most important figures in a few words.
    pub(super) fn brief(&self) -> String {
        let Self { per_second, latency } = self;
        format!("{per_second:.1}/s, {}", latency.brief())
    }

    pub(super) fn rows(&self) -> [(&'static str, String); 2] {
        [
            ("deliveries/s", format!("{:.0}", self.per_second)),
            ("post-to-delivery latency", self.latency.row()),
        ]
    }
}
