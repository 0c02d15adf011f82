//! Channels and the patterns a client may subscribe to (B-01, B-17).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::access::Api;
use crate::id::ManagedObjectId;
use crate::role;

/// The kind of data on a resource channel. Journals store the number of the variant, so their order does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Resource {
    /// Changes of managed objects.
    ManagedObjects,
    /// Measurements.
    Measurements,
    /// Events.
    Events,
    /// Alarms.
    Alarms,
    /// The operations of a device.
    Operations,
}

impl Resource {
    /// The number of resources.
    pub const COUNT: usize = Self::WORDS.len();
    const WORDS: [(&'static str, Self); 5] = [
        ("managedobjects", Self::ManagedObjects),
        ("measurements", Self::Measurements),
        ("events", Self::Events),
        ("alarms", Self::Alarms),
        ("operations", Self::Operations),
    ];

    /// Returns the number by which journals store the resource.
    pub fn number(self) -> i16 {
        self as i16
    }

    /// Finds the resource with this number.
    pub fn of_number(number: i16) -> Option<Self> {
        Self::WORDS.into_iter().map(|(_, resource)| resource).find(|resource| resource.number() == number)
    }

    /// Returns the resource with this first segment of its channels.
    fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, resource)| resource)
    }

    /// Returns the resource of a channel of an object and its descendants.
    fn of_family(word: &str) -> Option<Self> {
        [Self::Alarms, Self::Events].into_iter().find(|resource| resource.family_word() == word)
    }

    /// Returns the first segment of a channel of an object and its descendants, or that of the object's own channel if
    /// there is no such channel.
    fn family_word(self) -> &'static str {
        match self {
            Self::Alarms => "alarmsWithChildren",
            Self::Events => "eventsWithChildren",
            other => other.word(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::ManagedObjects => "managedobjects",
            Self::Measurements => "measurements",
            Self::Events => "events",
            Self::Alarms => "alarms",
            Self::Operations => "operations",
        }
    }

    /// Returns the interface that device permissions must name (U-12).
    fn api(self) -> Api {
        match self {
            Self::ManagedObjects => Api::ManagedObject,
            Self::Measurements => Api::Measurement,
            Self::Events => Api::Event,
            Self::Alarms => Api::Alarm,
            Self::Operations => Api::Operation,
        }
    }

    /// Returns the role that may subscribe (B-01).
    pub fn role(self) -> &'static str {
        match self {
            Self::ManagedObjects => role::INVENTORY_READ,
            Self::Measurements => role::MEASUREMENT_READ,
            Self::Events => role::EVENT_READ,
            Self::Alarms => role::ALARM_READ,
            Self::Operations => role::DEVICE_CONTROL_READ,
        }
    }
}

/// The channel of one managed object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// The resource of the channel.
    pub resource: Resource,
    /// The managed object of the channel.
    pub id: ManagedObjectId,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", self.resource.word(), self.id)
    }
}

/// The channel of a managed object and all of its descendants (B-19b).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyChannel(pub Channel);

impl fmt::Display for FamilyChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", self.0.resource.family_word(), self.0.id)
    }
}

/// The channel of the members of a group (B-39).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupChannel {
    /// The resource of the channel.
    pub resource: Resource,
    /// The group.
    pub group: ManagedObjectId,
    /// The form of its name.
    pub form: GroupForm,
}

/// The two forms of the name of a channel of a group. Clients find their subscription by the channel of a notification,
/// so each is a channel of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroupForm {
    /// `/alarms/group:208`, which has a character that Bayeux does not allow in channels, and Faye does not accept.
    Colon,
    /// `/alarmsOfGroup/208`.
    Word,
}

impl fmt::Display for GroupChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, group, form } = self;
        match form {
            GroupForm::Colon => write!(f, "/{}/{GROUP_PREFIX}{group}", resource.word()),
            GroupForm::Word => write!(f, "/{}{GROUP_SUFFIX}/{group}", resource.word()),
        }
    }
}

/// The two endpoints, each with its own channels (B-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `/notification/realtime`: resource and module channels.
    Realtime,
    /// `/notification/operations`: agent channels.
    Operations,
}

