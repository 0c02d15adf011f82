//! Converts a row to the write that it requests, by the same rules as request bodies.

use std::sync::Arc;

use platform_epl::stream::OutputStream;
use platform_epl::value::Row;
use platform_model::body::MAX_SHORT_TEXT;
use platform_model::data::alarm::{AlarmPatch, NewAlarm};
use platform_model::data::event::{EventPatch, NewEvent};
use platform_model::data::measurement::NewMeasurement;
use platform_model::data::operation::{NewOperation, OperationPatch};
use platform_model::devices::managed_object::{ManagedObjectPatch, NewManagedObject};
use platform_model::devices::reference::LinkKind;
use platform_model::error::{Error, Result};
use platform_model::id::{AlarmId, EventId, ManagedObjectId, MeasurementId, OperationId};

use super::body::body;
use super::cells::Cells;

/// A write to the platform.
#[derive(Debug)]
pub(super) enum ModuleWrite {
    CreateManagedObject {
        object: NewManagedObject,
        /// The owner; "cep" if it is `None`.
        owner: Option<Arc<str>>,
        children: Children,
    },
    /// Changes the fields that the row contains. Children are added to the existing ones; none are removed.
    UpdateManagedObject(ManagedObjectId, Arc<ManagedObjectPatch>, Children),
    /// Deletes the object with its data and, for a group, its subgroups, like a request without `cascade`
    /// (I-10).
    DeleteManagedObject(ManagedObjectId),
    CreateEvent(NewEvent),
    UpdateEvent(EventId, Arc<EventPatch>),
    DeleteEvent(EventId),
    CreateMeasurements(Vec<NewMeasurement>),
    DeleteMeasurement(MeasurementId),
    /// Creates an operation. Its status is always PENDING, whatever the column `status` contains (O-04).
    CreateOperation(Arc<NewOperation>),
    UpdateOperation(OperationId, Arc<OperationPatch>),
    CreateAlarm(Arc<NewAlarm>),
    UpdateAlarm(AlarmId, Arc<AlarmPatch>),
}

/// Objects that are to be linked below another one, by kind of link.
pub(super) type Children = Vec<(LinkKind, Vec<ManagedObjectId>)>;

impl ModuleWrite {
    /// Returns the write that a row requests; `None` for a stream that sends something instead of writing.
    ///
    /// # Errors
    /// Returns `Invalid` as the API would, or if a required id is null; returns `NotFound` if an id is
    /// malformed.
    pub(super) fn of(stream: OutputStream, row: &Row) -> Result<Option<Self>> {
        let row = Cells(row);
        let body = || body(stream, row);
        Ok(Some(match stream {
            OutputStream::CreateManagedObject => Self::CreateManagedObject {
                object: NewManagedObject::parse(body()?)?,
                owner: owner(row)?,
                children: children(row)?,
            },
            OutputStream::UpdateManagedObject => Self::UpdateManagedObject(
                ManagedObjectId::parse(&row.mandatory_id("id")?)?,
                Arc::new(ManagedObjectPatch::parse(body()?)?),
                children(row)?,
            ),
            OutputStream::DeleteManagedObject => {
                Self::DeleteManagedObject(ManagedObjectId::parse(&row.mandatory_id("id")?)?)
            }
            OutputStream::CreateEvent => Self::CreateEvent(NewEvent::parse(body()?)?),
            OutputStream::UpdateEvent => Self::UpdateEvent(
                EventId::parse(&row.mandatory_id("id")?)?,
                Arc::new(EventPatch::parse(body()?)?),
            ),
            OutputStream::DeleteEvent => Self::DeleteEvent(EventId::parse(&row.mandatory_id("id")?)?),
            OutputStream::CreateMeasurement => {
                Self::CreateMeasurements(vec![NewMeasurement::parse(body()?)?])
            }
            OutputStream::DeleteMeasurement => {
                Self::DeleteMeasurement(MeasurementId::parse(&row.mandatory_id("id")?)?)
            }
            OutputStream::CreateOperation => Self::CreateOperation(Arc::new(NewOperation::parse(body()?)?)),
            OutputStream::UpdateOperation => Self::UpdateOperation(
                OperationId::parse(&row.mandatory_id("id")?)?,
                Arc::new(OperationPatch::parse(body()?)?),
            ),
            OutputStream::CreateAlarm => Self::CreateAlarm(Arc::new(NewAlarm::parse(body()?)?)),
            OutputStream::UpdateAlarm => Self::UpdateAlarm(
                AlarmId::parse(&row.mandatory_id("id")?)?,
                Arc::new(AlarmPatch::parse(body()?)?),
            ),
            OutputStream::SendEmail
            | OutputStream::SendSms
            | OutputStream::SendPush
            | OutputStream::SendSpeech
            | OutputStream::SendRequest
            | OutputStream::SendExport
            | OutputStream::SendDashboard => return Ok(None),
        }))
    }

    /// Appends the measurements of another write, if both writes are for the same source.
    pub(super) fn take_along(&mut self, other: Self) {
        if let (Self::CreateMeasurements(own), Self::CreateMeasurements(more)) = (self, other) {
            own.extend(more);
        }
    }
}

fn owner(row: Cells<'_>) -> Result<Option<Arc<str>>> {
    match row.text("owner") {
        Some(owner) if owner.is_empty() || owner.len() > MAX_SHORT_TEXT => {
            Err(Error::invalid_value("owner", owner, "the name of a user"))
        }
        owner => Ok(owner.map(Into::into)),
    }
}

fn children(row: Cells<'_>) -> Result<Children> {
    let mut children = Vec::new();
    for kind in [LinkKind::ChildAssets, LinkKind::ChildDevices] {
        let ids = row.ids(kind.children())?;
        let unknown = |id: &str| Error::invalid_value(kind.children(), id, "ids of managed objects");
        let parse = |id: &String| ManagedObjectId::parse(id).map_err(|_| unknown(id));
        let ids = ids.iter().map(parse).collect::<Result<Vec<_>>>()?;
        if !ids.is_empty() {
            children.push((kind, ids));
        }
    }
    Ok(children)
}
