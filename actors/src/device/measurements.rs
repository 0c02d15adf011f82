//! Measurements of a device: no order has to be kept among them but that of the rows of one CSV request, which is a matter of
//! publishing. So none waits for another, nor for an actor: a device that sends a thousand a second fills batches of the writer,
//! nobody's queue.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Context, Turn};
use crate::error::{Error, Result};
use crate::event_processing::stream::InputStream;
use crate::hub::Event;
use crate::model::access::Authority;
use crate::model::id::{ManagedObjectId, MeasurementId};
use crate::model::measurement::{Measurement, NewMeasurement, Shape};
use crate::model::origin::Origin;
use crate::store::access::{self, Source};
use crate::store::measurements::{SentMeasurements, UnseenShape};
use crate::writer::{Change, Written};

/// Measurements to store, all of them or none (G-02).
#[derive(Debug, Clone)]
pub struct NewMeasurements {
    /// Body of the request; at least one.
    pub measurements: Vec<NewMeasurement>,
    /// Who asks.
    pub origin: Origin,
}

/// Stores measurements in one transaction and publishes CREATE of each, as the mode says (M-02 to M-04): QUIESCENT and CEP tell
/// modules only, TRANSIENT and CEP store nothing. Gives them as they are stored, in order. With a turn they are published when
/// that comes; without one before this ends.
///
/// # Errors
/// `Invalid` when a source does not exist, `Forbidden` for a caller who may not write for one of them; `Unavailable` or
/// `Database`. Then nothing was stored or published.
pub(crate) async fn measure(
    context: &Context,
    new: NewMeasurements,
    mut turn: Option<Turn>,
) -> Result<Vec<Arc<Measurement>>> {
    let NewMeasurements { measurements, origin } = new;
    let measurements = match origin.mode.stores() {
        true => store_all(context, measurements, &origin, &mut turn).await?,
        false => unstored(context, measurements, &origin, turn.as_ref()).await?,
    };
    publish(context, &measurements, &origin, turn);
    Ok(measurements)
}

/// Publishes CREATE of each, now or when the turn comes.
fn publish(context: &Context, measurements: &[Arc<Measurement>], origin: &Origin, turn: Option<Turn>) {
    // A turn that has come lasts until the end of this function.
    if turn.as_ref().is_some_and(|turn| !turn.has_come())
        && let Some(turn) = turn
    {
        let (context, measurements, origin) = (context.clone(), measurements.to_vec(), origin.clone());
        return turn.leave(move || publish(&context, &measurements, &origin, None));
    }
    let mut sources: Vec<_> = measurements.iter().map(|measurement| measurement.source).collect();
    sources.dedup();
    sources.into_iter().for_each(|source| context.heard(source, origin));
    for measurement in measurements {
        let event = Event::MeasurementCreated(measurement.clone());
        context.publish(measurement.source, event, origin.cause());
    }
}

async fn store_all(
    context: &Context,
    new: Vec<NewMeasurement>,
    origin: &Origin,
    turn: &mut Option<Turn>,
) -> Result<Vec<Arc<Measurement>>> {
    let mut sent = sent(context, new, origin);
    turn.iter().for_each(Turn::begin);
    let mut stored = write(context, &sent, origin, turn).await?;
    if !stored {
        authorize(context, &sent.measurements, origin, Look::Now).await?;
        // Not the owner of all, but permitted all the same: that has just been looked up.
        Arc::make_mut(&mut sent).owner = None;
        stored = write(context, &sent, origin, turn).await?;
    }
    if !stored {
        // One of the sources went between the look and the write.
        authorize(context, &sent.measurements, origin, Look::Now).await?;
        return Err(Error::unavailable("a source came or went this moment"));
    }
    let shapes = context.database.shapes();
    sent.unseen.iter().for_each(|shape| shapes.saw(shape.source, shape.shape));
    Ok(Arc::unwrap_or_clone(sent).measurements)
}

