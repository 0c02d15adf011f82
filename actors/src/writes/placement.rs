//! The group that a device was registered for (N-04).

use platform_model::devices::availability::is_device;
use platform_model::error::Result;
use platform_model::id::ManagedObjectId;
use platform_model::origin::is_device_user;
use platform_store::devices::placements;

use super::{NewObject, WriteContext};

/// Returns the group for a new object if it is the first device of a user that was registered for a group. Only
/// device users cause a look-up.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn placement_group(
    context: &WriteContext,
    new: &NewObject,
) -> Result<Option<ManagedObjectId>> {
    let NewObject { object, origin } = new;
    if is_device_user(&origin.user) && origin.mode.stores() && is_device(&object.fragments) {
        placements::find_placement(&context.database, &context.tenant, &origin.user).await
    } else {
        Ok(None)
    }
}

/// Deletes the placement after the device was linked to the group. A failure is only logged, because the device is in
/// the group already.
pub(crate) async fn forget_placement(context: &WriteContext, user: &str) {
    let forgotten = placements::delete_placement(&context.database, &context.tenant, user).await;
    if let Err(error) = forgotten {
        tracing::warn!(%error, tenant.id = %context.tenant, "the placement of a device could not be deleted");
    }
}
