//! The notification hub of a tenant: from a published change to the sessions that wait for it.
//!
//! The hub's handlers never await, so everyone may send to it without a reply. A notification is encoded once, when the
//! first listener is found, and shared by all of them.

mod agents;
mod audience;
mod couriers;
mod families;
mod modules;

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use actix::prelude::*;
use bytes::Bytes;

use crate::bayeux::{Channel, FamilyChannel, Pattern, Resource};
use crate::courier::{Courier, Seat};
use crate::few::Few;
use crate::model::alarm::Alarm;
use crate::model::event;
use crate::model::id::{AlarmId, EventId, ManagedObjectId, MeasurementId, OperationId, TenantId};
use crate::model::links::{Links, encode};
use crate::model::managed_object::ManagedObject;
use crate::model::measurement::Measurement;
use crate::model::operation::Operation;
use crate::model::units::SystemOfUnits;
use crate::store::Database;
pub(crate) use agents::PublishQueued;
pub(crate) use audience::Audience;
use couriers::Couriers;
use families::{Families, Lineage, Placed};
pub(crate) use modules::PublishRow;

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
    /// An alarm is gone; only its id is told.
    AlarmDeleted(AlarmId),
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
    /// A new operation.
    OperationCreated(Arc<Operation>),
    /// A changed operation.
    OperationUpdated(Arc<Operation>),
    /// An operation is gone; only its id is told.
    OperationDeleted(OperationId),
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
    pub(crate) seat: Seat,
    /// Where the seat is.
    pub(crate) courier: Addr<Courier>,
    /// In which units it is told of measurements (B-20).
    pub(crate) units: Option<SystemOfUnits>,
    pub(crate) patterns: Vec<Pattern>,
}

/// Takes a session out of the listeners of patterns. Sent on unsubscribe and when a session ends.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Leave {
    pub(crate) seat: Seat,
    pub(crate) patterns: Vec<Pattern>,
}

/// Asks whether anybody listens to a pattern. Sent by the diagnosis of an operation.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub(crate) struct HasListeners(pub(crate) Pattern);

/// Links were added or taken off, so that objects belong to other families than before (B-19b). Sent after the commit.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct LinksChanged;

/// Sessions that listen, and in which units they are told of measurements.
type Listeners = Few<Seat, Option<SystemOfUnits>>;

/// Those who listen in any of several ways. A session that does so in more than one is named once (B-02).
fn each_once(listeners: &[&Listeners]) -> impl Iterator<Item = (Seat, Option<SystemOfUnits>)> {
    listeners.iter().enumerate().flat_map(move |(at, listening)| {
        let earlier = &listeners[..at];
        let first_here = move |seat: &Seat| !earlier.iter().any(|earlier| earlier.contains(seat));
        listening.iter().filter(move |(seat, _)| first_here(seat)).map(|(seat, units)| (*seat, *units))
    })
}

/// A notification on one channel, in the forms that its listeners need, each encoded once.
struct Forms<'a, C> {
    publish: &'a Publish,
    channel: C,
    id: u64,
    /// As stored, metric, imperial; all but measurements have one form.
    encoded: [Option<Arc<Notification>>; 3],
}

/// Who listens to what, in one tenant.
pub struct NotificationHub {
    listeners: HashMap<Pattern, Listeners>,
    couriers: Couriers,
    audience: Audience,
    families: Families,
    last_id: u64,
}

impl NotificationHub {
    /// The hub of a tenant, without listeners. Who publishes asks the audience first.
    pub(crate) fn new(tenant: TenantId, database: Database, audience: Audience) -> Self {
        let families = Families::new(tenant, database);
        Self { listeners: HashMap::new(), couriers: Couriers::default(), audience, families, last_id: 0 }
    }

    /// Hands a notification to everyone who listens to the channel of its source, by its name or by a wildcard, and then to
    /// those who listen to a family of the source. Clients look for the subscription by the channel of the message, so each
    /// family has a copy on its own channel (B-19c).
    fn deliver(&mut self, publish: &Publish, lineage: Option<&Lineage>) {
        let own = Channel { resource: publish.event.resource(), id: publish.source };
        let patterns = [Pattern::Exact(own), Pattern::All(own.resource)];
        let listeners: Vec<&Listeners> = patterns.iter().filter_map(|p| self.listeners.get(p)).collect();
        if !listeners.is_empty() {
            self.last_id += 1;
            let mut forms = Forms::new(publish, own, self.last_id);
            let told = each_once(&listeners).map(|(seat, units)| (seat, forms.in_units(units)));
            self.couriers.deliver(told);
        }
        for id in lineage.into_iter().flat_map(|lineage| lineage.iter()) {
            let family = Channel { resource: own.resource, id: *id };
            let Some(listeners) = self.listeners.get(&Pattern::WithChildren(family)) else { continue };
            self.last_id += 1;
            let mut forms = Forms::new(publish, FamilyChannel(family), self.last_id);
            let told = listeners.iter().map(|(seat, units)| (*seat, forms.in_units(*units)));
            self.couriers.deliver(told);
        }
    }

    /// Has the families of those looked up whose notifications wait.
    fn look_up(&mut self, ctx: &mut Context<Self>) {
        let Some(look_up) = self.families.next() else { return };
        ctx.spawn(look_up.run().into_actor(self).map(|found, hub, ctx| {
            match hub.families.found(found) {
                Ok(ready) => ready.iter().for_each(|(publish, lineage)| hub.deliver(publish, Some(lineage))),
                Err((error, publishes)) => {
                    tracing::warn!(%error, "families cannot be looked up, sessions that listen to them end");
                    hub.end_family_sessions();
                    publishes.iter().for_each(|publish| hub.deliver(publish, None));
                }
            }
            hub.look_up(ctx);
        }));
    }