/// What is written: ids are given here, and shapes that are new to their source go along.
fn sent(context: &Context, new: Vec<NewMeasurement>, origin: &Origin) -> Arc<SentMeasurements> {
    let known = context.database.shapes();
    let mut sent = SentMeasurements {
        measurements: Vec::with_capacity(new.len()),
        shapes: Vec::with_capacity(new.len()),
        unseen: Vec::new(),
        owner: matches!(origin.authority, Authority::Limited(_)).then(|| origin.user.clone()),
    };
    for new in new {
        let (id, source) = (context.ids.next(), new.source);
        let (shape, definition) = new.shape.definition();
        let first_here = |unseen: &UnseenShape| unseen.source == source && unseen.shape == shape;
        if !known.are_seen(source, shape) && !sent.unseen.iter().any(first_here) {
            sent.unseen.push(UnseenShape { source, shape, definition, first: id });
        }
        sent.shapes.push(shape);
        let share = |definition| known.share(&context.tenant, shape, definition);
        sent.measurements.push(Arc::new(new.measured(Some(MeasurementId(id)), share)));
    }
    Arc::new(sent)
}

/// Whether all of them are stored; else one has no source, or one that is not the caller's, and none is.
async fn write(
    context: &Context,
    sent: &Arc<SentMeasurements>,
    origin: &Origin,
    turn: &mut Option<Turn>,
) -> Result<bool> {
    let change = Change::InsertMeasurements(context.tenant.clone(), sent.clone());
    let abandoned = || {
        let (context, sent, origin, turn) = (context.clone(), sent.clone(), origin.clone(), turn.take());
        move |written| {
            if matches!(written, Written::Stored) {
                publish(&context, &sent.measurements, &origin, turn);
            }
        }
    };
    match context.writer.write_to_the_end(change, origin.fence(), abandoned).await {
        Ok(written) => Ok(matches!(written, Written::Stored)),
        // A source was deleted between the look and the write.
        Err(error) if error.is_foreign_key_violation() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Modes that store nothing (M-02): what would be stored, without ids.
async fn unstored(
    context: &Context,
    new: Vec<NewMeasurement>,
    origin: &Origin,
    turn: Option<&Turn>,
) -> Result<Vec<Arc<Measurement>>> {
    turn.into_iter().for_each(Turn::begin);
    let shapes = context.database.shapes();
    // Worth its number only where modules may retain them.
    let may_stay = context.feeds.want(InputStream::MeasurementCreated);
    let share = |shape: Shape| match may_stay {
        true => shapes.share(&context.tenant, shape.definition().0, shape),
        false => Arc::new(shape),
    };
    let measurements: Vec<_> = new.into_iter().map(|new| Arc::new(new.measured(None, share))).collect();
    authorize(context, &measurements, origin, Look::Lately).await?;
    Ok(measurements)
}

/// How fresh what is known of a source must be.
#[derive(Clone, Copy)]
enum Look {
    /// As it stands.
    Now,
    /// As it stood within the last seconds: where nothing is stored, nothing can go wrong by it.
    Lately,
}

/// On POST a missing device is a wrong value of the body, not a missing page (E-01).
async fn authorize(
    context: &Context,
    measurements: &[Arc<Measurement>],
    origin: &Origin,
    look: Look,
) -> Result<()> {
    let mut known: HashMap<ManagedObjectId, Arc<Source>> = HashMap::new();
    for measurement in measurements {
        let source = match known.get(&measurement.source) {
            Some(source) => source.clone(),
            None => source(context, measurement.source, look).await?,
        };
        if !source.permits(origin.by(), |_, name| measurement.has_fragment(name)) {
            return Err(Error::Forbidden);
        }
        known.insert(measurement.source, source);
    }
    Ok(())
}

async fn source(context: &Context, id: ManagedObjectId, look: Look) -> Result<Arc<Source>> {
    let (database, tenant) = (&context.database, &context.tenant);
    let found = match look {
        Look::Now => access::find_source(&database.loader().await?, tenant, id).await?.map(Arc::new),
        Look::Lately => access::find_recent_source(database, tenant, id).await?,
    };
    found.ok_or_else(|| Error::unknown_source(id))
}
