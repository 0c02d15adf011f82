//! Why a change arrived at a receiver, or why it did not (B-38). The findings follow from what servers recorded while a
//! trace lasted, from the present sessions or the consumer, and from what is stored.

mod consumer;
mod session;

use std::collections::{BTreeMap, HashMap};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::record::{TraceEvent, TraceRecord, TracedChange};
use crate::id::ManagedObjectId;
use crate::links::Linked;
use crate::origin::ProcessingMode;
use crate::realtime::client_session::ClientSession;
use crate::realtime::consumer::{Consumer, JournalPosition};
use crate::timestamp::Timestamp;
use session::KnownSession;

/// The most findings of a diagnosis.
const MOST: usize = 200;

/// The receiver of a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedReceiver {
    /// All sessions of a user.
    User(String),
    /// A session, by its id.
    Session(String),
    /// A consumer, by its name.
    Consumer(String),
}

/// An object that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredObject {
    /// Its kind, such as `alarm`.
    pub kind: &'static str,
    /// The object on whose channels its changes are published.
    pub source: ManagedObjectId,
}

/// A consumer, with the entries of the journal about the object.
#[derive(Debug, Clone)]
pub struct ConsumerEvidence {
    /// The consumer.
    pub consumer: Consumer,
    /// The entries of the journal about the object: position, channel, and whether channels and filter match.
    pub entries: Vec<JournalEvidence>,
}

/// An entry of the journal about the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEvidence {
    /// Its position.
    pub position: JournalPosition,
    /// When it was committed.
    pub time: Timestamp,
    /// The channel of its object.
    pub channel: String,
    /// Whether the consumer receives it.
    pub verdict: JournalVerdict,
}

/// Whether a consumer receives an entry of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalVerdict {
    /// One of its channels carries it, and its filter matches.
    Matches,
    /// None of its channels carries it.
    OtherChannel,
    /// Its filter does not match.
    Filtered,
}

/// Everything that a diagnosis follows from.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The id of the changed object, or of the object on whose channels the change is published.
    pub id: i64,
    /// The receiver.
    pub receiver: AskedReceiver,
    /// Since when changes are explained.
    pub since: Timestamp,
    /// The object, if it is stored in the tenant.
    pub object: Option<StoredObject>,
    /// Whether the user exists and is enabled; `None` if the receiver is a session that no server knows.
    pub user_is_enabled: Option<bool>,
    /// When the first trace that covers the change and the receiver began.
    pub traced_since: Option<Timestamp>,
    /// The records of all servers, oldest first.
    pub records: Vec<TraceRecord>,
    /// The present sessions of the receiver.
    pub sessions: Vec<ClientSession>,
    /// The channels of these sessions whose modules are not deployed.
    pub undeployed: Vec<String>,
    /// The consumer, if the receiver is one.
    pub consumer: Option<ConsumerEvidence>,
    /// The names of the servers that did not respond.
    pub missing_servers: Vec<String>,
}

/// One reason, or one step of a change to the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// When it happened; `None` for what holds now.
    pub time: Option<Timestamp>,
    /// The session that it is about.
    pub session: Option<String>,
    /// The kind, for programs.
    pub cause: &'static str,
    /// A sentence, for people.
    pub text: String,
}

/// The result of a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The findings in the order of their times; those that hold now come last.
    pub findings: Vec<Finding>,
    /// The names of the servers that did not respond, whose records and sessions are missing.
    pub missing_servers: Vec<String>,
}

/// A change with the records about its publication, of which there is at least one.
type Publications<'e> = (&'e TracedChange, Vec<&'e TraceRecord>);

