//! The events of one device.
//!
//! The order of new events matters only between the rows of one CSV request. So creating an event is a function
//! without an actor, as for managed objects. Changes and deletions of an event or its file go through the device's
//! actor, so that they are published in their order.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::access::Authority;
use platform_model::change::PublishedChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::event::{Event, EventFilter, EventPatch, NewEvent};
use platform_model::id::EventId;
use platform_model::limits::NOTIFIED_DELETIONS;
use platform_model::origin::Origin;
use platform_store::access::{Source, find_source};
use platform_store::events::collection;
use platform_store::events::{SentEvent, ShownSource};
use platform_store::writer::{Change, Written};

use super::{Cause, Context, Device, DeviceActor, MAX_ATTEMPTS, Turn};

/// Changes text and fragments of an event (V-02).
///
/// Sent by the HTTP layer for `PUT /event/events/<id>`. The reply is the current event. An update without changes
/// writes and publishes nothing. Otherwise it publishes UPDATE as the mode requires (M-02 to M-04).
///
/// # Errors
/// `NotFound`, `Forbidden`, `Conflict` when others change it all the time, `Unavailable` or `Database`.
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
/// `NotFound`, `Forbidden`, `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<()>")]
pub struct DeleteEvent {
    /// The event as the HTTP layer read it.
    pub event: Arc<Event>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// Creates an event and publishes CREATE (M-01 to M-04).
///
/// In modes TRANSIENT and CEP nothing is stored and the event has no id; QUIESCENT and CEP send it to modules only.
/// With a turn the event is published when the turn comes, otherwise before this returns.
///
/// # Errors
/// `Invalid` when the source does not exist, `Forbidden` when the caller may not write events of it; `Unavailable` or
/// `Database`, and nothing was published then.
pub(crate) async fn create_event(
    context: &Context,
    new: NewEvent,
    origin: &Origin,
    mut turn: Option<Turn>,
) -> Result<Arc<Event>> {
    if !origin.mode.stores() {
        return publish_unstored(context, new, origin, turn).await;
    }
    let owner = matches!(origin.authority, Authority::Limited(_)).then(|| origin.user.clone());
    let mut sent = Arc::new(SentEvent { event: new.created(Some(EventId(context.ids.next()))), owner });
    turn.iter().for_each(Turn::begin);

    let mut source = insert(context, &sent, origin, &mut turn).await?;
    if source.is_none() {
        authorize_sending(context, &sent.event, origin).await?;
        // The caller is not the owner, but the look-up above showed that they have permission.
        Arc::make_mut(&mut sent).owner = None;
        source = insert(context, &sent, origin, &mut turn).await?;
    }

    let event = Arc::unwrap_or_clone(sent).event;
    let Some(source) = source else { return Err(Error::unknown_source(event.source)) };
    // The event is committed from here on.
    let event = Arc::new(shown(event, source));
    publish(context, &event, origin, turn);
    Ok(event)
}

/// Publishes CREATE now or when the turn comes.
fn publish(context: &Context, event: &Arc<Event>, origin: &Origin, turn: Option<Turn>) {
    // A turn that has come lasts until the end of this function.
    if turn.as_ref().is_some_and(|turn| !turn.has_come())
        && let Some(turn) = turn
    {
        let (context, event, origin) = (context.clone(), event.clone(), origin.clone());
        return turn.publish_later(move || publish(&context, &event, &origin, None));
    }
    context.heard(event.source, origin);
    context.publish(event.source, PublishedChange::EventCreated(event.clone()), Cause::of(origin));
}

/// Inserts an event. Returns `None` when the source does not exist or is not the caller's.
async fn insert(
    context: &Context,
    sent: &Arc<SentEvent>,
    origin: &Origin,
    turn: &mut Option<Turn>,
) -> Result<Option<ShownSource>> {
    let change = Change::InsertEvent(context.tenant.clone(), sent.clone());
    let abandoned = || {
        let (context, sent, origin, turn) = (context.clone(), sent.clone(), origin.clone(), turn.take());
        move |written| {
            if let Written::EventOf(source) = written {
                let event = shown(Arc::unwrap_or_clone(sent).event, *source);
                publish(&context, &Arc::new(event), &origin, turn);
            }
        }
    };
    match context.writer.write_to_the_end(change, origin.fence(), abandoned).await {
        Ok(Written::EventOf(source)) => Ok(Some(*source)),
        Ok(_) => Ok(None),
        // The source was deleted between the look-up and the write.
        Err(error) if error.is_foreign_key_violation() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Handles modes TRANSIENT and CEP: returns the event as it would be, without storing it (M-02).
async fn publish_unstored(
    context: &Context,
    new: NewEvent,
    origin: &Origin,
    turn: Option<Turn>,
) -> Result<Arc<Event>> {
    turn.iter().for_each(Turn::begin);
    let event = new.created(None);
    let source = authorize_sending(context, &event, origin).await?;
    let event = Arc::new(shown(event, ShownSource { name: source.name, type_: source.type_ }));
    publish(context, &event, origin, turn);
    Ok(event)
}

/// Checks that the caller may send events of this source. On POST a missing source is an invalid value in the body,
/// not a 404 (E-01).
async fn authorize_sending(context: &Context, event: &Event, origin: &Origin) -> Result<Source> {
    let client = context.database.loader().await?;
    let source = find_source(&client, &context.tenant, event.source).await?;
    let source = source.ok_or_else(|| Error::unknown_source(event.source))?;
    match source.permits(origin.by(), |_, name| event.fragments.get(name).is_some()) {
        true => Ok(source),
        false => Err(Error::Forbidden),
    }
}

fn shown(event: Event, source: ShownSource) -> Event {
    Event { source_name: source.name, source_type: source.type_, ..event }
}

/// Deletes the matching events with their files, and publishes DELETE for each of the first thousand (B-06). The
/// deletion consists of many short transactions; a caller that stops halfway may repeat the request.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`; some of the events may be deleted then.
pub(crate) async fn delete_events(context: &Context, filter: &EventFilter, origin: &Origin) -> Result<()> {
    let mut notifications_left = NOTIFIED_DELETIONS;
    let mut deletion = collection::deletion(&context.database, &context.tenant, filter);
    while let Some(gone) = deletion.next().await? {
        for (id, source) in gone.into_iter().take(notifications_left) {
            notifications_left -= 1;
            let event = PublishedChange::EventDeleted(id);
            context.publish(source, event, Cause::of(origin));
        }
    }
    Ok(())
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
            let Some(changed) = patch.applied(&current) else { return Ok(current) };
            let changed = Arc::new(changed);
            if !origin.mode.stores() {
                self.publish_event_update(&changed, &origin);
                return Ok(changed);
            }
            let change = Change::UpdateEvent(self.context.tenant.clone(), changed.clone());

            let written = self.context.writer.write(change, origin.fence()).await?;

            if matches!(written, Written::Stored) {
                self.publish_event_update(&changed, &origin);
                return Ok(changed);
            }
            let (database, tenant) = (&self.context.database, &self.context.tenant);
            current = Arc::new(platform_store::events::get_event(database, tenant, id).await?);
        }
        Err(contended(id))
    }

    async fn delete_event(&mut self, DeleteEvent { event, origin }: DeleteEvent) -> Result<()> {
        let id = event.id.ok_or_else(|| Error::not_found(Noun::Event, "null"))?;
        self.authorize_event(&event, &origin).await?;
        if !origin.mode.stores() {
            self.context.feed(self.id, &PublishedChange::EventDeleted(id), Cause::of(&origin));
            return Ok(());
        }
        let (database, tenant) = (&self.context.database, &self.context.tenant);

        let gone = platform_store::events::delete_events(database, tenant, &[id.0], origin.fence()).await?;

        if gone.is_empty() {
            return Err(Error::not_found(Noun::Event, id));
        }
        self.publish(PublishedChange::EventDeleted(id), &origin);
        Ok(())
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
