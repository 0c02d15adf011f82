//! Measures the storage that tenants use, at one server at a time, and sets the metric of the days until the disk is
//! full (Z-07).

use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_model::error::Result;
use platform_store::usage::find_growth;
use platform_store::usage::measurement::Measurement;
use tokio::time::sleep;

use crate::metrics::STORAGE_DAYS_LEFT;
use crate::platform::Platform;

/// The longest pause before a server checks again whether a measurement is due.
const LONGEST_LOOK: Duration = Duration::from_secs(30);
/// The pause after a measurement is at least this many times its duration.
const REST: u32 = 20;

/// Measures the usage of tenants when it is due, until the future is dropped.
pub async fn measure_regularly(platform: Arc<Platform>) {
    let pause = platform.limits().usage_pause;
    loop {
        if let Err(error) = measure_if_due(&platform, pause).await {
            tracing::warn!(%error, "the usage of tenants could not be measured; it is measured again later");
        }
        if let Err(error) = note_days_left(&platform).await {
            tracing::debug!(%error, "the growth of the database is unknown now");
        }
        sleep(pause.min(LONGEST_LOOK)).await;
    }
}

async fn measure_if_due(platform: &Platform, pause: Duration) -> Result<()> {
    let (database, begun) = (platform.database(), Instant::now());
    let Some(mut measurement) = Measurement::begin(database).await? else { return Ok(()) };
    if measurement.measure(database).await? {
        measurement.finish(database, pause.max(begun.elapsed() * REST)).await?;
        database.sweep_statistics().await?;
    }
    Ok(())
}

/// Updates the metric at every server that knows the number of free bytes.
async fn note_days_left(platform: &Platform) -> Result<()> {
    let growth = find_growth(platform.database()).await?;
    let free = platform.database().free_bytes(growth);
    if let Some(days) = growth.zip(free).and_then(|(growth, free)| growth.days_left(free)) {
        STORAGE_DAYS_LEFT.set(days);
    }
    Ok(())
}
