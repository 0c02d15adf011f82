//! The file of a managed object. The object and the bytes of its file change in one transaction.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::devices::managed_object::ManagedObject;
use platform_model::error::Result;
use platform_model::id::BinaryId;

use super::{DeviceActor, UpdateManagedObject};

/// Changes the object and makes an upload its file (I-12).
///
/// Sent by the HTTP layer for `PUT /inventory/binaries/<id>`. The reply is the current object. Publishes UPDATE.
///
/// # Errors
/// `NotFound`, `Forbidden`, `Unavailable` or `Database`; the file is unchanged then.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<ManagedObject>>")]
pub struct ReplaceBinary {
    /// The change of the object by the new file, and the caller.
    pub update: UpdateManagedObject,
    /// The finished upload.
    pub binary: BinaryId,
}

impl Handler<ReplaceBinary> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<ManagedObject>>>;

    fn handle(&mut self, message: ReplaceBinary, _: &mut Self::Context) -> Self::Result {
        let ReplaceBinary { update, binary } = message;
        self.exclusively(async move |device| device.update_managed_object(update, Some(binary)).await)
    }
}
