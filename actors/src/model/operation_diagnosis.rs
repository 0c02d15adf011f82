//! Why an operation is still PENDING: what stands between it and its agent (O-01, B-04).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::model::fragments::Fragments;
use crate::model::id::{ManagedObjectId, OperationId};
use crate::model::links::{Linked, Links};
use crate::model::operation::{Operation, OperationStatus};
use crate::model::timestamp::Timestamp;

/// What is found out about an operation.
#[derive(Debug, Clone)]
pub struct Findings {
    /// The operation.
    pub operation: Operation,
    /// The agents that are told of it: each the nearest on one way up.
    pub agents: Vec<Agent>,
    /// What the device says it can do, `plat_SupportedOperations`; `None` when it does not say.
    pub supported: Option<Vec<String>>,
    /// What its agents have to do before it.
    pub ahead: Ahead,
}

/// An agent, as far as it matters whether it hears of operations.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its managed object.
    pub id: ManagedObjectId,
    /// Its name.
    pub name: Option<String>,
    /// Whether its user holds a real-time connection.
    pub connection: Connection,
    /// Whether somebody has subscribed to its channel at this server.
    pub subscribed: bool,
    /// When it was heard last; only of devices whose availability is watched.
    pub last_message: Option<Timestamp>,
}

/// The real-time connection of an agent's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// It holds one, to whatever server.
    Open,
    /// It holds none; since when, if it ever held one.
    Closed(Option<Timestamp>),
    /// Its owner is a person, whose connections nobody keeps account of.
    Unknown,
}

/// Open operations in front of one, of the same agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ahead {
    /// How many; counting stops at [`Ahead::MOST`].
    pub count: i64,
    /// The oldest of them.
    pub oldest: Option<OperationId>,
}

impl Ahead {
    /// So many are counted at most.
    pub const MOST: i64 = 1000;
}

/// One reason why an operation is PENDING.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    /// The device left the tree of its agent after the operation was made.
    NoAgent,
    /// The agent's user holds no connection.
    AgentOffline(ManagedObjectId, Option<Timestamp>),
    /// The agent is there, and does not listen to its channel.
    NotSubscribed(ManagedObjectId),
    /// The device does not list any of what the operation asks for.
    NotSupported(Vec<String>),
    /// Operations before it are not done yet.
    QueuedBehind(Ahead),
    /// Nothing of these: the agent was told, or can be, and has not taken it up.
    AwaitingAgent,
}

impl Findings {
    /// Why it is PENDING; nothing when it is not.
    fn causes(&self) -> Vec<Cause> {
        if self.operation.status != OperationStatus::Pending {
            return Vec::new();
        }
        let mut causes = Vec::new();
        if self.agents.is_empty() {
            causes.push(Cause::NoAgent);
        }
        for agent in self.agents.iter().filter(|agent| !agent.subscribed) {
            causes.push(match agent.connection {
                Connection::Closed(since) => Cause::AgentOffline(agent.id, since),
                Connection::Open | Connection::Unknown => Cause::NotSubscribed(agent.id),
            });
        }
        causes.extend(self.unsupported().map(Cause::NotSupported));
        if self.ahead.count > 0 {
            causes.push(Cause::QueuedBehind(self.ahead));
        }
        if causes.is_empty() {
            causes.push(Cause::AwaitingAgent);
        }
        causes
    }

    /// What the operation asks for, when the device lists other things only.
    fn unsupported(&self) -> Option<Vec<String>> {
        let supported = self.supported.as_ref()?;
        let asked = actions(&self.operation.fragments);
        let known = asked.iter().any(|name| supported.iter().any(|supported| supported == name));
        (!asked.is_empty() && !known).then_some(asked)
    }
}

/// The fragments that describe an action: objects and lists; plain values such as a description go along with them.
fn actions(fragments: &Fragments) -> Vec<String> {
    let structured = |raw: &RawValue| raw.get().starts_with(['{', '[']);
    fragments.iter().filter(|(_, raw)| structured(raw)).map(|(name, _)| name.to_owned()).collect()
}

