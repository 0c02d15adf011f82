//! Statistics: usage and activity of tenants (Z-07).

mod counts;
mod live;
mod reading;
mod storage;

use std::time::Duration;

use platform_front::config::Settings;
use serde_json::Value;

use crate::harness::{Caller, eventually};

const DAYS: &str = "/tenant/statistics";
const SUMMARY: &str = "/tenant/statistics/summary";

/// Makes a server store its figures frequently.
fn eager(settings: &mut Settings) {
    settings.limits.statistics_pause = Duration::from_millis(20);
}

/// Waits until the statistics of the caller's tenant have these members.
async fn counted(caller: &Caller, expected: &[(&str, i64)]) -> Value {
    let mut last = Value::Null;
    let found = eventually("statistics", async || {
        last = caller.read(SUMMARY).await;
        expected.iter().all(|(name, count)| last[name] == *count).then(|| last.clone())
    });
    let limit = Duration::from_secs(20);
    match tokio::time::timeout(limit, found).await {
        Ok(summary) => summary,
        Err(_) => panic!("expected {expected:?}, not {last:#}"),
    }
}
