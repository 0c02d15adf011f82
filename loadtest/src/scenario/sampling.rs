//! Reads one after the other on one connection, and their durations.

use std::collections::BTreeMap;
use std::time::Instant;

use super::Bench;
use crate::error::Error;
use crate::ledger::latency::Latency;
use crate::ledger::latency::Times;
use crate::progress::Progress;
use crate::report::Reads;
use crate::target::connection::Connection;

/// The number of requests of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Samples {
    /// The unmeasured requests before.
    pub(super) warmup: u32,
    /// The measured requests.
    pub(super) measured: u32,
}

/// Sends many requests; `path` returns the path of each.
///
/// # Errors
/// The connection broke. A status is a figure, not an error.
pub(super) async fn read(
    bench: &Bench,
    connection: &mut Connection,
    kind: &'static str,
    samples: Samples,
    path: impl Fn(u32) -> String,
) -> Result<Reads, Error> {
    let progress = Progress::count(kind, samples.measured as usize);
    let mut latency = Times::default();
    let (mut by_status, mut bytes) = (BTreeMap::new(), 0);
    for request in 0..samples.warmup + samples.measured {
        let request_text = bench.target.get(&path(request));
        let sent = Instant::now();
        let response = connection.call(kind, &request_text).await?;
        let taken = sent.elapsed();
        if matches!(response.status, 404 | 405) && request == 0 {
            break;
        }
        bytes = response.body.len();
        if request >= samples.warmup {
            latency.record(taken.as_micros() as u64);
            *by_status.entry(response.status).or_default() += 1;
            progress.advance();
        }
    }
    Ok(Reads { kind, by_status, bytes, latency: Latency::of(&latency) })
}