/// A channel or a set of channels to which a session subscribes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Pattern {
    /// `/alarms/208`.
    Exact(Channel),
    /// `/alarms/*`.
    All(Resource),
    /// `/alarmsWithChildren/208`: the alarms of the object and of all descendants (B-19b).
    WithChildren(Channel),
    /// `/alarmsOfGroup/208`: the alarms of the devices that are members of the group (B-39).
    Group(GroupChannel),
    /// `/208` on the operations endpoint: new operations for an agent.
    Agent(ManagedObjectId),
    /// `/module/statement` or `/module/*`: the output of an event-processing module.
    Module {
        /// The name of the module.
        module: Box<str>,
        /// The name of the statement; `None` for all statements.
        statement: Option<Box<str>>,
    },
}

/// The text before the id of a group in its channels (B-39).
const GROUP_PREFIX: &str = "group:";
/// The text after the word of a resource in the other form of these channels (B-39).
const GROUP_SUFFIX: &str = "OfGroup";
/// The maximum number of bytes of a channel name: enough for the names of a module and a statement.
const MAX_CHANNEL: usize = 2048;

impl fmt::Display for Pattern {
    /// Writes the text of a subscription.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(channel) => channel.fmt(f),
            Self::All(resource) => write!(f, "/{}/*", resource.word()),
            Self::WithChildren(channel) => FamilyChannel(*channel).fmt(f),
            Self::Group(channel) => channel.fmt(f),
            Self::Agent(id) => write!(f, "/{id}"),
            Self::Module { module, statement } => {
                write!(f, "/{module}/{}", statement.as_deref().unwrap_or("*"))
            }
        }
    }
}

impl Pattern {
    /// Returns whether a publication on a channel reaches a session with this subscription. The channel may itself be
    /// a set, such as `/alarms/*`.
    pub fn receives(&self, channel: &str) -> bool {
        let own = self.to_string();
        own == channel
            || own.strip_suffix('*').is_some_and(|prefix| {
                channel.strip_prefix(prefix).is_some_and(|name| !name.is_empty() && !name.contains('/'))
            })
    }

    /// Returns whether it names an object, or all objects. The channel of a group names the group.
    pub fn concerns(&self, object: ManagedObjectId) -> bool {
        match self {
            Self::Exact(channel) | Self::WithChildren(channel) => channel.id == object,
            Self::Group(channel) => channel.group == object,
            Self::Agent(id) => *id == object,
            Self::All(_) => true,
            Self::Module { .. } => false,
        }
    }

    /// Parses a `subscription`. Returns `None` when it names no channel of this endpoint.
    ///
    /// The word of a resource takes precedence over a module of the same name (B-01). A wildcard must be the whole last
    /// segment (B-17).
    pub fn parse(endpoint: Endpoint, text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/').filter(|rest| rest.len() <= MAX_CHANNEL)?;
        match (endpoint, rest.split_once('/')) {
            (Endpoint::Operations, None) => ManagedObjectId::parse(rest).ok().map(Self::Agent),
            (Endpoint::Realtime, Some((first, second))) => Self::parse_pair(first, second),
            _ => None,
        }
    }

    fn parse_pair(first: &str, second: &str) -> Option<Self> {
        if let Some(resource) = Resource::of_family(first) {
            let id = ManagedObjectId::parse(second).ok()?;
            return Some(Self::WithChildren(Channel { resource, id }));
        }
        if let Some(resource) = first.strip_suffix(GROUP_SUFFIX).and_then(Resource::of_word) {
            let group = ManagedObjectId::parse(second).ok()?;
            return Some(Self::Group(GroupChannel { resource, group, form: GroupForm::Word }));
        }
        let resource = Resource::of_word(first);
        match (resource, second) {
            (Some(resource), "*") => Some(Self::All(resource)),
            (Some(resource), name) => {
                if let Some(group) = name.strip_prefix(GROUP_PREFIX) {
                    let group = ManagedObjectId::parse(group).ok()?;
                    return Some(Self::Group(GroupChannel { resource, group, form: GroupForm::Colon }));
                }
                let id = ManagedObjectId::parse(name).ok()?;
                Some(Self::Exact(Channel { resource, id }))
            }
            (None, _) if first == "meta" || first == "service" => None,
            (None, "*") => is_name(first).then(|| Self::Module { module: first.into(), statement: None }),
            (None, name) => (is_name(first) && is_name(name))
                .then(|| Self::Module { module: first.into(), statement: Some(name.into()) }),
        }
    }