impl Cause {
    fn word(&self) -> &'static str {
        match self {
            Self::NoAgent => "NO_AGENT",
            Self::AgentOffline(..) => "AGENT_OFFLINE",
            Self::NotSubscribed(_) => "NOT_SUBSCRIBED",
            Self::NotSupported(_) => "NOT_SUPPORTED",
            Self::QueuedBehind(_) => "QUEUED_BEHIND",
            Self::AwaitingAgent => "AWAITING_AGENT",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::NoAgent => {
                "The device belongs to no agent any more, so nobody is told of its operations".into()
            }
            Self::AgentOffline(agent, Some(since)) => {
                format!("Agent '{agent}' has held no real-time connection since {since}")
            }
            Self::AgentOffline(agent, None) => {
                format!("Agent '{agent}' has never held a real-time connection")
            }
            Self::NotSubscribed(agent) => {
                format!("Nobody has subscribed to the channel '/{agent}' of the agent at this server")
            }
            Self::NotSupported(asked) => {
                format!("The device does not list any of these as supported: {}", asked.join(", "))
            }
            Self::QueuedBehind(ahead) => {
                let more = if ahead.count >= Ahead::MOST { " or more" } else { "" };
                format!("{}{more} older operations of its agent are not done yet", ahead.count)
            }
            Self::AwaitingAgent => "Its agent listens and has not set it to EXECUTING yet".into(),
        }
    }
}

/// A cause as it is shown.
struct Shown<'a>(&'a Cause, &'a Links);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(cause, links) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cause", cause.word())?;
        map.serialize_entry("message", &cause.message())?;
        match cause {
            Cause::AgentOffline(agent, since) => {
                map.serialize_entry("agentId", agent)?;
                if let Some(since) = since {
                    map.serialize_entry("since", since)?;
                }
            }
            Cause::NotSubscribed(agent) => map.serialize_entry("agentId", agent)?,
            Cause::NotSupported(asked) => map.serialize_entry("fragments", asked)?,
            Cause::QueuedBehind(ahead) => {
                map.serialize_entry("operations", &ahead.count)?;
                if let Some(oldest) = ahead.oldest {
                    map.serialize_entry("oldest", &links.operation(Some(oldest)))?;
                }
            }
            Cause::NoAgent | Cause::AwaitingAgent => {}
        }
        map.end()
    }
}

impl Serialize for Linked<'_, Agent> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: agent, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.managed_object(Some(agent.id)))?;
        map.serialize_entry("id", &agent.id)?;
        if let Some(name) = &agent.name {
            map.serialize_entry("name", name)?;
        }
        let (connection, since) = match agent.connection {
            Connection::Open => ("CONNECTED", None),
            Connection::Closed(since) => ("DISCONNECTED", since),
            Connection::Unknown => ("UNKNOWN", None),
        };
        map.serialize_entry("connection", connection)?;
        if let Some(since) = since {
            map.serialize_entry("disconnectedSince", &since)?;
        }
        map.serialize_entry("subscribed", &agent.subscribed)?;
        if let Some(last_message) = agent.last_message {
            map.serialize_entry("lastMessage", &last_message)?;
        }
        map.end()
    }
}

impl Serialize for Linked<'_, Findings> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: findings, links } = *self;
        let (operation, causes) = (&findings.operation, findings.causes());
        let agents: Vec<_> = findings.agents.iter().map(|value| Linked { value, links }).collect();
        let causes: Vec<_> = causes.iter().map(|cause| Shown(cause, links)).collect();
        let link = links.operation(operation.id);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &format!("{link}/diagnosis"))?;
        map.serialize_entry("operation", &link)?;
        map.serialize_entry("deviceId", &operation.device)?;
        map.serialize_entry("status", &operation.status)?;
        map.serialize_entry("creationTime", &operation.creation_time)?;
        map.serialize_entry("agents", &agents)?;
        map.serialize_entry("causes", &causes)?;
        map.end()
    }
}
