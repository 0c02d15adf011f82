//! Measures the storage that tenants use, at one server at a time, and sets the metric of the days until the disk is
//! full (Z-07).

use std::time::{Duration, Instant};

use platform_model::error::Result;
use platform_store::tenancy::usage::find_growth;
use platform_store::tenancy::usage::measurement::Measurement;

use crate::metrics::STORAGE_DAYS_LEFT;
use crate::platform::Platform;

/// The pause after a measurement is at least this many times its duration.
const REST: u32 = 20;

/// Measures if a measurement is due, and updates the metric.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn measure(platform: &Platform) -> Result<()> {
    let measured = measure_if_due(platform, platform.limits().usage_pause).await;
    note_days_left(platform).await?;
    measured
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
