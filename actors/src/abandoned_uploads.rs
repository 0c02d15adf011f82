//! Files of events that somebody began to send in chunks and gave up.
//!
//! They are kept for days, for a device may be offline for that long, then taken away through the device's actor like any
//! other change of the event, so that the event no longer tells of them and subscribers hear of it.

use std::sync::Arc;
use std::time::Duration;

use crate::device::{RemoveEventBinary, Removed};
use crate::error::{Error, Result};
use crate::model::links::Links;
use crate::model::origin::Origin;
use crate::platform::Platform;
use crate::store::binaries::{GivenUp, list_given_up};

/// How often they are looked for.
const INTERVAL: Duration = Duration::from_secs(3600);

/// Takes away what was given up, of all tenants, now and then every hour, until it is dropped. Servers that do so at the
/// same time do no harm: each file goes once. Notifications have `links`.
pub async fn remove_hourly(platform: Arc<Platform>, links: Links) {
    let origin = Arc::new(Origin::of_server(links));
    loop {
        if let Err(error) = remove(&platform, &origin).await {
            tracing::warn!(%error, "incomplete files of events could not be removed, the next try is in an hour");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn remove(platform: &Platform, origin: &Arc<Origin>) -> Result<()> {
    loop {
        let found = list_given_up(platform.database(), platform.limits().incomplete_upload).await?;
        if found.is_empty() {
            return Ok(());
        }
        for GivenUp { tenant, event, source, binary, length } in found {
            let which = Removed::GivenUp(binary, length);
            let message = RemoveEventBinary { event, which, origin: origin.clone() };
            match platform.tenant(&tenant).ask_device(source, message).await {
                // Gone, or going on, or removed by another server.
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
