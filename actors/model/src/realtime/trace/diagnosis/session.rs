//! The way of a change in one session of the receiver.

use super::super::record::{EndReason, TraceEvent, TraceRecord, TracedChange};
use super::{Finding, in_words};
use crate::realtime::bayeux::channel::{Endpoint, Pattern};
use crate::realtime::client_session::ClientSession;
use crate::timestamp::Timestamp;

/// The microseconds after a change in which a move of the session may explain what became of it.
const AROUND_MOVE: i64 = 5_000_000;

/// A session of the receiver: as it is now, and its records.
#[derive(Default)]
pub(super) struct KnownSession<'a> {
    pub(super) present: Option<&'a ClientSession>,
    pub(super) records: Vec<&'a TraceRecord>,
}

/// The publications of one change at all servers, the first one first.
pub(super) type Published<'a> = [&'a TraceRecord];

/// When something happened, its cause, and a sentence.
type Verdict = (Timestamp, &'static str, String);

impl KnownSession<'_> {
    /// Explains the way of a change in this session.
    pub(super) fn explain(&self, session: &str, change: &TracedChange, published: &Published<'_>) -> Finding {
        let begun = published[0];
        let verdict = self
            .delivery(change, begun.at)
            .or_else(|| self.absence(begun))
            .or_else(|| self.rejection(change, published))
            .or_else(|| self.move_around(begun))
            .unwrap_or_else(|| {
                let text = "The session was subscribed, and no server recorded what became of it.";
                (begun.time(), "UNKNOWN", text.to_owned())
            });
        let (time, cause, text) = verdict;
        Finding { time: Some(time), session: Some(session.to_owned()), cause, text }
    }

    /// Explains a notification that the session had. Equal changes, such as two updates of one alarm, share the records
    /// after the second one.
    fn delivery(&self, change: &TracedChange, since: i64) -> Option<Verdict> {
        let is_about = |other: &TracedChange| {
            (other.source, other.id, &other.action) == (change.source, change.id, &change.action)
        };
        let last = self.records.iter().rfind(|record| {
            record.at >= since && record.event.change().is_some_and(|other| is_about(other))
        })?;
        let end = self.end().filter(|end| end.at >= last.at);
        let (cause, text) = match (&last.event, end) {
            (TraceEvent::Acknowledged(_), _) => ("ACKNOWLEDGED", "The client acknowledged it.".to_owned()),
            (TraceEvent::InList(_), _) => {
                ("IN_LIST", "The list with which the subscription began shows it.".to_owned())
            }
            (TraceEvent::Sent(_), end) => ("SENT", self.sent(last, end)),
            (_, Some(end)) => ("SESSION_ENDED", ended(end, "It waited in the queue")),
            (_, None) => {
                let text = "It waits in the queue, because the client holds no connect or reads slowly.";
                ("WAITING", text.to_owned())
            }
        };
        Some((last.time(), cause, text))
    }

    /// Returns a sentence about a notification that was passed to a connection, in a session that may have ended since.
    fn sent(&self, sent: &TraceRecord, end: Option<&TraceRecord>) -> String {
        let has_moved = self.records.iter().any(|record| matches!(record.event, TraceEvent::Arrived));
        let moved = if has_moved { ", to which the session had moved" } else { "" };
        let passed = format!("It was passed to the connection of the client by {}{moved}", sent.server);
        match end {
            Some(end) => ended(end, &format!("{passed}, and not acknowledged")),
            None => format!(
                "{passed}. Without the acknowledgement extension, the server does not know whether it arrived."
            ),
        }
    }

    /// Explains a change that was published while the session did not exist.
    fn absence(&self, published: &TraceRecord) -> Option<Verdict> {
        let began = self.records.iter().find(|record| matches!(record.event, TraceEvent::Began { .. }));
        if let Some(began) = began.filter(|began| began.at > published.at) {
            let text = format!("The session began at {}, after the change.", began.time());
            return Some((published.time(), "SESSION_BEGAN_LATER", text));
        }
        let end = self.end().filter(|end| end.at <= published.at)?;
        Some((published.time(), "SESSION_ENDED", ended(end, "The change came later")))
    }

    /// Explains a change that no subscription matched.
    fn rejection(&self, change: &TracedChange, published: &Published<'_>) -> Option<Verdict> {
        let time = published[0].time();
        let channels = self.channels(published[0].at);
        let carries = |channel: &str| {
            Pattern::parse(Endpoint::Realtime, channel).is_some_and(|own| own.receives(&change.channel))
        };
        let carrying: Vec<_> = channels.iter().filter(|(channel, _)| carries(channel)).collect();
        if carrying.is_empty() {
            let names: Vec<&String> = channels.iter().map(|(channel, _)| channel).collect();
            let (names, channel) = (in_words(&names), &change.channel);
            let text =
                format!("The session was subscribed to {names}, and the change was published on {channel}.");
            return Some((time, "NOT_SUBSCRIBED", text));
        }
        let rejected = published.iter().flat_map(|record| match &record.event {
            TraceEvent::Published { rejected, .. } => &rejected[..],
            _ => &[],
        });
        let is_own = |(channel, filter): &&(String, String)| {
            carrying.iter().any(|(own, of)| own == channel && of.as_deref() == Some(filter))
        };
        let (channel, filter) = rejected.into_iter().find(is_own)?;
        Some((
            time,
            "FILTER",
            format!("The filter of the subscription to {channel} does not match: {filter}"),
        ))
    }

    /// Explains a change that was published when the session moved.
    fn move_around(&self, published: &TraceRecord) -> Option<Verdict> {
        let is_move = |event: &TraceEvent| matches!(event, TraceEvent::Left { .. } | TraceEvent::Arrived);
        let is_near = |record: &&&TraceRecord| record.at <= published.at + AROUND_MOVE;
        let moved = self.records.iter().filter(is_near).rfind(|record| is_move(&record.event))?;
        let at = moved.time();
        let text =
            format!("The session moved to another server or thread at {at}, and its queue went along.");
        Some((published.time(), "MOVED", text))
    }

    fn end(&self) -> Option<&TraceRecord> {
        self.records.iter().rfind(|record| matches!(record.event, TraceEvent::Ended { .. })).copied()
    }

    /// Returns the channels of the session at a time, with their filters.
    fn channels(&self, at: i64) -> Vec<(String, Option<String>)> {
        let mut channels = match (self.end().map(|end| &end.event), self.present) {
            (Some(TraceEvent::Ended { channels, .. }), _) => channels.clone(),
            (_, Some(session)) => {
                let filter = |channel: &String| session.filters.get(channel).cloned();
                session.subscriptions.iter().map(|channel| (channel.clone(), filter(channel))).collect()
            }
            _ => Vec::new(),
        };
        for record in self.records.iter().rev().take_while(|record| record.at > at) {
            match &record.event {
                TraceEvent::Subscribed { channels: later, .. } => {
                    channels.retain(|(channel, _)| !later.contains(channel));
                }
                TraceEvent::Unsubscribed(later) => {
                    channels.extend(later.iter().map(|channel| (channel.clone(), None)));
                }
                _ => {}
            }
        }
        channels
    }
}

fn ended(end: &TraceRecord, before: &str) -> String {
    let reason = match &end.event {
        TraceEvent::Ended { reason, .. } => reason.in_words(),
        _ => EndReason::Server.in_words(),
    };
    format!("{before}, and the session ended at {}: {reason}.", end.time())
}
