//! The noisy tenant: prepares, starts and ends each kind of load.

mod polls;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use super::tenants::create;
use crate::cli::{Fairness, NoiseKind};
use crate::error::Error;
use crate::target::Target;

/// The number of measurements that a query of series reads, and of those in one request.
const MEASUREMENTS: usize = 100_000;
const COLLECTION: usize = 1000;
/// The number of devices of the load over many devices.
const DEVICES: usize = 500;
/// The size of the downloaded file in bytes.
const FILE: usize = 10 << 20;
/// The number of computing modules.
const MODULES: usize = 10;
/// The pause after a request that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// A prepared load.
pub(super) struct Prepared {
    target: Arc<Target>,
    /// The requests that each connection sends in turn.
    requests: Arc<Vec<Vec<u8>>>,
    /// The polls to hold, for the load of polls.
    polls: Option<polls::Polls>,
}

/// Creates the data that a kind of load needs.
pub(super) async fn prepare(
    kind: NoiseKind,
    target: &Arc<Target>,
    settings: &Fairness,
) -> Result<Prepared, Error> {
    let mut held = None;
    let requests = match kind {
        NoiseKind::Queries => queries(target).await?,
        NoiseKind::OneDevice => alarms(target).await?,
        NoiseKind::ManyDevices => measurements(target, DEVICES).await?,
        NoiseKind::Polls => {
            held = Some(polls::Polls::open(target, settings.polls).await?);
            Vec::new()
        }
        NoiseKind::Downloads => vec![target.get(&file(target).await?)],
        NoiseKind::Modules => {
            for number in 0..MODULES {
                let request = target.post_text("/cep/modules", &module(number));
                target.connect().await?.expect(201, "deploying a module", &request).await?;
            }
            measurements(target, 10).await?
        }
    };
    Ok(Prepared { target: Arc::clone(target), requests: Arc::new(requests), polls: held })
}

async fn device(target: &Target) -> Result<String, Error> {
    create(target, "/inventory/managedObjects", &json!({"name": "noisy", "plat_IsDevice": {}})).await
}

/// Returns queries of all series of a device with many measurements, by hour.
async fn queries(target: &Target) -> Result<Vec<Vec<u8>>, Error> {
    let id = device(target).await?;
    for first in (0..MEASUREMENTS).step_by(COLLECTION) {
        let mut body = String::from(r#"{"measurements":["#);
        for number in first..first + COLLECTION {
            let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
            let day = 1 + number / 86_400;
            let comma = if number == first { "" } else { "," };
            write!(
                body,
                r#"{comma}{{"source":{{"id":"{id}"}},"type":"noisy","time":"2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z","noisy":{{"T":{{"value":{number},"unit":"C"}}}}}}"#
            )
            .expect("a text grows");
        }
        body.push_str("]}");
        let request = target.post("/measurement/measurements", &body);
        target.connect().await?.expect(201, "storing measurements", &request).await?;
    }
    let path = format!(
        "/measurement/measurements/series?source={id}&dateFrom=2026-01-01T00:00:00.000Z\
         &dateTo=2026-01-03T00:00:00.000Z&aggregationType=MINUTELY"
    );
    Ok(vec![target.get(&path)])
}

/// Returns alarms of one device and one type, which count as repetitions.
async fn alarms(target: &Target) -> Result<Vec<Vec<u8>>, Error> {
    let alarm = json!({
        "source": {"id": device(target).await?}, "type": "noisy", "text": "noise", "severity": "MINOR",
        "status": "ACTIVE", "time": "2026-01-01T00:00:00.000Z",
    });
    Ok(vec![target.post("/alarm/alarms", &alarm.to_string())])
}

async fn measurements(target: &Target, devices: usize) -> Result<Vec<Vec<u8>>, Error> {
    let mut requests = Vec::new();
    for number in 0..devices {
        let measurement = json!({
            "source": {"id": device(target).await?}, "type": "noisy", "time": "2026-01-01T00:00:00.000Z",
            "noisy": {"T": {"value": number, "unit": "C"}},
        });
        requests.push(target.post("/measurement/measurements", &measurement.to_string()));
    }
    Ok(requests)
}

/// Stores a file and returns its path.
async fn file(target: &Target) -> Result<String, Error> {
    let content = "0123456789abcdef".repeat(FILE / 16);
    let request = target.post_file("/inventory/binaries", "file", &content);
    let id = target.connect().await?.created("storing a file", &request).await?;
    Ok(format!("/inventory/binaries/{id}"))
}

/// Returns a module that computes for a while for each measurement.
fn module(number: usize) -> String {
    let sum: Vec<String> = (1..=100).map(|n| format!("getNumber(m, 'noisy.T.value') * {n}.5")).collect();
    format!("module noisy{number};\nselect {} as value from MeasurementCreated m;\n", sum.join(" + "))
}

/// A running load.
pub(super) struct Noise {
    connections: JoinSet<()>,
    counted: Arc<Counted>,
    polls: Option<polls::Polls>,
}

/// The counts of a load.
#[derive(Default)]
struct Counted {
    done: AtomicU64,
    failed: AtomicU64,
    since: Mutex<Option<Instant>>,
}

impl Noise {
    /// Starts to send one request after the other over each connection.
    pub(super) fn begin(prepared: Prepared, settings: &Fairness) -> Self {
        let Prepared { target, requests, mut polls } = prepared;
        let (mut connections, counted) = (JoinSet::new(), Arc::<Counted>::default());
        if let Some(polls) = &mut polls {
            polls.begin();
        }
        let count = if requests.is_empty() { 0 } else { settings.noisy as usize };
        for first in 0..count {
            let (target, requests) = (Arc::clone(&target), Arc::clone(&requests));
            connections.spawn(send_forever(target, requests, first, Arc::clone(&counted)));
        }
        Self { connections, counted, polls }
    }

    /// Restarts the counts.
    pub(super) fn restart_count(&self) {
        self.counted.done.store(0, Ordering::Relaxed);
        self.counted.failed.store(0, Ordering::Relaxed);
        *self.counted.since.lock() = Some(Instant::now());
        if let Some(polls) = &self.polls {
            polls.restart_count();
        }
    }

    /// Ends the load and returns its counts in words.
    pub(super) async fn end(mut self) -> String {
        let since = *self.counted.since.lock();
        let seconds = since.map_or(1.0, |since| since.elapsed().as_secs_f64());
        let (done, failed) =
            (self.counted.done.load(Ordering::Relaxed), self.counted.failed.load(Ordering::Relaxed));
        self.connections.shutdown().await;
        match self.polls.take() {
            Some(polls) => polls.end(seconds).await,
            None => format!("{:.0} requests/s, {failed} failed", done as f64 / seconds),
        }
    }
}

async fn send_forever(target: Arc<Target>, requests: Arc<Vec<Vec<u8>>>, first: usize, counted: Arc<Counted>) {
    let mut connection = None;
    for number in first.. {
        if connection.is_none() {
            connection = target.connect().await.ok();
        }
        let status = match &mut connection {
            Some(open) => open
                .call("a noisy request", &requests[number % requests.len()])
                .await
                .map(|response| response.status)
                .ok(),
            None => None,
        };
        if let Some(200 | 201) = status {
            counted.done.fetch_add(1, Ordering::Relaxed);
        } else {
            counted.failed.fetch_add(1, Ordering::Relaxed);
            connection = connection.filter(|_| status.is_some());
            tokio::time::sleep(AFTER_FAILURE).await;
        }
    }
}
