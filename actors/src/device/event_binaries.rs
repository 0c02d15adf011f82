//! Files of the events of one device. An event and what it tells of its file change in one transaction, under the
//! revision the event was read with; so of two uploads at once one wins, whatever the number of processes.

use std::sync::Arc;

use actix::prelude::*;

use super::events::contended;
use super::{DECISIONS, Device, DeviceActor};
use crate::error::{Error, Noun, Result};
use crate::model::binary::Binary;
use crate::model::event::Event;
use crate::model::event_binary::{Content, EventBinary, Placement};
use crate::model::id::{BinaryId, EventId};
use crate::model::origin::Origin;
use crate::store;

/// Makes a finished upload the file of an event, or the next bytes of it (V-06, V-09).
///
/// Sent by the edge for POST and PUT of `/event/events/<id>/binaries`. Replies with the file as it is then. Publishes
/// UPDATE of the event.
///
/// # Errors
/// `NotFound` of the event or, for a replacement, of its file; `Duplicate` when it has one already; `Invalid` for a
/// chunk that is not the next; `Forbidden`, `Conflict`, `Unavailable` or `Database`. Then the file is what it was.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<EventBinary>")]
pub struct PlaceEventBinary {
    /// Whose file it becomes.
    pub event: EventId,
    /// The finished upload.
    pub upload: Binary,
    /// What it becomes.
    pub placement: Placement,
    /// Who asks.
    pub origin: Arc<Origin>,
}

/// Takes the file of an event away, a complete one or what there is of it (V-09). Publishes UPDATE of the event.
///
/// # Errors
/// `NotFound` of the event or its file, `Forbidden`, `Conflict`, `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct RemoveEventBinary {
    /// Whose file it is.
    pub event: EventId,
    /// Which file is meant.
    pub which: Removed,
    /// Who asks.
    pub origin: Arc<Origin>,
}

/// Which file of an event is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The one there is.
    Present,
    /// An incomplete one that still has so many bytes: nobody goes on with it.
    GivenUp(BinaryId, i64),
}

impl Handler<PlaceEventBinary> for DeviceActor {
    type Result = AtomicResponse<Self, Result<EventBinary>>;

    fn handle(&mut self, message: PlaceEventBinary, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.place_event_binary(message).await)
    }
}

impl Handler<RemoveEventBinary> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: RemoveEventBinary, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.remove_event_binary(message).await)
    }
}

impl Device {
    async fn place_event_binary(&mut self, message: PlaceEventBinary) -> Result<EventBinary> {
        let PlaceEventBinary { event: id, upload, placement, origin } = message;
        for _ in 0..DECISIONS {
            let (mut event, present) = self.event_with_binary(id, &origin).await?;
            let placed = placement.place(id, present.as_ref(), &upload)?;
            event.tell_of(Some(placed.content()));
            let content = placed.content().clone();
            if !origin.mode.stores() {
                self.tell_of_event(&Arc::new(event), &origin);
                return Ok(EventBinary { event: id, content, id: None });
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);

            let written = store::events::place_binary(database, tenant, &event, &placed, upload.id).await;

            if is_done(written)? {
                self.tell_of_event(&Arc::new(event), &origin);
                let binary = Some(content.binary().id);
                return Ok(EventBinary { event: id, content, id: binary });
            }
        }
        Err(contended(id))
    }

    async fn remove_event_binary(&mut self, message: RemoveEventBinary) -> Result<()> {
        let RemoveEventBinary { event: id, which, origin } = message;
        for _ in 0..DECISIONS {
            let (mut event, present) = self.event_with_binary(id, &origin).await?;
            if !which.is_meant(present.as_ref()) {
                return Err(Error::not_found(Noun::EventBinary, id));
            }
            event.tell_of(None);
            if !origin.mode.stores() {
                self.tell_of_event(&Arc::new(event), &origin);
                return Ok(());
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);

            let written = store::events::delete_binary(database, tenant, &event).await;

            if is_done(written)? {
                self.tell_of_event(&Arc::new(event), &origin);
                return Ok(());
            }
        }
        Err(contended(id))
    }

    /// The event and what it has of a file, read afresh: what is decided from it holds under the event's revision.
    async fn event_with_binary(&mut self, id: EventId, origin: &Origin) -> Result<(Event, Option<Content>)> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let (event, content) = store::events::get_event_with_binary(database, tenant, id).await?;
        self.authorize_event(&event, origin).await?;
        Ok((event, content))
    }
}

impl Removed {
    fn is_meant(self, present: Option<&Content>) -> bool {
        match (self, present) {
            (_, None) => false,
            (Self::Present, Some(_)) => true,
            (Self::GivenUp(id, length), Some(Content::Incomplete(binary))) => {
                binary.id == id && binary.length == length
            }
            (Self::GivenUp(..), Some(Content::Complete(_))) => false,
        }
    }
}

/// A transaction that lost against another is decided anew, as one whose premise no longer held.
fn is_done(written: Result<bool>) -> Result<bool> {
    match written {
        Err(Error::Contended) => Ok(false),
        other => other,
    }
}
