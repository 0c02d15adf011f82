//! The deletion of measurements (G-01). Each deletion is published once, with its commit.

use platform_model::access::Authority;
use platform_model::data::measurement::MeasurementFilter;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::MeasurementId;
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_store::access::{self, SourceObject};
use platform_store::data::measurements::collection::{self, begin_deletion, delete_next};
use platform_store::data::measurements::rows::get_measurement;
use platform_store::realtime::publications::DeletionNotices;

use super::{Cause, WriteContext};

/// Deletes one measurement and publishes DELETE as the mode requires (M-02 to M-04). QUIESCENT sends the deletion to
/// modules only, as do TRANSIENT and CEP, which delete nothing.
///
/// # Errors
/// `NotFound`; `Forbidden` when the caller may not write for its source; `Unavailable` or `Database`.
pub(crate) async fn delete_measurement(
    context: &WriteContext,
    id: MeasurementId,
    origin: &Origin,
) -> Result<()> {
    let (database, tenant) = (&context.database, &context.tenant);
    let measurement = get_measurement(database, tenant, id).await?;
    if matches!(origin.authority, Authority::Limited(_)) {
        let source = access::find_source(&*database.reader().await?, tenant, measurement.source).await?;
        let source = source.ok_or_else(|| Error::not_found(Noun::Measurement, id))?;
        if !source.permits(origin.accessor(), |_: &SourceObject, name: &str| measurement.has_fragment(name)) {
            return Err(Error::Forbidden);
        }
    }
    if !origin.mode.stores() {
        context.feed(measurement.source, PublishedChange::MeasurementDeleted(id), Cause::of(origin));
        return Ok(());
    }
    let notices = DeletionNotices::new(Cause::of(origin));
    if collection::delete_measurement(database, tenant, id, origin.fence(), &notices).await? {
        Ok(())
    } else {
        Err(Error::not_found(Noun::Measurement, id))
    }
}

/// Deletes the matching measurements that arrived before this call, in many short transactions. Publishes DELETE of
/// the first thousand (B-06). A caller that stops halfway may repeat the request.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`; some of the measurements may be deleted then.
pub(crate) async fn delete_measurements(
    context: &WriteContext,
    filter: MeasurementFilter,
    origin: &Origin,
) -> Result<()> {
    if !origin.mode.stores() {
        return Ok(());
    }
    let (database, tenant) = (&context.database, &context.tenant);
    let mut deletion = begin_deletion(database, tenant, filter, context.ids.next()?).await?;
    let notices = DeletionNotices::new(Cause::of(origin));
    while delete_next(database, tenant, &mut deletion, &notices).await? {}
    Ok(())
}