    /// Ends the sessions that listen to families: their clients handshake anew, there is never a silent gap.
    fn end_family_sessions(&self) {
        let families =
            self.listeners.iter().filter(|(pattern, _)| matches!(pattern, Pattern::WithChildren(_)));
        let listeners: Vec<&Listeners> = families.map(|(_, listeners)| listeners).collect();
        self.couriers.end(each_once(&listeners).map(|(seat, _)| seat));
    }
}

impl Actor for NotificationHub {
    type Context = Context<Self>;
}

impl Handler<Publish> for NotificationHub {
    type Result = ();

    fn handle(&mut self, publish: Publish, ctx: &mut Self::Context) {
        match self.families.place(publish) {
            Placed::Ready(publish, lineage) => self.deliver(&publish, lineage.as_ref()),
            Placed::Waiting => self.look_up(ctx),
        }
    }
}

impl Handler<HasListeners> for NotificationHub {
    type Result = bool;

    fn handle(&mut self, HasListeners(pattern): HasListeners, _: &mut Self::Context) -> bool {
        self.listeners.contains_key(&pattern)
    }
}

impl Handler<LinksChanged> for NotificationHub {
    type Result = ();

    fn handle(&mut self, _: LinksChanged, _: &mut Self::Context) {
        self.families.links_changed();
    }
}

impl Handler<Join> for NotificationHub {
    type Result = ();

    fn handle(&mut self, join: Join, _: &mut Self::Context) {
        self.couriers.meet(join.seat, join.courier);
        for pattern in join.patterns {
            if !self.listeners.contains_key(&pattern) {
                self.audience.joined(&pattern);
                self.families.joined(&pattern);
            }
            self.listeners.entry(pattern).or_default().insert(join.seat, join.units);
        }
    }
}

impl Handler<Leave> for NotificationHub {
    type Result = ();

    fn handle(&mut self, leave: Leave, _: &mut Self::Context) {
        for pattern in leave.patterns {
            if let Some(listeners) = self.listeners.get_mut(&pattern) {
                listeners.remove(&leave.seat);
                if listeners.is_empty() {
                    self.listeners.remove(&pattern);
                    self.audience.left(&pattern);
                    self.families.left(&pattern);
                }
            }
        }
    }
}

impl<'a, C: Display> Forms<'a, C> {
    fn new(publish: &'a Publish, channel: C, id: u64) -> Self {
        Self { publish, channel, id, encoded: Default::default() }
    }

    /// The form for a listener with this system of units.
    fn in_units(&mut self, units: Option<SystemOfUnits>) -> Arc<Notification> {
        let Publish { event, links, .. } = self.publish;
        let converted = match (event, units) {
            (Event::MeasurementCreated(measurement), Some(units)) => Some((measurement, units)),
            _ => None,
        };
        let form = match converted {
            None => 0,
            Some((_, SystemOfUnits::Metric)) => 1,
            Some((_, SystemOfUnits::Imperial)) => 2,
        };
        let encode = || {
            let converted = converted
                .map(|(measurement, units)| Event::MeasurementCreated(Arc::new(measurement.in_units(units))));
            Arc::new(converted.as_ref().unwrap_or(event).encode(&self.channel, self.id, links))
        };
        self.encoded[form].get_or_insert_with(encode).clone()
    }
}

impl Event {
    pub(crate) fn resource(&self) -> Resource {
        match self {
            Self::AlarmCreated(_) | Self::AlarmUpdated(_) | Self::AlarmDeleted(_) => Resource::Alarms,
            Self::MeasurementCreated(_) | Self::MeasurementDeleted(_) => Resource::Measurements,
            Self::ManagedObjectCreated(_) | Self::ManagedObjectUpdated(_) | Self::ManagedObjectDeleted(_) => {
                Resource::ManagedObjects
            }
            Self::EventCreated(_) | Self::EventUpdated(_) | Self::EventDeleted(_) => Resource::Events,
            Self::OperationCreated(_) | Self::OperationUpdated(_) | Self::OperationDeleted(_) => {
                Resource::Operations
            }
        }
    }

    fn encode(&self, channel: &impl Display, id: u64, links: &Links) -> Notification {
        let (action, data) = match self {
            Self::AlarmCreated(alarm) => ("CREATE", encode(&**alarm, links)),
            Self::AlarmUpdated(alarm) => ("UPDATE", encode(&**alarm, links)),
            Self::AlarmDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
            Self::MeasurementCreated(measurement) => ("CREATE", encode(&**measurement, links)),
            Self::MeasurementDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
            Self::ManagedObjectCreated(object) => ("CREATE", encode(&**object, links)),
            Self::ManagedObjectUpdated(object) => ("UPDATE", encode(&**object, links)),
            Self::ManagedObjectDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
            Self::EventCreated(event) => ("CREATE", encode(&**event, links)),
            Self::EventUpdated(event) => ("UPDATE", encode(&**event, links)),
            Self::EventDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
            Self::OperationCreated(operation) => ("CREATE", encode(&**operation, links)),
            Self::OperationUpdated(operation) => ("UPDATE", encode(&**operation, links)),
            Self::OperationDeleted(id) => ("DELETE", format!("\"{id}\"").into_bytes()),
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
