//! Queues that wait without holding a thread or a connection. In each lane a bounded number runs at once, a
//! bounded number waits in order of arrival, and others are rejected.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The lanes by key; a lane exists while it is occupied.
pub(super) struct Lanes<K: Eq + Hash + Copy>(Arc<Mutex<HashMap<K, LaneState>>>);

struct LaneState {
    turns: Arc<Semaphore>,
    inside: usize,
}

/// The bounds of a lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    /// The number that may run at once.
    pub(super) at_once: usize,
    /// The number that may run or wait.
    pub(super) inside: usize,
}

/// A place in a lane, held until it is dropped.
pub(super) struct LaneTurn<K: Eq + Hash + Copy> {
    lanes: Arc<Mutex<HashMap<K, LaneState>>>,
    lane: K,
    permit: Option<OwnedSemaphorePermit>,
}

impl<K: Eq + Hash + Copy> Lanes<K> {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }

    /// Waits for a turn; returns `None` at once when the lane is full. Dropping the future leaves the lane.
    pub(super) async fn turn(&self, lane: K, width: Width) -> Option<LaneTurn<K>> {
        let (mut turn, turns) = self.enter(lane, width)?;
        turn.permit = turns.acquire_owned().await.ok();
        Some(turn)
    }

    fn enter(&self, lane: K, width: Width) -> Option<(LaneTurn<K>, Arc<Semaphore>)> {
        let mut lanes = self.0.lock();
        let entered = lanes
            .entry(lane)
            .or_insert_with(|| LaneState { turns: Arc::new(Semaphore::new(width.at_once)), inside: 0 });
        if entered.inside >= width.inside {
            return None;
        }
        entered.inside += 1;
        Some((LaneTurn { lanes: self.0.clone(), lane, permit: None }, entered.turns.clone()))
    }
}

impl<K: Eq + Hash + Copy> Drop for LaneTurn<K> {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut lanes = self.lanes.lock();
        if let Some(lane) = lanes.get_mut(&self.lane) {
            lane.inside -= 1;
            if lane.inside == 0 {
                lanes.remove(&self.lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const WIDTH: Width = Width { at_once: 1, inside: 2 };

    #[tokio::test]
    async fn lane_lets_one_go_one_wait_and_refuses_the_third() {
        let lanes = Lanes::new();
        let first = lanes.turn('a', WIDTH).now_or_never().flatten();
        let mut second = Box::pin(lanes.turn('a', WIDTH));
        assert!(first.is_some() && second.as_mut().now_or_never().is_none());
        assert!(matches!(lanes.turn('a', WIDTH).now_or_never(), Some(None)));
        assert!(matches!(lanes.turn('b', WIDTH).now_or_never(), Some(Some(_))));

        drop(first);

        assert!(second.await.is_some());
        assert!(lanes.0.lock().is_empty());
    }

    #[tokio::test]
    async fn dropped_wait_leaves_the_lane() {
        let lanes = Lanes::new();
        let first = lanes.turn('a', WIDTH).await;
        assert!(lanes.turn('a', WIDTH).now_or_never().is_none());

        assert!(lanes.turn('a', WIDTH).now_or_never().is_none(), "there is room to wait again");

        drop(first);
        assert!(lanes.0.lock().is_empty());
    }
}