impl Evidence {
    /// Explains what became of the changes.
    pub fn explain(self) -> Diagnosis {
        let mut findings = Findings::default();
        if self.object.is_none() && !self.is_recorded() && !self.is_in_journal() {
            let text = format!(
                "Nothing in this tenant has the id {}, and no change of it was recorded. The objects of other tenants \
                 are unknown here.",
                self.id
            );
            findings.now("UNKNOWN_OBJECT", text);
        }
        if self.traced_since.is_none() && self.consumer.is_none() && !self.is_recorded() {
            let text = "No trace of the change and the receiver runs, so only the present state is known. POST \
                /notification/traces begins one.";
            findings.now("NOT_TRACED", text.into());
        }
        match &self.consumer {
            Some(evidence) => self.explain_consumer(evidence, &mut findings),
            None => self.explain_sessions(&mut findings),
        }
        findings.0.sort_by_key(|finding| (finding.time.is_none(), finding.time));
        findings.0.truncate(MOST);
        Diagnosis { findings: findings.0, missing_servers: self.missing_servers }
    }

    /// Returns the records about changes of the object that were published, or not because of their mode.
    fn changes(&self) -> impl Iterator<Item = &TraceRecord> {
        let since = self.since;
        self.records.iter().filter(move |record| {
            let is_publication =
                matches!(record.event, TraceEvent::Published { .. } | TraceEvent::NotPublished(..));
            let change = record.event.change().filter(|change| change.concerns(self.id));
            is_publication && change.is_some() && record.time() >= since
        })
    }

    fn is_in_journal(&self) -> bool {
        self.consumer.as_ref().is_some_and(|evidence| !evidence.entries.is_empty())
    }

