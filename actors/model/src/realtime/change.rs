//! The change of an object that is published to subscribers and to event-processing modules (B-02, B-03).

use std::fmt::Display;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::alarm::Alarm;
use crate::data::event::Event;
use crate::data::measurement::Measurement;
use crate::data::operation::Operation;
use crate::devices::managed_object::ManagedObject;
use crate::id::{AlarmId, EventId, ManagedObjectId, MeasurementId, OperationId};
use crate::links::{Links, encode};
use crate::realtime::bayeux::Resource;

/// The member of `ext` of a notification on `/managedobjectsOfGroup/<id>` (B-39).
const MEMBER_EXTENSION: &str = "com.platform.member";

/// A change of an object, with the object as subscribers receive it (B-02, B-03).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum PublishedChange {
    /// An alarm was created.
    AlarmCreated(Arc<Alarm>),
    /// An alarm was changed or repeated.
    AlarmUpdated(Arc<Alarm>),
    /// An alarm was deleted; the notification holds only its id.
    AlarmDeleted(AlarmId),
    /// A measurement was created.
    MeasurementCreated(Arc<Measurement>),
    /// A measurement was deleted; the notification holds only its id.
    MeasurementDeleted(MeasurementId),
    /// A managed object was created.
    ManagedObjectCreated(Arc<ManagedObject>),
    /// A managed object was changed.
    ManagedObjectUpdated(Arc<ManagedObject>),
    /// A managed object was deleted; the notification holds only its id.
    ManagedObjectDeleted(ManagedObjectId),
    /// An event was created.
    EventCreated(Arc<Event>),
    /// An event or its file was changed.
    EventUpdated(Arc<Event>),
    /// An event was deleted; the notification holds only its id.
    EventDeleted(EventId),
    /// An operation was created.
    OperationCreated(Arc<Operation>),
    /// An operation was changed.
    OperationUpdated(Arc<Operation>),
    /// An operation was deleted; the notification holds only its id.
    OperationDeleted(OperationId),
}

impl PublishedChange {
    /// Returns the kind of the changed object, the first part of the channel.
    pub fn resource(&self) -> Resource {
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

    /// Returns the id of the changed object and what happened to it. The id is `None` if nothing was stored.
    pub fn identity(&self) -> (Option<i64>, &'static str) {
        match self {
            Self::AlarmCreated(alarm) => (alarm.id.map(|id| id.0), "CREATE"),
            Self::AlarmUpdated(alarm) => (alarm.id.map(|id| id.0), "UPDATE"),
            Self::AlarmDeleted(id) => (Some(id.0), "DELETE"),
            Self::MeasurementCreated(measurement) => (measurement.id.map(|id| id.0), "CREATE"),
            Self::MeasurementDeleted(id) => (Some(id.0), "DELETE"),
            Self::ManagedObjectCreated(object) => (object.id.map(|id| id.0), "CREATE"),
            Self::ManagedObjectUpdated(object) => (object.id.map(|id| id.0), "UPDATE"),
            Self::ManagedObjectDeleted(id) => (Some(id.0), "DELETE"),
            Self::EventCreated(event) => (event.id.map(|id| id.0), "CREATE"),
            Self::EventUpdated(event) => (event.id.map(|id| id.0), "UPDATE"),
            Self::EventDeleted(id) => (Some(id.0), "DELETE"),
            Self::OperationCreated(operation) => (operation.id.map(|id| id.0), "CREATE"),
            Self::OperationUpdated(operation) => (operation.id.map(|id| id.0), "UPDATE"),
            Self::OperationDeleted(id) => (Some(id.0), "DELETE"),
        }
    }

    /// Returns the Bayeux message about this change, encoded as JSON. On the channel of a group, `is_member` tells
    /// whether the changed object is a member now (B-39).
    pub fn notification(
        &self,
        channel: &impl Display,
        id: u64,
        is_member: Option<bool>,
        links: &Links,
    ) -> Vec<u8> {
        let ext = is_member.map(|is_member| format!(r#""ext":{{"{MEMBER_EXTENSION}":{is_member}}},"#));
        let ext = ext.unwrap_or_default();
        self.encode_between(format!(r#"{{"channel":"{channel}","id":"{id}",{ext}"data":"#), "}", links)
    }

    /// Returns the member `data` of the Bayeux message about this change, encoded as JSON.
    pub fn content(&self, links: &Links) -> Vec<u8> {
        self.encode_between(String::new(), "", links)
    }

    fn encode_between(&self, mut head: String, end: &str, links: &Links) -> Vec<u8> {
        let (_, action) = self.identity();
        let data = match self {
            Self::AlarmCreated(alarm) => encode(&**alarm, links),
            Self::AlarmUpdated(alarm) => encode(&**alarm, links),
            Self::AlarmDeleted(id) => format!("\"{id}\"").into_bytes(),
            Self::MeasurementCreated(measurement) => encode(&**measurement, links),
            Self::MeasurementDeleted(id) => format!("\"{id}\"").into_bytes(),
            Self::ManagedObjectCreated(object) => encode(&**object, links),
            Self::ManagedObjectUpdated(object) => encode(&**object, links),
            Self::ManagedObjectDeleted(id) => format!("\"{id}\"").into_bytes(),
            Self::EventCreated(event) => encode(&**event, links),
            Self::EventUpdated(event) => encode(&**event, links),
            Self::EventDeleted(id) => format!("\"{id}\"").into_bytes(),
            Self::OperationCreated(operation) => encode(&**operation, links),
            Self::OperationUpdated(operation) => encode(&**operation, links),
            Self::OperationDeleted(id) => format!("\"{id}\"").into_bytes(),
        };
        head.push_str(r#"{"realtimeAction":""#);
        head.push_str(action);
        head.push_str(r#"","data":"#);
        let mut json = head.into_bytes();
        json.reserve_exact(data.len() + 1 + end.len());
        json.extend_from_slice(&data);
        json.push(b'}');
        json.extend_from_slice(end.as_bytes());
        json
    }
}
