//! The notifications of named consumers.

use serde::Serialize;

use crate::ledger::latency::Latency;
use crate::ledger::positions::PositionAudit;

/// The notifications that consumers received; latency is measured from the response to the write to the receipt.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Consumed {
    /// The expected notifications of all consumers, per second.
    per_second: f64,
    latency: Latency,
    /// The time from the due time of the write to the receipt.
    latency_after_due: Latency,
    #[serde(flatten)]
    audit: PositionAudit,
}

impl Consumed {
    /// Computes the figures over the seconds.
    pub(crate) fn of(audit: PositionAudit, seconds: f64) -> Self {
        Self {
            per_second: audit.received as f64 / seconds,
            latency: Latency::of(&audit.after_response),
            latency_after_due: Latency::of(&audit.after_due),
            audit,
        }
    }

    /// Returns whether every accepted write was received, in order, and no gap was reported.
    pub(crate) fn is_clean(&self) -> bool {
        self.audit.is_clean()
    }

    /// Returns the most important figures in a few words.
    pub(super) fn brief(&self) -> String {
        let PositionAudit { lost, holes, gaps, repeated, .. } = self.audit;
        let latency = self.latency.brief();
        format!(
            "{:.1}/s, {latency}, {repeated} repeated, {lost} lost, {holes} holes, {gaps} gaps",
            self.per_second
        )
    }

    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            ("consumed/s", format!("{:.0}", self.per_second)),
            ("response-to-consumer latency", self.latency.row()),
            ("due-to-consumer latency", self.latency_after_due.row()),
        ];
        rows.extend(self.audit.rows());
        rows
    }
}
