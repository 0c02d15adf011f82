//! The diagnosis of an operation that is still PENDING, or EXECUTING: the reasons why no agent has started it, or has
//! reported a result (O-01, B-04).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::data::operation::{Operation, OperationStatus};
use crate::fragments::Fragments;
use crate::id::{ManagedObjectId, OperationId};
use crate::links::{Linked, Links};
use crate::timestamp::Timestamp;

/// The facts for a diagnosis.
#[derive(Debug, Clone)]
pub struct Findings {
    /// The operation.
    pub operation: Operation,
    /// The agents that are notified of it: on each path up, the nearest one.
    pub agents: Vec<Agent>,
    /// The operations that the device supports, from `plat_SupportedOperations`; `None` without that fragment.
    pub supported: Option<Vec<String>>,
    /// The operations that its agents have to execute before it.
    pub ahead: Ahead,
    /// The names of the servers that did not say whether they have a session of an agent.
    pub missing_servers: Vec<String>,
}

/// An agent with the data that shows whether it receives operations.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The managed object of the agent.
    pub id: ManagedObjectId,
    /// The name of the agent.
    pub name: Option<String>,
    /// The real-time connection of its user.
    pub connection: Connection,
    /// Whether a session, at any server, has subscribed to its channel.
    pub subscribed: bool,
    /// The time of its last message, only for devices whose availability is watched.
    pub last_message: Option<Timestamp>,
}

/// The state of the real-time connection of an agent's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// It has a connection to some server.
    Open,
    /// It has no connection; the time is when it lost the last one, if it ever had one.
    Closed(Option<Timestamp>),
    /// Its owner is a person, whose connections are not recorded.
    Unknown,
}

/// The open operations of the same agents that precede an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ahead {
    /// Their number; counting stops at [`Ahead::MOST`].
    pub count: i64,
    /// The oldest of them.
    pub oldest: Option<OperationId>,
}

impl Ahead {
    /// The maximum number that is counted.
    pub const MOST: i64 = 1000;
}

/// One cause why an operation is PENDING or EXECUTING.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    /// The device was removed from its agent after the operation was created.
    NoAgent,
    /// The agent's user has no connection.
    AgentOffline(ManagedObjectId, Option<Timestamp>),
    /// The agent is connected, but no session at the servers that responded has subscribed to its channel.
    NotSubscribed(ManagedObjectId),
    /// The device supports none of these fragments of the operation.
    NotSupported(Vec<String>),
    /// Older operations are not finished yet.
    QueuedBehind(Ahead),
    /// None of these: the agent was notified, or can be, and has not started the operation.
    AwaitingAgent,
    /// The agent has started the operation, is subscribed, and has not reported a result. The time is that of its last
    /// message, if it is known.
    AwaitingResult(Option<Timestamp>),
}

impl Findings {
    /// Returns the causes; empty when the operation has ended.
    fn causes(&self) -> Vec<Cause> {
        match self.operation.status {
            OperationStatus::Pending => self.causes_of_pending(),
            OperationStatus::Executing => self.causes_of_executing(),
            _ => Vec::new(),
        }
    }

    fn causes_of_executing(&self) -> Vec<Cause> {
        let mut causes = self.causes_at_agents();
        if causes.is_empty() {
            let last_message = self.agents.iter().filter_map(|agent| agent.last_message).max();
            causes.push(Cause::AwaitingResult(last_message));
        }
        causes
    }

    fn causes_of_pending(&self) -> Vec<Cause> {
        let mut causes = self.causes_at_agents();
        causes.extend(self.unsupported().map(Cause::NotSupported));
        if self.ahead.count > 0 {
            causes.push(Cause::QueuedBehind(self.ahead));
        }
        if causes.is_empty() {
            causes.push(Cause::AwaitingAgent);
        }
        causes
    }

    /// Returns the causes that keep the operation, or its result, from its agents.
    fn causes_at_agents(&self) -> Vec<Cause> {
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
        causes
    }

    /// Returns the fragments of the operation, if the device lists supported operations and none of these is among
    /// them.
    fn unsupported(&self) -> Option<Vec<String>> {
        let supported = self.supported.as_ref()?;
        let asked = actions(&self.operation.fragments);
        let known = asked.iter().any(|name| supported.iter().any(|supported| supported == name));
        (!asked.is_empty() && !known).then_some(asked)
    }
}

/// Returns the names of the fragments that describe an action: objects and lists. Plain values such as a description
/// only accompany them.
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
            Self::AwaitingResult(_) => "AWAITING_RESULT",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::NoAgent => {
                "The device belongs to no agent any more, so nobody is notified of its operations".into()
            }
            Self::AgentOffline(agent, Some(since)) => {
                format!("Agent '{agent}' has held no real-time connection since {since}")
            }
            Self::AgentOffline(agent, None) => {
                format!("Agent '{agent}' has never held a real-time connection")
            }
            Self::NotSubscribed(agent) => {
                format!("No client has subscribed to the channel '/{agent}' of the agent")
            }
            Self::NotSupported(asked) => {
                format!("The device does not list any of these as supported: {}", asked.join(", "))
            }
            Self::QueuedBehind(ahead) => {
                let more = if ahead.count >= Ahead::MOST { " or more" } else { "" };
                format!("{}{more} older operations of its agent are not finished yet", ahead.count)
            }
            Self::AwaitingAgent => "Its agent is subscribed but has not set it to EXECUTING yet".into(),
            Self::AwaitingResult(None) => {
                "Its agent is subscribed but has set it neither to SUCCESSFUL nor to FAILED yet".into()
            }
            Self::AwaitingResult(Some(last)) => {
                format!(
                    "Its agent last sent something at {last}, and has not set it to SUCCESSFUL or FAILED yet"
                )
            }
        }
    }
}

/// The representation of a cause.
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
            Cause::AwaitingResult(Some(last)) => map.serialize_entry("since", last)?,
            Cause::NoAgent | Cause::AwaitingAgent | Cause::AwaitingResult(None) => {}
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
        if !findings.missing_servers.is_empty() {
            map.serialize_entry("missingServers", &findings.missing_servers)?;
        }
        map.end()
    }
}
