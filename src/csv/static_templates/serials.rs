//! What devices are called by themselves (H-02, H-13).

use std::collections::HashMap;

use platform_actors::Error;
use platform_actors::model::id::{ManagedObjectId, TenantId};
use platform_actors::naming::naming;
use platform_actors::store::external_ids::list_names_of_type;

use crate::server::Edge;

/// The type of the external ids that serials are.
pub(crate) fn serial_type() -> String {
    naming().fragment("Serial")
}

/// The serials of those of these devices that have one. One look-up.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn serials_of(
    edge: &Edge,
    tenant: &TenantId,
    devices: &[ManagedObjectId],
) -> Result<HashMap<ManagedObjectId, String>, Error> {
    list_names_of_type(edge.platform.database(), tenant, devices, &serial_type()).await
}
