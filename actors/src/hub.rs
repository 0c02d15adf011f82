//! The notification hub of a tenant: from a published change to the sessions that wait for it.
//!
//! The hub never awaits, so everyone may send to it without a reply. A notification is encoded once, when the first
//! listener is found, and shared by all of them.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;
use bytes::Bytes;

use crate::bayeux::{Channel, Pattern, Resource};
use crate::model::alarm::Alarm;
use crate::model::event;
use crate::model::id::{EventId, ManagedObjectId, MeasurementId};
use crate::model::links::{Links, encode};
use crate::model::managed_object::ManagedObject;
use crate::model::measurement::Measurement;
use crate::session::{ClientId, Deliver, SessionActor};

/// A notification as it goes over the wire: one Bayeux message, encoded once.
#[derive(Debug)]
pub struct Notification {
    json: Bytes,
}

impl Notification {
    /// The Bayeux message.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    #[cfg(test)]
    pub(crate) fn for_test(json: &str) -> Self {
        Self { json: Bytes::copy_from_slice(json.as_bytes()) }
    }
}

/// What happened to an object, and the object as subscribers shall see it (B-02, B-03).
#[derive(Debug, Clone)]
pub enum Event {
    /// A new alarm.
    AlarmCreated(Arc<Alarm>),
    /// A changed or repeated alarm.
    AlarmUpdated(Arc<Alarm>),
    /// A new measurement.
    MeasurementCreated(Arc<Measurement>),
    /// A measurement is gone; only its id is told.
    MeasurementDeleted(MeasurementId),
    /// A new managed object.
    ManagedObjectCreated(Arc<ManagedObject>),
    /// A changed managed object.
    ManagedObjectUpdated(Arc<ManagedObject>),
    /// A managed object is gone; only its id is told.
    ManagedObjectDeleted(ManagedObjectId),
    /// A new event.
    EventCreated(Arc<event::Event>),
    /// A changed event, or a change of its file.
    EventUpdated(Arc<event::Event>),
    /// An event is gone; only its id is told.
    EventDeleted(EventId),
}

/// Tells everyone who listens to a channel.
///
/// Sent by device actors after the commit, in the order of their writes; which is the order of delivery.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Publish {
    pub(crate) source: ManagedObjectId,
    pub(crate) event: Event,
    pub(crate) links: Links,
}

/// Adds a session to the listeners of a pattern. The reply means: what is published from now on is delivered.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Join {
    pub(crate) client: ClientId,
    pub(crate) session: Addr<SessionActor>,
    pub(crate) patterns: Vec<Pattern>,
}

/// Takes a session out of the listeners of patterns. Sent on unsubscribe and when a session ends.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Leave {
    pub(crate) client: ClientId,
    pub(crate) patterns: Vec<Pattern>,
}

type Listeners = HashMap<ClientId, Addr<SessionActor>>;

/// Who listens to what, in one tenant.
#[derive(Debug, Default)]
pub struct NotificationHub {
    listeners: HashMap<Pattern, Listeners>,
    last_id: u64,
}

impl Actor for NotificationHub {
    type Context = Context<Self>;
}

impl Handler<Publish> for NotificationHub {
    type Result = ();

    fn handle(&mut self, publish: Publish, _: &mut Self::Context) {
        crate::metrics::PUBLISHED.increment(1);
        let channel = Channel { resource: publish.event.resource(), id: publish.source };
        // The hub knows no links: of a family it hears the object itself.
        let patterns =
            [Pattern::Exact(channel), Pattern::WithChildren(channel), Pattern::All(channel.resource)];
        let listeners = patterns.map(|pattern| self.listeners.get(&pattern));
        if listeners.iter().all(Option::is_none) {
            return;
        }
        self.last_id += 1;
        let notification = Arc::new(publish.event.encode(channel, self.last_id, &publish.links));
        for (at, listening) in listeners.iter().enumerate() {
            for (client, session) in listening.iter().copied().flatten() {
                // A session subscribed in several ways gets it once (B-02).
                if !listeners[..at].iter().flatten().any(|earlier| earlier.contains_key(client)) {
                    session.do_send(Deliver(notification.clone()));
                }
            }
        }
    }
}

impl Handler<Join> for NotificationHub {
    type Result = ();

    fn handle(&mut self, join: Join, _: &mut Self::Context) {
        for pattern in join.patterns {
            self.listeners.entry(pattern).or_default().insert(join.client, join.session.clone());
        }
    }
}

impl Handler<Leave> for NotificationHub {
    type Result = ();

    fn handle(&mut self, leave: Leave, _: &mut Self::Context) {
        for pattern in leave.patterns {
            if let Some(listeners) = self.listeners.get_mut(&pattern) {
                listeners.remove(&leave.client);
                if listeners.is_empty() {
                    self.listeners.remove(&pattern);
                }
            }
        }
    }
}

impl Event {
    fn resource(&self) -> Resource {
        match self {
            Self::AlarmCreated(_) | Self::AlarmUpdated(_) => Resource::Alarms,
            Self::MeasurementCreated(_) | Self::MeasurementDeleted(_) => Resource::Measurements,
            Self::ManagedObjectCreated(_) | Self::ManagedObjectUpdated(_) | Self::ManagedObjectDeleted(_) => {
                Resource::ManagedObjects
            }
            Self::EventCreated(_) | Self::EventUpdated(_) | Self::EventDeleted(_) => Resource::Events,
        }
    }

    fn encode(&self, channel: Channel, id: u64, links: &Links) -> Notification {
        let (action, data) = match self {
            Self::AlarmCreated(alarm) => ("CREATE", encode(&**alarm, links)),
            Self::AlarmUpdated(alarm) => ("UPDATE", encode(&**alarm, links)),
            Self::MeasurementCreated(measurement) => ("CREATE", encode(&**measurement, links)),
            Self::MeasurementDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
            Self::ManagedObjectCreated(object) => ("CREATE", encode(&**object, links)),
            Self::ManagedObjectUpdated(object) => ("UPDATE", encode(&**object, links)),
            Self::ManagedObjectDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
            Self::EventCreated(event) => ("CREATE", encode(&**event, links)),
            Self::EventUpdated(event) => ("UPDATE", encode(&**event, links)),
            Self::EventDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
        };
        let head =
            format!(r#"{{"channel":"{channel}","id":"{id}","data":{{"realtimeAction":"{action}","data":"#);
        let mut json = Vec::with_capacity(head.len() + data.len() + 2);
        json.extend_from_slice(head.as_bytes());
        json.extend_from_slice(&data);
        json.extend_from_slice(b"}}");
        Notification { json: json.into() }
    }
}