    /// Returns the role that may subscribe (B-01).
    pub fn role(&self) -> &'static str {
        match self {
            Self::Exact(channel) | Self::WithChildren(channel) => channel.resource.role(),
            Self::Group(channel) => channel.resource.role(),
            Self::All(resource) => resource.role(),
            Self::Agent(_) => role::DEVICE_CONTROL_READ,
            Self::Module { .. } => role::NOTIFICATION_READ,
        }
    }

    /// Returns the resource of its channels; `None` for channels without one.
    pub fn resource(&self) -> Option<Resource> {
        match self {
            Self::Exact(channel) | Self::WithChildren(channel) => Some(channel.resource),
            Self::Group(channel) => Some(channel.resource),
            Self::All(resource) => Some(*resource),
            Self::Agent(_) | Self::Module { .. } => None,
        }
    }

    /// Returns the object whose owner may subscribe without the role (B-01), and the interface that device permissions
    /// must name; `None` if only the role grants access.
    pub fn object(&self) -> Option<(ManagedObjectId, Api)> {
        match self {
            Self::Exact(channel) | Self::WithChildren(channel) => Some((channel.id, channel.resource.api())),
            Self::Agent(id) => Some((*id, Api::Operation)),
            // A right to the group is none to its members.
            Self::All(_) | Self::Group(_) | Self::Module { .. } => None,
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_endpoint_has_its_own_channels() {
        use Endpoint::{Operations, Realtime};
        let id = ManagedObjectId(208);
        let group = |resource, form| Pattern::Group(GroupChannel { resource, group: id, form });
        for (endpoint, text, pattern) in [
            (Realtime, "/alarms/208", Some(Pattern::Exact(Channel { resource: Resource::Alarms, id }))),
            (Realtime, "/alarms/*", Some(Pattern::All(Resource::Alarms))),
            (
                Realtime,
                "/pumps/s1",
                Some(Pattern::Module { module: "pumps".into(), statement: Some("s1".into()) }),
            ),
            (Realtime, "/pumps/*", Some(Pattern::Module { module: "pumps".into(), statement: None })),
            (Operations, "/208", Some(Pattern::Agent(id))),
            (
                Realtime,
                "/alarmsWithChildren/208",
                Some(Pattern::WithChildren(Channel { resource: Resource::Alarms, id })),
            ),
            (Realtime, "/alarmsWithChildren/*", None),
            (Realtime, "/measurements/group:208", Some(group(Resource::Measurements, GroupForm::Colon))),
            (Realtime, "/alarmsOfGroup/208", Some(group(Resource::Alarms, GroupForm::Word))),
            (Realtime, "/alarmsOfGroup/*", None),
            (Realtime, "/alarms/group:*", None),
            (Realtime, "/alarms/group:", None),
            (Realtime, "/alarms/group:group:208", None),
            (Realtime, "/alarmsWithChildren/group:208", None),
            (Realtime, "/208", None),
            (Operations, "/alarms/208", None),
            (Realtime, "/alarms/**", None),
            (Realtime, "/alarms/abc", None),
            (Realtime, "/**", None),
            (Realtime, "/*/*", None),
            (Realtime, "/alarms/208/x", None),
            (Realtime, "alarms/208", None),
            (Realtime, "/meta/connect", None),
            (Realtime, "", None),
            (Operations, "/*", None),
        ] {
            assert_eq!(Pattern::parse(endpoint, text), pattern, "{endpoint:?} {text}");
            if let Some(pattern) = pattern {
                assert_eq!(pattern.to_string(), text);
            }
        }
    }

    #[test]
    fn wildcard_receives_the_channels_of_its_kind() {
        let all = Pattern::All(Resource::Alarms);
        let one = Pattern::Exact(Channel { resource: Resource::Alarms, id: ManagedObjectId(208) });
        assert!(all.receives("/alarms/208") && all.receives("/alarms/*") && one.receives("/alarms/208"));
        assert!(!all.receives("/events/208") && !all.receives("/alarms/") && !all.receives("/alarms/1/2"));
        assert!(!one.receives("/alarms/209") && !one.receives("/alarms/*"));
        assert!(all.concerns(ManagedObjectId(1)) && !one.concerns(ManagedObjectId(1)));
    }

    #[test]
    fn channel_is_displayed_as_in_a_subscription() {
        let channel = Channel { resource: Resource::ManagedObjects, id: ManagedObjectId(7) };
        assert_eq!(Pattern::parse(Endpoint::Realtime, &channel.to_string()), Some(Pattern::Exact(channel)));
        let channel = Channel { resource: Resource::Events, id: ManagedObjectId(7) };
        let family = FamilyChannel(channel).to_string();
        assert_eq!(Pattern::parse(Endpoint::Realtime, &family), Some(Pattern::WithChildren(channel)));
    }
}
