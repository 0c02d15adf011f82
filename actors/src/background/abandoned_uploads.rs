//! Files of events whose upload in chunks was abandoned.
//!
//! They are kept for days, because a device may be offline for that long. Then the device's actor removes them like
//! any other change of the event, so that the event no longer describes the file and subscribers are notified.

use std::sync::Arc;

use platform_model::error::{Error, Result};
use platform_model::links::Links;
use platform_model::origin::Origin;
use platform_store::data::binaries::{GivenUp, list_given_up};

use crate::device::{RemoveEventBinary, Removed};
use crate::platform::Platform;

/// Removes the abandoned files of all tenants. Several servers may do so concurrently, because each file is removed
/// once. Notifications contain links that start with `links`.
///
/// # Errors
/// `Unavailable` or `Database`, and the errors of the device's actor.
pub async fn remove(platform: &Platform, links: &Links) -> Result<()> {
    let origin = Arc::new(Origin::of_server(links.clone()));
    loop {
        let found = list_given_up(platform.database(), platform.limits().incomplete_upload).await?;
        if found.is_empty() {
            return Ok(());
        }
        for GivenUp { tenant, event, source, binary, length } in found {
            let which = Removed::GivenUp(binary, length);
            let message = RemoveEventBinary { event, which, origin: origin.clone() };
            match platform.tenant(&tenant).ask_device(source, message).await {
                // The file was removed, its upload continues, or another server removed it.
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
