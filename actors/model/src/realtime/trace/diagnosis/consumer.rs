//! The way of changes to a consumer.

use super::super::record::TraceEvent;
use super::{ConsumerEvidence, Evidence, Finding, Findings, JournalEvidence, JournalVerdict, in_words};
use crate::origin::ProcessingMode;
use crate::realtime::consumer::Consumer;

impl Evidence {
    pub(super) fn explain_consumer(&self, evidence: &ConsumerEvidence, findings: &mut Findings) {
        let consumer = &evidence.consumer;
        findings.0.extend(evidence.entries.iter().map(|entry| explain_entry(consumer, entry)));
        self.explain_unstored(findings);
        if evidence.entries.is_empty() {
            let (id, since) = (self.id, self.since);
            let text = format!(
                "The journal has no change of {id} after {since}. It has what was committed since the tenant has a \
                 consumer, for as long as a consumer needs it."
            );
            findings.now("NOT_IN_JOURNAL", text);
        }
        let name = &consumer.name;
        if let Some(lapsed) = consumer.lapsed {
            let text = format!(
                "The consumer {name} lapsed at {lapsed}: its backlog was larger or older than its bounds. It continues \
                 when it is read."
            );
            findings.now("LAPSED", text);
        }
        let behind = consumer.backlog.notifications;
        let reader = match &consumer.reader {
            Some(reader) => {
                let (way, server) = (reader.way.as_str(), &reader.server);
                format!("The consumer {name} is read at {server} ({way})")
            }
            None => format!("Nobody reads the consumer {name}"),
        };
        findings.now("CONSUMER", format!("{reader}. Notifications behind its position: {behind}."));
    }

    /// Explains the changes that are in no journal, because of their modes.
    fn explain_unstored(&self, findings: &mut Findings) {
        for record in self.changes() {
            let (cause, mode) = match &record.event {
                TraceEvent::Published { mode: ProcessingMode::Transient, .. } => ("TRANSIENT", "TRANSIENT"),
                TraceEvent::NotPublished(_, mode) => ("NOT_PUBLISHED", mode.as_str()),
                _ => continue,
            };
            let text = format!(
                "A change was written in the mode {mode}, so it is not in the journal, and no consumer receives it."
            );
            findings.at(record, cause, text);
        }
    }
}

/// Explains an entry of the journal.
fn explain_entry(consumer: &Consumer, entry: &JournalEvidence) -> Finding {
    let (position, acknowledged) = (entry.position, consumer.position);
    let place = format!("It is number {position} of the journal, on {}", entry.channel);
    let is_missed = consumer.missed.is_some_and(|missed| (missed.from..=missed.to).contains(&position));
    let (cause, text) = match entry.verdict {
        JournalVerdict::OtherChannel => {
            let channels = in_words(&consumer.channels);
            ("NOT_SUBSCRIBED", format!("{place}; the channels of the consumer are {channels}."))
        }
        JournalVerdict::Filtered => {
            let filter = consumer.filter.as_ref().map_or("", |filter| filter.text());
            ("FILTER", format!("{place}; the filter of the consumer does not match: {filter}"))
        }
        JournalVerdict::Matches if is_missed => {
            let reason = "its backlog was larger or older than its bounds";
            ("LAPSED", format!("{place}, and lost for the consumer, which lapsed: {reason}."))
        }
        JournalVerdict::Matches if position <= acknowledged => {
            ("ACKNOWLEDGED", format!("{place}. The consumer has acknowledged {acknowledged} and all before."))
        }
        JournalVerdict::Matches => {
            let text = format!(
                "{place}. The consumer has acknowledged {acknowledged}, so it waits to be read or acknowledged."
            );
            ("WAITING", text)
        }
    };
    Finding { time: Some(entry.time), session: None, cause, text }
}
