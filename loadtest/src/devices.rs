//! The devices of a run: created before it, and removed after it together with their alarms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::progress::Progress;
use crate::target::Target;

const PATH: &str = "/inventory/managedObjects";
const BODY: &str = r#"{"name":"Load test device","type":"loadtest_Device","plat_IsDevice":{}}"#;
/// The number of connections that create and remove devices.
const CONNECTIONS: usize = 32;
/// The longest time of a removal; devices that are left then stay.
const LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Deserialize)]
struct Created {
    id: String,
}

/// Creates `count` devices; returns their ids in the order of the device indexes.
///
/// # Errors
/// The first response other than 201.
pub(crate) async fn create(target: &Arc<Target>, count: usize) -> Result<Vec<String>, Error> {
    create_as(target, count, BODY).await
}

/// Creates `count` devices with this body; returns their ids in the order of the device indexes.
///
/// # Errors
/// The first response other than 201.
pub(crate) async fn create_as(target: &Arc<Target>, count: usize, body: &str) -> Result<Vec<String>, Error> {
    if target.floor().is_some() {
        // It knows no devices, and any id names a channel.
        return Ok((1..=count).map(|id| id.to_string()).collect());
    }
    let request: Arc<[u8]> = target.post(PATH, body).into();
    let progress = Arc::new(Progress::count("creating devices", count));
    let cursor = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..CONNECTIONS.min(count) {
        workers.spawn(create_some(
            Arc::clone(target),
            Arc::clone(&request),
            Arc::clone(&cursor),
            count,
            Arc::clone(&progress),
        ));
    }
    let mut ids = Vec::with_capacity(count);
    while let Some(created) = workers.join_next().await {
        ids.extend(created.map_err(|error| Error::Refused(error.to_string()))??);
    }
    Ok(ids)
}

async fn create_some(
    target: Arc<Target>,
    request: Arc<[u8]>,
    cursor: Arc<AtomicUsize>,
    count: usize,
    progress: Arc<Progress>,
) -> Result<Vec<String>, Error> {
    let step = "creating a device";
    let mut connection = target.connect().await?;
    let mut ids = Vec::new();
    while cursor.fetch_add(1, Ordering::Relaxed) < count {
        let response = connection.call(step, &request).await?;
        let created = serde_json::from_slice::<Created>(response.body);
        match created {
            Ok(created) if response.status == 201 => ids.push(created.id),
            _ => return Err(Error::status(step, response.status, response.body)),
        }
        progress.advance();
    }
    Ok(ids)
}

/// Removes the devices; returns how many could not be removed in five minutes.
pub(crate) async fn remove(target: &Arc<Target>, ids: &[String]) -> usize {
    if target.floor().is_some() {
        return 0;
    }
    let requests = ids.iter().map(|id| target.delete(&format!("{PATH}/{id}"))).collect();
    send_all(target, "removing devices", requests, 204).await
}

/// Sends requests over many connections, in any order; returns how many did not get the expected status in
/// five minutes.
pub(crate) async fn send_all(
    target: &Arc<Target>,
    phase: &'static str,
    requests: Vec<Vec<u8>>,
    expected: u16,
) -> usize {
    let count = requests.len();
    let progress = Arc::new(Progress::count(phase, count));
    let requests = Arc::new(requests);
    let cursor = Arc::new(AtomicUsize::new(0));
    let answered = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..CONNECTIONS.min(count) {
        let (target, requests, progress) = (Arc::clone(target), Arc::clone(&requests), Arc::clone(&progress));
        let (cursor, answered) = (Arc::clone(&cursor), Arc::clone(&answered));
        workers.spawn(async move {
            let mut connection = target.connect().await?;
            while let Some(request) = requests.get(cursor.fetch_add(1, Ordering::Relaxed)) {
                if connection.call(phase, request).await?.status == expected {
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                progress.advance();
            }
            Ok::<(), Error>(())
        });
    }
    let all_answered = async { while workers.join_next().await.is_some() {} };
    tokio::time::timeout(LIMIT, all_answered).await.ok();
    count - answered.load(Ordering::Relaxed)
}
