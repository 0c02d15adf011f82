//! The files of the events of one device. An event and the description of its file change in one transaction, which
//! requires the revision that was read. So one of two concurrent uploads wins, whatever the number of processes.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::data::binary::Binary;
use platform_model::data::event::Event;
use platform_model::data::event_binary::{Content, EventBinary, Placement};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{BinaryId, EventId};
use platform_model::origin::Origin;
use platform_store::data::events::ChangedEvent;

use super::events::contended;
use super::{Cause, Device, DeviceActor, MAX_ATTEMPTS};

/// Makes a finished upload the file of an event, or appends it to the file (V-06, V-09).
///
/// Sent by the HTTP layer for POST and PUT of `/event/events/<id>/binaries`. The reply is the resulting file.
/// Publishes UPDATE of the event.
///
/// # Errors
/// `NotFound` for the event or, when replacing, for its file; `Duplicate` when it has a file already; `Invalid` for a
/// chunk that is not the next one; `Forbidden`, `Conflict`, `Unavailable` or `Database`. The file is unchanged then.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<EventBinary>")]
pub struct PlaceEventBinary {
    /// The event that gets the file.
    pub event: EventId,
    /// The finished upload.
    pub upload: Binary,
    /// Whether the upload creates, replaces or extends the file.
    pub placement: Placement,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// Removes the complete or incomplete file of an event (V-09). Publishes UPDATE of the event.
///
/// # Errors
/// `NotFound` for the event or its file, `Forbidden`, `Conflict`, `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct RemoveEventBinary {
    /// The event that has the file.
    pub event: EventId,
    /// The file to remove.
    pub which: Removed,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// The file of an event that is to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// Whichever file the event has.
    Present,
    /// An incomplete file, only if it still has this many bytes: its upload was abandoned.
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
        for _ in 0..MAX_ATTEMPTS {
            let (mut event, present) = self.event_with_binary(id, &origin).await?;
            let placed = placement.place(id, present.as_ref(), &upload)?;
            event.set_content(Some(placed.content()));
            let content = placed.content().clone();
            let changed = ChangedEvent { event: Arc::new(event), cause: Cause::of(&origin) };
            if !origin.mode.stores() {
                self.publish_event_update(&changed.event, &origin);
                return Ok(EventBinary { event: id, content, id: None });
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);

            let written =
                platform_store::data::events::place_binary(database, tenant, &changed, &placed, upload.id)
                    .await;

            if is_done(written)? {
                let binary = Some(content.binary().id);
                return Ok(EventBinary { event: id, content, id: binary });
            }
        }
        Err(contended(id))
    }

    async fn remove_event_binary(&mut self, message: RemoveEventBinary) -> Result<()> {
        let RemoveEventBinary { event: id, which, origin } = message;
        for _ in 0..MAX_ATTEMPTS {
            let (mut event, present) = self.event_with_binary(id, &origin).await?;
            if !which.is_meant(present.as_ref()) {
                return Err(Error::not_found(Noun::EventBinary, id));
            }
            event.set_content(None);
            let changed = ChangedEvent { event: Arc::new(event), cause: Cause::of(&origin) };
            if !origin.mode.stores() {
                self.publish_event_update(&changed.event, &origin);
                return Ok(());
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);

            let written = platform_store::data::events::delete_binary(database, tenant, &changed).await;

            if is_done(written)? {
                return Ok(());
            }
        }
        Err(contended(id))
    }

    /// Reads the event and its file again. A decision based on them holds while the event's revision is unchanged.
    async fn event_with_binary(&mut self, id: EventId, origin: &Origin) -> Result<(Event, Option<Content>)> {
        let (database, tenant) = (&self.context.database, &self.context.tenant);
        let (event, content) =
            platform_store::data::events::get_event_with_binary(database, tenant, id).await?;
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

/// Returns false when the transaction lost against another one, like one with an outdated revision; the caller then
/// decides again.
fn is_done(written: Result<bool>) -> Result<bool> {
    match written {
        Err(Error::Contended) => Ok(false),
        other => other,
    }
}