    fn explain_sessions(&self, findings: &mut Findings) {
        self.explain_user(findings);
        self.explain_refusals(findings);
        let sessions = self.known_sessions();
        for (change, published) in self.publications() {
            let [first, ..] = &*published else { continue };
            if let TraceEvent::NotPublished(_, mode) = &first.event {
                let (change, mode) = (change.in_words(), mode.as_str());
                let text = format!("{change} was written in the mode {mode}, which sends no notifications.");
                findings.at(first, "NOT_PUBLISHED", text);
                continue;
            }
            findings.at(first, "PUBLISHED", self.publication(change, &published));
            if sessions.is_empty() {
                findings.at(first, "NO_SESSION", "The receiver had no session at that time.".into());
            }
            let explain =
                |(id, session): (&String, &KnownSession<'_>)| session.explain(id, change, &published);
            findings.0.extend(sessions.iter().map(explain));
        }
        if let (Some(traced), Some(_), false) = (self.traced_since, self.object, self.is_recorded()) {
            let since = traced.max(self.since);
            findings.now("NO_CHANGE", format!("No change of {} was published since {since}.", self.id));
        }
        self.explain_present(findings);
    }

    /// Returns whether a change of the object was recorded.
    fn is_recorded(&self) -> bool {
        self.changes().next().is_some()
    }

    /// Returns a sentence about where a change was stored and published.
    fn publication(&self, change: &TracedChange, published: &[&TraceRecord]) -> String {
        let servers: Vec<&str> = published.iter().map(|record| &*record.server).collect();
        let stored = self.records.iter().find(|record| {
            matches!(&record.event, TraceEvent::Stored(stored) if **stored == *change)
                && (record.at - published[0].at).abs() < 60_000_000
        });
        let stored = match (stored, &published[0].event) {
            (Some(record), _) => format!("was stored by {} at {}", record.server, record.time()),
            (None, TraceEvent::Published { mode: ProcessingMode::Transient, .. }) => {
                "was not stored, because its mode is TRANSIENT,".into()
            }
            (None, _) => "was stored".into(),
        };
        let servers = servers.join(", ");
        format!("{} {stored} and published to the sessions of {servers}.", change.in_words())
    }

    /// Returns each change with its publications at all servers. Changes that are equal, such as two updates of one
    /// alarm, are distinguished by their order at each server.
    fn publications(&self) -> Vec<Publications<'_>> {
        let mut counts: HashMap<(&str, &TracedChange), usize> = HashMap::new();
        let mut groups: HashMap<(&TracedChange, usize), Publications<'_>> = HashMap::new();
        for record in self.changes() {
            let Some(change) = record.event.change() else { continue };
            let count = counts.entry((&record.server, change)).or_default();
            groups.entry((change, *count)).or_insert_with(|| (change, Vec::new())).1.push(record);
            *count += 1;
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_by_key(|(_, published)| published[0].at);
        groups
    }

    fn explain_user(&self, findings: &mut Findings) {
        if let (AskedReceiver::User(user), Some(false)) = (&self.receiver, self.user_is_enabled) {
            findings.now("NO_USER", format!("The user {user} does not exist or is disabled."));
        }
    }

    /// Explains rejected messages and requests of the receiver.
    fn explain_refusals(&self, findings: &mut Findings) {
        for record in self.records.iter().filter(|record| record.time() >= self.since) {
            match &record.event {
                TraceEvent::Refused { channel, .. } if channel == "/meta/subscribe" => {
                    findings.at(record, "DENIED", format!("{}.", record.event.in_words()));
                }
                TraceEvent::Refused { .. } => {
                    findings.at(record, "REFUSED", format!("{}.", record.event.in_words()));
                }
                TraceEvent::Request { status: 429, .. } => {
                    findings.at(record, "THROTTLED", format!("{}.", record.event.in_words()));
                }
                TraceEvent::Request { .. } => {
                    findings.at(record, "REQUEST_FAILED", format!("{}.", record.event.in_words()));
                }
                _ => {}
            }
        }
    }

    /// Explains the present state of the sessions.
    fn explain_present(&self, findings: &mut Findings) {
        for channel in &self.undeployed {
            findings.now(
                "MODULE_NOT_DEPLOYED",
                format!("A session is subscribed to {channel}, but no such module is deployed and running."),
            );
        }
        for session in &self.sessions {
            let channels = in_words(&session.subscriptions);
            let connect = if session.holds_connect { "holds a connect" } else { "holds no connect" };
            let user = &session.user;
            let (server, queued) = (&session.server, session.queued);
            findings.0.push(Finding {
                time: None,
                session: Some(session.id.clone()),
                cause: "SESSION",
                text: format!(
                    "The session of {user} at {server} is subscribed to {channels}. It {connect}; queued \
                     notifications: {queued}."
                ),
            });
        }
        if self.sessions.is_empty() {
            findings.now("NO_SESSION", "The receiver has no session now.".into());
        }
    }

    /// Returns what is known of each session of the receiver.
    fn known_sessions(&self) -> BTreeMap<String, KnownSession<'_>> {
        let mut known: BTreeMap<String, KnownSession<'_>> = BTreeMap::new();
        for session in &self.sessions {
            known.entry(session.id.clone()).or_default().present = Some(session);
        }
        for record in &self.records {
            let Some(session) = record.session() else { continue };
            known.entry(session.to_owned()).or_default().records.push(record);
        }
        known
    }
}

fn in_words(channels: &[impl ToString]) -> String {
    match channels {
        [] => "no channel".into(),
        channels => channels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn now(&mut self, cause: &'static str, text: String) {
        self.0.push(Finding { time: None, session: None, cause, text });
    }

    fn at(&mut self, record: &TraceRecord, cause: &'static str, text: String) {
        let session = record.session().map(ToOwned::to_owned);
        self.0.push(Finding { time: Some(record.time()), session, cause, text });
    }
}

impl Serialize for Linked<'_, Diagnosis> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let diagnosis = self.value;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("findings", &diagnosis.findings)?;
        map.serialize_entry("missingServers", &diagnosis.missing_servers)?;
        map.end()
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(time) = &self.time {
            map.serialize_entry("time", time)?;
        }
        if let Some(session) = &self.session {
            map.serialize_entry("session", session)?;
        }
        map.serialize_entry("cause", self.cause)?;
        map.serialize_entry("text", &self.text)?;
        map.end()
    }
}
