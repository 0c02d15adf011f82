//! The quiet tenant sends requests on a fixed schedule. A duration starts at the due time of its request, so a server
//! that stalls does not hide the requests that waited. A thread of its own with a high priority sends them, so that the
//! durations do not include the CPU time that this program spends on the noisy tenant.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::tenants::create;
use crate::cli::Fairness;
use crate::error::Error;
use crate::ledger::latency::Times;
use crate::target::Target;

/// The objects that are read and written.
const DEVICES: usize = 20;

/// The niceness of the sending thread; only a privileged user can set it.
const NICENESS: i32 = -10;

/// The requests of the quiet tenant.
#[derive(Clone)]
pub(super) struct Quiet {
    target: Arc<Target>,
    requests: Arc<Vec<Vec<u8>>>,
    rate: u32,
    connections: u32,
}

/// Durations in microseconds, and the number of requests that failed.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) latency: Times,
    pub(super) failed: u64,
}

impl Measured {
    /// Returns a percentile in milliseconds.
    pub(super) fn at(&self, quantile: f64) -> f64 {
        self.latency.ms(quantile)
    }
}

impl Quiet {
    /// Creates the devices of the tenant.
    pub(super) async fn prepare(target: &Arc<Target>, settings: &Fairness) -> Result<Self, Error> {
        let mut requests = Vec::new();
        for number in 0..DEVICES {
            let device = json!({"name": format!("quiet {number}"), "plat_IsDevice": {}});
            let id = create(target, "/inventory/managedObjects", &device).await?;
            let measurement = json!({
                "source": {"id": id}, "type": "quiet", "time": "2026-01-01T00:00:00.000Z",
                "quiet": {"T": {"value": number, "unit": "C"}},
            });
            requests.push(target.get(&format!("/inventory/managedObjects/{id}")));
            requests.push(target.post("/measurement/measurements", &measurement.to_string()));
        }
        let (rate, connections) = (settings.rate, settings.connections.max(1));
        Ok(Self { target: Arc::clone(target), requests: Arc::new(requests), rate, connections })
    }

    /// Sends requests for some seconds.
    pub(super) async fn measure(&self, seconds: u64) -> Result<Measured, Error> {
        let (quiet, (send, measured)) = (self.clone(), oneshot::channel());
        std::thread::Builder::new().name("quiet".to_owned()).spawn(move || {
            // Without the privilege the thread competes with the others.
            rustix::process::setpriority_process(None, NICENESS).ok();
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let measured =
                runtime.map_err(Error::from).and_then(|runtime| runtime.block_on(quiet.send(seconds)));
            drop(send.send(measured));
        })?;
        measured.await.map_err(std::io::Error::other)?
    }

    async fn send(self, seconds: u64) -> Result<Measured, Error> {
        let begin = Instant::now() + Duration::from_millis(100);
        let count = u64::from(self.rate) * seconds;
        let mut connections = JoinSet::new();
        for first in 0..u64::from(self.connections) {
            let connection = self.target.connect().await?;
            let (target, requests) = (Arc::clone(&self.target), Arc::clone(&self.requests));
            let (step, rate) = (u64::from(self.connections), f64::from(self.rate));
            connections.spawn(async move {
                let mut connection = Some(connection);
                let mut measured = Measured::default();
                for number in (first..count).step_by(step as usize) {
                    let due = begin + Duration::from_secs_f64(number as f64 / rate);
                    sleep_until(due).await;
                    let request = &requests[number as usize % requests.len()];
                    let status = match &mut connection {
                        Some(open) => {
                            open.call("a quiet request", request).await.map(|answer| answer.status).ok()
                        }
                        None => None,
                    };
                    measured.latency.record(due.elapsed().as_micros() as u64);
                    if !matches!(status, Some(200 | 201)) {
                        measured.failed += 1;
                        connection = target.connect().await.ok();
                    }
                }
                measured
            });
        }
        let mut all = Measured::default();
        while let Some(measured) = connections.join_next().await {
            let measured = measured.map_err(std::io::Error::other)?;
            all.failed += measured.failed;
            all.latency.add(&measured.latency);
        }
        Ok(all)
    }
}
