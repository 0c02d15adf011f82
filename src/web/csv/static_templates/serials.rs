//! The serials of devices (H-02, H-13).

use std::collections::HashMap;

use platform_model::error::Error;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::naming::naming;
use platform_store::devices::inventory::external_ids::list_names_of_type;

use crate::csv::Csv;

/// Returns the type of the external ids that hold serials.
pub(crate) fn serial_type() -> String {
    naming().fragment("Serial")
}

/// Returns the serials of those devices that have one, by a single query.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn serials_of(
    csv: &Csv,
    tenant: &TenantId,
    devices: &[ManagedObjectId],
) -> Result<HashMap<ManagedObjectId, String>, Error> {
    list_names_of_type(csv.platform.database(), tenant, devices, &serial_type()).await
}
