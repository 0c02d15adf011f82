//! The measurements of devices. Their order matters only between the rows of one CSV request, and there only for
//! publishing. So no measurement waits for another one or for an actor: a device that sends a thousand per second
//! fills batches of the writer and not a mailbox.

use std::collections::HashMap;
use std::sync::Arc;

use platform_model::access::Authority;
use platform_model::data::measurement::{Measurement, NewMeasurement, Shape};
use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, MeasurementId};
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::input_stream::InputStream;
use platform_model::realtime::publication::Publication;
use platform_store::access::recent_sources::authorize_unstored;
use platform_store::access::{self, SourceObject};
use platform_store::data::measurements::{SentMeasurements, UnseenShape};
use platform_store::realtime::publications::Route;
use platform_store::writer::{Change, Committed, Describe, Written};

use super::{Cause, PublicationTurn, Storage, WriteContext};

/// The measurements of one request, of which all or none are stored (G-02).
#[derive(Debug, Clone)]
pub struct NewMeasurements {
    /// The measurements of the body; there is at least one.
    pub measurements: Vec<NewMeasurement>,
    /// The caller and the mode of the request.
    pub origin: Origin,
}

/// Stores measurements in one transaction and publishes CREATE of each as the mode requires (M-02 to M-04): QUIESCENT
/// and CEP send them to modules only, TRANSIENT and CEP store nothing. Returns the measurements as stored, in order.
/// With a turn they are published when the turn comes, otherwise before this returns.
///
/// # Errors
/// `Invalid` when a source does not exist, `Forbidden` when the caller may not write for one of them; `Unavailable`
/// or `Database`. Nothing was stored or published then.
pub(crate) async fn create_measurements(
    context: &WriteContext,
    new: NewMeasurements,
    mut turn: Option<PublicationTurn>,
) -> Result<Vec<Arc<Measurement>>> {
    let NewMeasurements { measurements, origin } = new;
    if !origin.mode.stores() {
        let measurements = unstored(context, measurements, &origin, turn.as_ref()).await?;
        publish(context, &measurements, &origin, turn, Storage::Unstored);
        context.published().await?;
        return Ok(measurements);
    }
    let (measurements, route) = store_all(context, measurements, &origin, &mut turn).await?;
    publish(context, &measurements, &origin, turn, Storage::Committed(route));
    Ok(measurements)
}

/// Publishes CREATE of each measurement now or when the turn comes.
fn publish(
    context: &WriteContext,
    measurements: &[Arc<Measurement>],
    origin: &Origin,
    turn: Option<PublicationTurn>,
    storage: Storage,
) {
    // A turn that has come lasts until the end of this function.
    if turn.as_ref().is_some_and(|turn| !turn.has_come())
        && let Some(turn) = turn
    {
        let (context, measurements, origin) = (context.clone(), measurements.to_vec(), origin.clone());
        return turn.publish_later(move || publish(&context, &measurements, &origin, None, storage));
    }
    let mut sources: Vec<_> = measurements.iter().map(|measurement| measurement.source).collect();
    sources.dedup();
    sources.into_iter().for_each(|source| context.record_heartbeat(source, origin));
    let changes = measurements
        .iter()
        .map(|measurement| (measurement.source, PublishedChange::MeasurementCreated(measurement.clone())));
    context.publish_all(changes, origin, storage);
}

/// Describes CREATE of each measurement for the other servers.
fn describe(sent: &Arc<SentMeasurements>, origin: &Origin) -> Describe {
    let (sent, cause) = (sent.clone(), Cause::of(origin));
    Arc::new(move |written| {
        let measurements = sent.measurements.iter().filter(|_| matches!(written, Written::Stored));
        let publication = |measurement: &Arc<Measurement>| Publication::Change {
            source: measurement.source,
            change: PublishedChange::MeasurementCreated(measurement.clone()),
            cause: cause.clone(),
        };
        measurements.map(publication).collect()
    })
}

async fn store_all(
    context: &WriteContext,
    new: Vec<NewMeasurement>,
    origin: &Origin,
    turn: &mut Option<PublicationTurn>,
) -> Result<(Vec<Arc<Measurement>>, Route)> {
    let mut sent = sent(context, new, origin)?;
    turn.iter().for_each(PublicationTurn::begin);
    let mut route = write(context, &sent, origin, turn).await?;
    if route.is_none() {
        authorize(context, &sent.measurements, origin).await?;
        // The caller does not own every source, but the look-up above showed that they have permission.
        Arc::make_mut(&mut sent).owner = None;
        route = write(context, &sent, origin, turn).await?;
    }
    let Some(route) = route else {
        // A source was created or deleted between the look-up and the write.
        authorize(context, &sent.measurements, origin).await?;
        return Err(Error::unavailable("a source was created or deleted at this moment"));
    };
    let shapes = context.database.shapes();
    sent.unseen.iter().for_each(|shape| shapes.saw(shape.source, shape.shape));
    Ok((Arc::unwrap_or_clone(sent).measurements, route))
}

