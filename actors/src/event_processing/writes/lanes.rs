//! Orders writes: writes for the same device run one after another, writes for different devices run
//! concurrently.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use platform_model::id::ManagedObjectId;

/// The maximum number of concurrent writes of one module.
const UNDER_WAY: usize = 64;

/// The waiting writes, by device.
#[derive(Debug)]
pub(super) struct Lanes<T> {
    /// The writes that wait for another write of the same device that is ready or in progress.
    behind: HashMap<ManagedObjectId, VecDeque<T>>,
    ready: VecDeque<(Option<ManagedObjectId>, T)>,
    under_way: usize,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { behind: HashMap::new(), ready: VecDeque::new(), under_way: 0 }
    }
}

impl<T> Lanes<T> {
    /// Appends a write to its device's lane. A write that concerns no device is ready at once.
    pub(super) fn push(&mut self, device: Option<ManagedObjectId>, write: T) {
        let Some(id) = device else { return self.ready.push_back((None, write)) };
        match self.behind.entry(id) {
            Entry::Occupied(mut lane) => lane.get_mut().push_back(write),
            Entry::Vacant(lane) => {
                lane.insert(VecDeque::new());
                self.ready.push_back((device, write));
            }
        }
    }

    /// Returns the next write to start. When it is finished, the caller must call [`done`](Self::done).
    pub(super) fn begin(&mut self) -> Option<(Option<ManagedObjectId>, T)> {
        if self.under_way == UNDER_WAY {
            return None;
        }
        let next = self.ready.pop_front()?;
        self.under_way += 1;
        Some(next)
    }

    /// Returns the writes that come next in the device's lane after the one that was just started, as long as
    /// they can be combined with it, up to a maximum number.
    pub(super) fn along_with(
        &mut self,
        device: Option<ManagedObjectId>,
        most: usize,
        may: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        let lane = device.and_then(|id| self.behind.get_mut(&id));
        let Some(lane) = lane else { return Vec::new() };
        let count = lane.iter().take(most).take_while(|write| may(write)).count();
        lane.drain(..count).collect()
    }

    /// Records that a write of the device is finished; the next write of the device becomes ready.
    pub(super) fn done(&mut self, device: Option<ManagedObjectId>) {
        self.under_way -= 1;
        let Some(id) = device else { return };
        let Entry::Occupied(mut lane) = self.behind.entry(id) else { return };
        match lane.get_mut().pop_front() {
            Some(next) => self.ready.push_back((device, next)),
            None => drop(lane.remove()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Option<ManagedObjectId> = Some(ManagedObjectId(1));
    const SECOND: Option<ManagedObjectId> = Some(ManagedObjectId(2));

    #[test]
    fn writes_of_one_device_wait_for_each_other_and_those_of_another_do_not() {
        let mut lanes = Lanes::default();
        for (device, write) in [(FIRST, "a"), (FIRST, "b"), (SECOND, "c"), (None, "d"), (FIRST, "e")] {
            lanes.push(device, write);
        }

        let begun: Vec<_> = std::iter::from_fn(|| lanes.begin()).map(|(_, write)| write).collect();
        assert_eq!(begun, ["a", "c", "d"]);

        lanes.done(SECOND);
        assert_eq!(lanes.begin(), None);
        lanes.done(FIRST);
        assert_eq!(lanes.begin(), Some((FIRST, "b")));
        lanes.done(FIRST);
        assert_eq!(lanes.begin(), Some((FIRST, "e")));
        lanes.done(FIRST);
        assert!(lanes.behind.is_empty(), "nothing is kept of a device without writes");
    }

    #[test]
    fn number_of_concurrent_writes_is_bounded() {
        let mut lanes = Lanes::default();
        (1..=100).for_each(|device| lanes.push(Some(ManagedObjectId(device)), device));

        assert_eq!(std::iter::from_fn(|| lanes.begin()).count(), UNDER_WAY);
        lanes.done(FIRST);
        assert_eq!(std::iter::from_fn(|| lanes.begin()).count(), 1);
    }

    #[test]
    fn writes_next_in_the_lane_are_taken_along() {
        let mut lanes = Lanes::default();
        [2, 4, 6, 7, 8].into_iter().for_each(|write| lanes.push(FIRST, write));

        assert_eq!(lanes.begin(), Some((FIRST, 2)));
        assert_eq!(lanes.along_with(FIRST, 10, |write| write % 2 == 0), [4, 6]);
        assert!(lanes.along_with(SECOND, 10, |_| true).is_empty());
        lanes.done(FIRST);
        assert_eq!(lanes.begin(), Some((FIRST, 7)));
        assert!(lanes.along_with(FIRST, 0, |_| true).is_empty());
    }
}
