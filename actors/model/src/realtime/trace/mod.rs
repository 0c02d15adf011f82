//! Traces: for a limited time, all servers record what happens to the notifications of a tenant (B-37).
//! [`record`] is what they record, [`diagnosis`] explains why a change arrived or not.

mod change;
pub mod diagnosis;
pub mod record;

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::body::Body;
use crate::error::{Error, Result};
use crate::id::{ManagedObjectId, TraceId};
use crate::links::{Linked, Links};
use crate::timestamp::Timestamp;

/// The shortest and the longest time of a trace, in seconds.
const SECONDS: (u64, u64) = (1, 3600);
/// The time of a trace unless the client sets another one, in seconds.
const DEFAULT_SECONDS: u64 = 600;
/// The most bytes of the name of a user.
const MAX_USER: usize = 1024;
/// The members that name the subject.
const SUBJECTS: [&str; 3] = ["device", "user", "session"];

/// The subject of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceSubject {
    /// All changes and sessions of the tenant.
    Tenant,
    /// The changes on the channels of an object.
    Device(ManagedObjectId),
    /// The sessions and the failed requests of a user.
    User(String),
    /// A session, by the id that administrators see.
    Session(String),
}

/// A trace to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTrace {
    /// The subject.
    pub subject: TraceSubject,
    /// The time after which it ends by itself.
    pub duration: Duration,
}

/// A trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The id.
    pub id: TraceId,
    /// The subject.
    pub subject: TraceSubject,
    /// The user who began it.
    pub owner: String,
    /// When it began.
    pub began: Timestamp,
    /// When it ends by itself.
    pub ends: Timestamp,
}

impl NewTrace {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and what is allowed, also for an unknown member (C-19a).
    pub fn parse(mut body: Body) -> Result<Self> {
        let by_server = ["self", "id", "owner", "creationTime", "endTime"];
        body.only(&[&SUBJECTS[..], &["seconds"]].concat(), &by_server)?;
        let device = body.take("device").map(|raw| device(raw.get())).transpose()?;
        let user = body.take_text("user", MAX_USER)?;
        let session = body.take_text("session", 64)?.map(|id| session(&id)).transpose()?;
        let seconds = body.take("seconds").map(|raw| seconds(raw.get())).transpose()?;
        let subject = match (device, user, session) {
            (None, None, None) => TraceSubject::Tenant,
            (Some(device), None, None) => TraceSubject::Device(device),
            (None, Some(user), None) => TraceSubject::User(user),
            (None, None, Some(session)) => TraceSubject::Session(session),
            _ => return Err(Error::Invalid("A trace has at most one of device, user and session".into())),
        };
        Ok(Self { subject, duration: Duration::from_secs(seconds.unwrap_or(DEFAULT_SECONDS)) })
    }
}

fn device(text: &str) -> Result<ManagedObjectId> {
    let id = text.trim_matches('"');
    let invalid = |_| Error::invalid_value("device", id, "the id of a managed object");
    ManagedObjectId::parse(id).map_err(invalid)
}

fn seconds(text: &str) -> Result<u64> {
    let seconds = text.parse().ok().filter(|seconds| (SECONDS.0..=SECONDS.1).contains(seconds));
    let allowed = format!("{} to {} seconds", SECONDS.0, SECONDS.1);
    seconds.ok_or_else(|| Error::invalid_value("seconds", text, &allowed))
}

/// Parses the id of a session, which is a digest of its clientId.
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn session(id: &str) -> Result<String> {
    let is_digest = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let allowed = "the id of a session of /tenant/sessions";
    is_digest.then(|| id.to_ascii_lowercase()).ok_or_else(|| Error::invalid_value("session", id, allowed))
}

impl TraceSubject {
    /// Returns the object, the user and the session of the subject, of which at most one is set.
    pub fn parts(&self) -> (Option<ManagedObjectId>, Option<&str>, Option<&str>) {
        match self {
            Self::Tenant => (None, None, None),
            Self::Device(device) => (Some(*device), None, None),
            Self::User(user) => (None, Some(user), None),
            Self::Session(session) => (None, None, Some(session)),
        }
    }

    /// Returns the subject with these parts.
    pub fn of_parts(device: Option<ManagedObjectId>, user: Option<String>, session: Option<String>) -> Self {
        let device = device.map(Self::Device);
        device.or(user.map(Self::User)).or(session.map(Self::Session)).unwrap_or(Self::Tenant)
    }

    /// Returns the kind and the name of the subject, as audit records show it.
    pub fn in_words(&self) -> String {
        match self {
            Self::Tenant => "the tenant".into(),
            Self::Device(device) => format!("device {device}"),
            Self::User(user) => format!("user {user}"),
            Self::Session(session) => format!("session {session}"),
        }
    }
}

impl Links {
    /// Returns the link of a trace.
    pub fn trace(&self, id: TraceId) -> String {
        self.item("/notification/traces", &id.to_string())
    }
}

impl Serialize for Linked<'_, Trace> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: trace, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.trace(trace.id))?;
        map.serialize_entry("id", &trace.id)?;
        let (device, user, session) = trace.subject.parts();
        if let Some(device) = device {
            map.serialize_entry("device", &device)?;
        }
        if let Some(user) = user {
            map.serialize_entry("user", user)?;
        }
        if let Some(session) = session {
            map.serialize_entry("session", session)?;
        }
        map.serialize_entry("owner", &trace.owner)?;
        map.serialize_entry("creationTime", &trace.began)?;
        map.serialize_entry("endTime", &trace.ends)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NewTrace> {
        NewTrace::parse(Body::parse(text.as_bytes())?)
    }

    #[test]
    fn body_names_one_subject_and_the_time() {
        let digest = "0123456789abcdef0123456789abcdef";
        for (text, subject, seconds) in [
            ("{}", TraceSubject::Tenant, 600),
            (r#"{"device": "42", "seconds": 1}"#, TraceSubject::Device(ManagedObjectId(42)), 1),
            (r#"{"device": 42}"#, TraceSubject::Device(ManagedObjectId(42)), 600),
            (r#"{"user": "mia", "seconds": 3600}"#, TraceSubject::User("mia".into()), 3600),
            (&format!(r#"{{"session": "{digest}"}}"#), TraceSubject::Session(digest.into()), 600),
        ] {
            let expected = NewTrace { subject, duration: Duration::from_secs(seconds) };
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn invalid_bodies_are_rejected_by_name() {
        for (text, named) in [
            (r#"{"device": "x"}"#, "device"),
            (r#"{"device": "1", "user": "mia"}"#, "at most one"),
            (r#"{"session": "short"}"#, "session"),
            (r#"{"seconds": 0}"#, "seconds"),
            (r#"{"seconds": 3601}"#, "seconds"),
            (r#"{"seconds": "60"}"#, "seconds"),
            (r#"{"minutes": 1}"#, "minutes"),
            (r#"{"user": 7}"#, "user"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn subject_is_restored_from_its_parts() {
        for subject in [
            TraceSubject::Tenant,
            TraceSubject::Device(ManagedObjectId(7)),
            TraceSubject::User("mia".into()),
            TraceSubject::Session("a".repeat(32)),
        ] {
            let (device, user, session) = subject.parts();
            let restored =
                TraceSubject::of_parts(device, user.map(ToOwned::to_owned), session.map(ToOwned::to_owned));
            assert_eq!(restored, subject);
        }
    }
}