/// Prepares the write: assigns ids, and adds the shapes that are new to their source.
///
/// # Errors
/// `Unavailable` while this server holds no slot.
fn sent(context: &WriteContext, new: Vec<NewMeasurement>, origin: &Origin) -> Result<Arc<SentMeasurements>> {
    let known = context.database.shapes();
    let mut sent = SentMeasurements {
        measurements: Vec::with_capacity(new.len()),
        shapes: Vec::with_capacity(new.len()),
        unseen: Vec::new(),
        owner: matches!(origin.authority, Authority::Limited(_)).then(|| origin.user.clone()),
    };
    for new in new {
        let (id, source) = (context.ids.next()?, new.source);
        let (shape, definition) = new.shape.definition();
        let first_here = |unseen: &UnseenShape| unseen.source == source && unseen.shape == shape;
        if !known.are_seen(source, shape) && !sent.unseen.iter().any(first_here) {
            sent.unseen.push(UnseenShape { source, shape, definition, first: id });
        }
        sent.shapes.push(shape);
        let share = |definition| known.share(&context.tenant, shape, definition);
        sent.measurements.push(Arc::new(new.measured(Some(MeasurementId(id)), share)));
    }
    Ok(Arc::new(sent))
}

/// Writes the measurements. Returns `None` when a source does not exist or is not the caller's; none is stored then.
async fn write(
    context: &WriteContext,
    sent: &Arc<SentMeasurements>,
    origin: &Origin,
    turn: &mut Option<PublicationTurn>,
) -> Result<Option<Route>> {
    let change = Change::InsertMeasurements(context.tenant.clone(), sent.clone());
    let abandoned = || {
        let (context, sent, origin, turn) = (context.clone(), sent.clone(), origin.clone(), turn.take());
        move |Committed { written, route }| {
            if matches!(written, Written::Stored) {
                publish(&context, &sent.measurements, &origin, turn, Storage::Committed(route));
            }
        }
    };
    let describe = Some(describe(sent, origin));
    match context.writer.write_to_the_end(change, origin.into(), describe, abandoned).await {
        Ok(Committed { written: Written::Stored, route }) => Ok(Some(route)),
        Ok(_) => Ok(None),
        // A source was deleted between the look-up and the write.
        Err(error) if error.is_foreign_key_violation() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the measurements as they would be stored, without ids, for modes that store nothing (M-02).
async fn unstored(
    context: &WriteContext,
    new: Vec<NewMeasurement>,
    origin: &Origin,
    turn: Option<&PublicationTurn>,
) -> Result<Vec<Arc<Measurement>>> {
    turn.into_iter().for_each(PublicationTurn::begin);
    let shapes = context.database.shapes();
    // Sharing a shape is only worth its cost if modules may keep the measurements.
    let may_stay = context.feeds.want(InputStream::MeasurementCreated);
    let share = |shape: Shape| {
        if may_stay { shapes.share(&context.tenant, shape.definition().0, shape) } else { Arc::new(shape) }
    };
    let measurements: Vec<_> = new.into_iter().map(|new| Arc::new(new.measured(None, share))).collect();
    for measurement in &measurements {
        let has_fragment = |name: &str| measurement.has_fragment(name);
        let (database, source) = (&context.database, measurement.source);
        authorize_unstored(database, &context.tenant, source, origin.accessor(), has_fragment).await?;
    }
    Ok(measurements)
}

/// Checks that the caller may write for every source. On POST a missing device is an invalid value in the body, not a
/// 404 (E-01).
async fn authorize(context: &WriteContext, measurements: &[Arc<Measurement>], origin: &Origin) -> Result<()> {
    let mut known: HashMap<ManagedObjectId, Arc<SourceObject>> = HashMap::new();
    for measurement in measurements {
        let id = measurement.source;
        let source = match known.get(&id) {
            Some(source) => source.clone(),
            None => access::find_shared_source(&context.database, &context.tenant, id)
                .await?
                .ok_or_else(|| Error::unknown_source(id))?,
        };
        if !source.permits(origin.accessor(), |_, name| measurement.has_fragment(name)) {
            return Err(Error::Forbidden);
        }
        known.insert(id, source);
    }
    Ok(())
}
