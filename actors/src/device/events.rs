//! Changes and deletions of an event. They go through the device's actor, so that they are published in their order.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::data::event::{Event, EventPatch};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::EventId;
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_store::data::events::{delete_events, get_event};
use platform_store::realtime::publications::DeletionNotices;
use platform_store::writer::{Change, Written};

use super::{Cause, Device, DeviceActor, MAX_ATTEMPTS};

/// Changes text and fragments of an event (V-02).
///
/// Sent by the HTTP layer for `PUT /event/events/<id>`. The reply is the current event. An update without changes
/// writes and publishes nothing. Otherwise it publishes UPDATE as the mode requires (M-02 to M-04).
///
/// # Errors
/// `NotFound`, `Forbidden`, `Conflict` when others change it all the time, `PreconditionFailed` (C-23), `Unavailable`
/// or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Event>>")]
pub struct UpdateEvent {
    /// The event as the HTTP layer read it.
    pub event: Arc<Event>,
    /// The body of the request.
    pub patch: Arc<EventPatch>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// Deletes an event with its file. Sent by the HTTP layer for `DELETE /event/events/<id>`. Publishes DELETE (B-03).
/// TRANSIENT and CEP delete nothing and only send the deletion to modules (M-04).
///
/// # Errors
/// `NotFound`, `Forbidden`, `PreconditionFailed` (C-23), `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct DeleteEvent {
    /// The event as the HTTP layer read it.
    pub event: Arc<Event>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

impl Handler<UpdateEvent> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<Event>>>;

    fn handle(&mut self, message: UpdateEvent, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.update_event(message).await)
    }
}

impl Handler<DeleteEvent> for DeviceActor {
    type Result = AtomicResponse<Self, Result<()>>;

    fn handle(&mut self, message: DeleteEvent, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.delete_event(message).await)
    }
}

impl Device {
    async fn update_event(&mut self, message: UpdateEvent) -> Result<Arc<Event>> {
        let UpdateEvent { event: mut current, patch, origin } = message;
        let id = current.id.ok_or_else(|| Error::not_found(Noun::Event, "null"))?;
        self.authorize_event(&current, &origin).await?;
        for _ in 0..MAX_ATTEMPTS {
            origin.check_revision(Noun::Event, id, current.revision)?;
            let Some(changed) = patch.applied(&current) else { return Ok(current) };
            let changed = Arc::new(changed);
            if !origin.mode.stores() {
                self.publish_event_update(&changed, &origin);
                self.context.published().await?;
                return Ok(changed);
            }
            let (before, after) = (current.fragments.bytes(), changed.fragments.bytes());
            self.context.database.ensure_growth(&self.context.tenant, before, after)?;
            let change = Change::UpdateEvent(self.context.tenant.clone(), changed.clone());
            let published = PublishedChange::EventUpdated(changed.clone());

            let written = self.context.commit_stored(change, &origin, self.id, published).await?;

            if matches!(written, Written::Stored) {
                return Ok(Arc::new(Event { revision: changed.revision + 1, ..Event::clone(&changed) }));
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);
            current = Arc::new(get_event(database, tenant, id).await?);
        }
        Err(contended(id))
    }

    async fn delete_event(&mut self, DeleteEvent { event, origin }: DeleteEvent) -> Result<()> {
        let id = event.id.ok_or_else(|| Error::not_found(Noun::Event, "null"))?;
        self.authorize_event(&event, &origin).await?;
        origin.check_revision(Noun::Event, id, event.revision)?;
        if !origin.mode.stores() {
            self.context.feed(self.id, PublishedChange::EventDeleted(id), Cause::of(&origin));
            return Ok(());
        }
        let (database, tenant) = (&self.context.database, &self.context.tenant);

        let notices = DeletionNotices::new(Cause::of(&origin));
        let revision = origin.precondition.is_some().then_some(event.revision);
        let fence = origin.fence();

        let gone = delete_events(database, tenant, &[id.0], fence, &notices, revision).await?;

        match (gone, revision) {
            (1.., _) => Ok(()),
            (0, None) => Err(Error::not_found(Noun::Event, id)),
            (0, Some(_)) => {
                let event = get_event(database, tenant, id).await?;
                origin.check_revision(Noun::Event, id, event.revision)?;
                // The request allows this revision too.
                Err(contended(id))
            }
        }
    }

    /// Checks that the caller may write this event.
    pub(super) async fn authorize_event(&mut self, event: &Event, origin: &Origin) -> Result<()> {
        self.authorize(origin, |_, name| event.fragments.get(name).is_some()).await?;
        Ok(())
    }

    /// Publishes UPDATE.
    pub(super) fn publish_event_update(&self, event: &Arc<Event>, origin: &Origin) {
        self.publish(PublishedChange::EventUpdated(event.clone()), origin);
    }
}

pub(super) fn contended(id: EventId) -> Error {
    let message = format!("event '{id}' is being changed by somebody else, try again");
    Error::Conflict { noun: Noun::Event, message }
}
