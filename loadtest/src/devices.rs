//! The devices of a run: made before it, removed after it together with their alarms.

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
/// Connections that create and remove devices.
const CONNECTIONS: usize = 32;
/// How long the removal may take; what is left then stays.
const REMOVAL_LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Deserialize)]
struct Created {
    id: String,
}

/// Creates `count` devices; the ids in the order of the device indexes.
///
/// # Errors
/// The first device that was not answered 201.
pub(crate) async fn create(target: &Arc<Target>, count: usize) -> Result<Vec<String>, Error> {
    create_as(target, count, BODY).await
}

/// Creates `count` devices with this body; the ids in the order of the device indexes.
///
/// # Errors
/// The first device that was not answered 201.
pub(crate) async fn create_as(target: &Arc<Target>, count: usize, body: &str) -> Result<Vec<String>, Error> {
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
pub(crate) async fn remove(target: &Arc<Target>, ids: Vec<String>) -> usize {
    let count = ids.len();
    let progress = Arc::new(Progress::count("removing devices", count));
    let ids = Arc::new(ids);
    let cursor = Arc::new(AtomicUsize::new(0));
    let removed = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..CONNECTIONS.min(count) {
        let (target, ids, progress) = (Arc::clone(target), Arc::clone(&ids), Arc::clone(&progress));
        let (cursor, removed) = (Arc::clone(&cursor), Arc::clone(&removed));
        workers.spawn(async move {
            let mut connection = target.connect().await?;
            while let Some(id) = ids.get(cursor.fetch_add(1, Ordering::Relaxed)) {
                let request = target.delete(&format!("{PATH}/{id}"));
                let response = connection.call("removing a device", &request).await?;
                if response.status == 204 {
                    removed.fetch_add(1, Ordering::Relaxed);
                }
                progress.advance();
            }
            Ok::<(), Error>(())
        });
    }
    let all_removed = async { while workers.join_next().await.is_some() {} };
    tokio::time::timeout(REMOVAL_LIMIT, all_removed).await.ok();
    count - removed.load(Ordering::Relaxed)
}
