//! The devices of a run: created before it, and removed after it together with their alarms.

pub(crate) mod fleet_registration;
pub(crate) mod leftovers;
pub(crate) mod random;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use parking_lot::Mutex;

use crate::error::Error;
use crate::progress::Progress;
use crate::target::Target;

const PATH: &str = "/inventory/managedObjects";
const BODY: &str = r#"{"name":"Load test device","type":"loadtest_Device","plat_IsDevice":{}}"#;
/// The number of connections that create and remove devices.
const CONNECTIONS: usize = 32;
/// The longest time of a removal; devices that are left then stay.
const LIMIT: Duration = Duration::from_secs(300);

/// The devices that this process has created and not removed. An interruption drops the scenario that knows them.
static NOT_REMOVED: Mutex<NotRemoved> = Mutex::new(NotRemoved(Vec::new()));

/// Devices and their servers.
#[derive(Debug)]
struct NotRemoved(Vec<(Arc<Target>, String)>);

impl NotRemoved {
    fn forget(&mut self, ids: &[String]) {
        let ids: HashSet<&String> = ids.iter().collect();
        self.0.retain(|(_, id)| !ids.contains(id));
    }

    /// Takes all devices of one server.
    fn take(&mut self) -> Option<(Arc<Target>, Vec<String>)> {
        let target = Arc::clone(&self.0.first()?.0);
        let is_same = |(of, _): &mut (Arc<Target>, String)| of.authority() == target.authority();
        let ids = self.0.extract_if(.., is_same).map(|(_, id)| id).collect();
        Some((target, ids))
    }
}

/// Records devices that were created elsewhere, so that an interrupted run removes them.
pub(crate) fn note_created(target: &Target, ids: &[String]) {
    let target = Arc::new(target.same());
    NOT_REMOVED.lock().0.extend(ids.iter().map(|id| (Arc::clone(&target), id.clone())));
}

/// Removes the devices of a run that was interrupted, unless `--keep` is set; returns how many were removed
/// and how many
/// could not be removed.
pub(crate) async fn remove_interrupted(keep: bool) -> (usize, usize) {
    let mut left = 0;
    let mut removed = 0;
    while !keep && let Some((target, ids)) = { NOT_REMOVED.lock().take() } {
        eprintln!("Interrupted: {} devices of {} are being removed.", ids.len(), target.authority());
        let failed = remove(&target, &ids).await;
        left += failed;
        removed += ids.len() - failed;
    }
    (removed, left)
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
    let request = target.post(PATH, body);
    let progress = Progress::count("creating devices", count);
    let cursor = AtomicUsize::new(0);
    let create_some = async || {
        let mut connection = target.connect().await?;
        let mut ids = Vec::new();
        while cursor.fetch_add(1, Ordering::Relaxed) < count {
            let id = connection.created("creating a device", &request).await?;
            NOT_REMOVED.lock().0.push((Arc::clone(target), id.clone()));
            ids.push(id);
            progress.advance();
        }
        Ok::<_, Error>(ids)
    };
    let ids = try_join_all((0..CONNECTIONS.min(count)).map(|_| create_some())).await?;
    Ok(ids.concat())
}

/// Removes the devices; returns how many could not be removed in five minutes.
pub(crate) async fn remove(target: &Arc<Target>, ids: &[String]) -> usize {
    if target.floor().is_some() {
        return 0;
    }
    let requests = ids.iter().map(|id| target.delete(&format!("{PATH}/{id}"))).collect();
    let left = send_all(target, "removing devices", requests, 204).await;
    NOT_REMOVED.lock().forget(ids);
    left
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
    let progress = Progress::count(phase, count);
    let (cursor, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let send_some = async || {
        let mut connection = target.connect().await?;
        while let Some(request) = requests.get(cursor.fetch_add(1, Ordering::Relaxed)) {
            if connection.call(phase, request).await?.status == expected {
                answered.fetch_add(1, Ordering::Relaxed);
            }
            progress.advance();
        }
        Ok::<(), Error>(())
    };
    let all_answered = join_all((0..CONNECTIONS.min(count)).map(|_| send_some()));
    tokio::time::timeout(LIMIT, all_answered).await.ok();
    count - answered.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Reach;

    #[test]
    fn devices_to_remove_are_taken_for_each_server() {
        let target = |port| {
            Arc::new(Target::resolve(&format!("http://127.0.0.1:{port}"), Reach::Loopback, "a", "b").unwrap())
        };
        let (first, second) = (target(1), target(2));
        let device = |target: &Arc<Target>, id: &str| (Arc::clone(target), id.to_owned());
        let mut devices = NotRemoved(vec![
            device(&first, "1"),
            device(&second, "2"),
            device(&first, "3"),
            device(&first, "4"),
        ]);
        devices.forget(&["3".to_owned()]);
        let taken = devices.take().unwrap();
        assert_eq!((taken.0.port(), taken.1), (1, vec!["1".to_owned(), "4".to_owned()]));
        let taken = devices.take().unwrap();
        assert_eq!((taken.0.port(), taken.1), (2, vec!["2".to_owned()]));
        assert!(devices.take().is_none());
    }
}
