//! Where a device that was registered for a group comes to be (N-04).

use super::Context;
use super::managed_object::NewObject;
use crate::error::Result;
use crate::model::availability::is_device;
use crate::model::id::ManagedObjectId;
use crate::model::origin::is_device_user;
use crate::store::device_placements;

/// The group that a new object belongs in: when it is the first device of a user that was registered for one. Nobody but
/// devices is asked for.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn wanted_group(context: &Context, new: &NewObject) -> Result<Option<ManagedObjectId>> {
    let NewObject { object, origin } = new;
    match is_device_user(&origin.user) && origin.mode.stores() && is_device(&object.fragments) {
        true => device_placements::find_placement(&context.database, &context.tenant, &origin.user).await,
        false => Ok(None),
    }
}

/// Forgets the group: the device is in it. When that fails the device is there all the same, and answered.
pub(crate) async fn forget_placement(context: &Context, user: &str) {
    let forgotten = device_placements::delete_placement(&context.database, &context.tenant, user).await;
    if let Err(error) = forgotten {
        tracing::warn!(%error, tenant.id = %context.tenant, "the group of a registered device could not be forgotten");
    }
}
