//! New events, and the deletion of many. The order of new events matters only between the rows of one CSV request.

use std::sync::Arc;

use platform_model::access::Authority;
use platform_model::data::event::{Event, EventFilter, NewEvent};
use platform_model::error::{Error, Result};
use platform_model::id::EventId;
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;
use platform_store::access::{SourceObject, find_source};
use platform_store::data::events::collection;
use platform_store::data::events::{SentEvent, ShownSource};
use platform_store::realtime::publications::{DeletionNotices, Route};
use platform_store::writer::{Change, Committed, Describe, Written};

use super::{Cause, PublicationTurn, Storage, WriteContext};

/// Creates an event and publishes CREATE (M-01 to M-04).
///
/// In modes TRANSIENT and CEP nothing is stored and the event has no id; QUIESCENT and CEP send it to modules only.
/// With a turn the event is published when the turn comes, otherwise before this returns.
///
/// # Errors
/// `Invalid` when the source does not exist, `Forbidden` when the caller may not write events of it; `Unavailable` or
/// `Database`, and nothing was published then.
pub(crate) async fn create_event(
    context: &WriteContext,
    new: NewEvent,
    origin: &Origin,
    mut turn: Option<PublicationTurn>,
) -> Result<Arc<Event>> {
    if !origin.mode.stores() {
        return publish_unstored(context, new, origin, turn).await;
    }
    let owner = matches!(origin.authority, Authority::Limited(_)).then(|| origin.user.clone());
    let mut sent = Arc::new(SentEvent { event: new.created(Some(EventId(context.ids.next()?))), owner });
    turn.iter().for_each(PublicationTurn::begin);

    let mut inserted = insert(context, &sent, origin, &mut turn).await?;
    if inserted.is_none() {
        authorize_sending(context, &sent.event, origin).await?;
        // The caller is not the owner, but the look-up above showed that they have permission.
        Arc::make_mut(&mut sent).owner = None;
        inserted = insert(context, &sent, origin, &mut turn).await?;
    }

    let event = Arc::unwrap_or_clone(sent).event;
    let Some((source, route)) = inserted else { return Err(Error::unknown_source(event.source)) };
    // The event is committed from here on.
    let event = Arc::new(source.of(event));
    publish(context, &event, origin, turn, Storage::Committed(route));
    Ok(event)
}

/// Publishes CREATE now or when the turn comes.
fn publish(
    context: &WriteContext,
    event: &Arc<Event>,
    origin: &Origin,
    turn: Option<PublicationTurn>,
    storage: Storage,
) {
    // A turn that has come lasts until the end of this function.
    if turn.as_ref().is_some_and(|turn| !turn.has_come())
        && let Some(turn) = turn
    {
        let (context, event, origin) = (context.clone(), event.clone(), origin.clone());
        return turn.publish_later(move || publish(&context, &event, &origin, None, storage));
    }
    context.record_heartbeat(event.source, origin);
    let change = (event.source, PublishedChange::EventCreated(event.clone()));
    context.publish_all(std::iter::once(change), origin, storage);
}

/// Inserts an event. Returns `None` when the source does not exist or is not the caller's.
async fn insert(
    context: &WriteContext,
    sent: &Arc<SentEvent>,
    origin: &Origin,
    turn: &mut Option<PublicationTurn>,
) -> Result<Option<(ShownSource, Route)>> {
    let change = Change::InsertEvent(context.tenant.clone(), sent.clone());
    let abandoned = || {
        let (context, sent, origin, turn) = (context.clone(), sent.clone(), origin.clone(), turn.take());
        move |Committed { written, route }| {
            if let Written::EventOf(source) = written {
                let event = source.of(Arc::unwrap_or_clone(sent).event);
                publish(&context, &Arc::new(event), &origin, turn, Storage::Committed(route));
            }
        }
    };
    let (of_request, cause) = (sent.clone(), Cause::of(origin));
    let describe: Describe = Arc::new(move |written| match written {
        Written::EventOf(source) => {
            let event = Arc::new(ShownSource::clone(source).of(of_request.event.clone()));
            let (source, change) = (event.source, PublishedChange::EventCreated(event));
            vec![Publication::Change { source, change, cause: cause.clone() }]
        }
        _ => Vec::new(),
    });
    match context.writer.write_to_the_end(change, origin.into(), Some(describe), abandoned).await {
        Ok(Committed { written: Written::EventOf(source), route }) => Ok(Some((*source, route))),
        Ok(_) => Ok(None),
        // The source was deleted between the look-up and the write.
        Err(error) if error.is_foreign_key_violation() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Handles modes TRANSIENT and CEP: returns the event as it would be, without storing it (M-02).
async fn publish_unstored(
    context: &WriteContext,
    new: NewEvent,
    origin: &Origin,
    turn: Option<PublicationTurn>,
) -> Result<Arc<Event>> {
    turn.iter().for_each(PublicationTurn::begin);
    let event = new.created(None);
    let source = authorize_sending(context, &event, origin).await?;
    let event = Arc::new(ShownSource { name: source.name, type_: source.type_ }.of(event));
    publish(context, &event, origin, turn, Storage::Unstored);
    context.published().await?;
    Ok(event)
}

/// Checks that the caller may send events of this source. On POST a missing source is an invalid value in the body,
/// not a 404 (E-01).
async fn authorize_sending(context: &WriteContext, event: &Event, origin: &Origin) -> Result<SourceObject> {
    let client = context.database.loader().await?;
    let source = find_source(&*client, &context.tenant, event.source).await?;
    let source = source.ok_or_else(|| Error::unknown_source(event.source))?;
    if source.permits(origin.accessor(), |_, name| event.fragments.get(name).is_some()) {
        Ok(source)
    } else {
        Err(Error::Forbidden)
    }
}

/// Deletes the matching events with their files, and publishes DELETE for each of the first thousand (B-06). The
/// deletion consists of many short transactions; a caller that stops halfway may repeat the request.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`; some of the events may be deleted then.
pub(crate) async fn delete_events(
    context: &WriteContext,
    filter: &EventFilter,
    origin: &Origin,
) -> Result<()> {
    let notices = DeletionNotices::new(Cause::of(origin));
    collection::deletion(&context.database, &context.tenant, filter, &notices).run().await
}
