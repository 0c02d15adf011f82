//! What a row asks the platform for, read by the same rules as the bodies of requests.

use std::sync::Arc;

use super::body::body;
use super::cells::Cells;
use crate::error::{Error, Result};
use crate::event_processing::stream::{OutputStream, Row};
use crate::model::alarm::{AlarmPatch, NewAlarm};
use crate::model::body::MAX_SHORT_TEXT;
use crate::model::event::{EventPatch, NewEvent};
use crate::model::id::{AlarmId, EventId, ManagedObjectId, MeasurementId, OperationId};
use crate::model::managed_object::{ManagedObjectPatch, NewManagedObject};
use crate::model::measurement::NewMeasurement;
use crate::model::operation::{NewOperation, OperationPatch};
use crate::model::reference::LinkKind;

/// One write.
#[derive(Debug)]
pub(super) enum Deed {
    CreateManagedObject {
        object: NewManagedObject,
        /// "cep" without.
        owner: Option<Arc<str>>,
        children: Children,
    },
    /// What the row names changes; children are added to those there are, none is taken off.
    UpdateManagedObject(ManagedObjectId, Arc<ManagedObjectPatch>, Children),
    /// With its data and, of a group, its subgroups, as a request without `cascade` (I-10).
    DeleteManagedObject(ManagedObjectId),
    CreateEvent(NewEvent),
    UpdateEvent(EventId, Arc<EventPatch>),
    DeleteEvent(EventId),
    CreateMeasurements(Vec<NewMeasurement>),
    DeleteMeasurement(MeasurementId),
    /// Always PENDING, whatever its column `status` says (O-04).
    CreateOperation(Arc<NewOperation>),
    UpdateOperation(OperationId, Arc<OperationPatch>),
    CreateAlarm(Arc<NewAlarm>),
    UpdateAlarm(AlarmId, Arc<AlarmPatch>),
}

/// Objects to be linked below another one, by the kind of their link.
pub(super) type Children = Vec<(LinkKind, Vec<ManagedObjectId>)>;

impl Deed {
    /// What a row of a stream asks for; none for a stream that sends and does not write.
    ///
    /// # Errors
    /// `Invalid` as the request would be answered, and for a mandatory id that is null; `NotFound` for an id that is none.
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

    /// Puts the measurements of another one to its own, where both are of one source.
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
