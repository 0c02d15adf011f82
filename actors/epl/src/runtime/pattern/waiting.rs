//! The index of the nodes that wait for an event. A step lists all of its waiting nodes; where its filter requires a
//! property of the event to equal a known value, the nodes are in buckets by that value.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use super::tree::{Detail, Live, NONE, Tree};
use crate::value::Value;

/// The waiting nodes of one step, in lists that are linked through the nodes themselves; this holds the heads.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The nodes whose filter must be evaluated for every event.
    any: u32,
    /// The nodes that can only match events of a bucket. A bucket is a hash, so it may hold other nodes too.
    buckets: HashMap<u64, u32>,
}

/// The bucket to which values belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bucket {
    /// One of the values is null, which equals nothing.
    Nothing,
    Found(u64),
    /// One of the values is of a type that has no buckets.
    Unknown,
}

impl Tree {
    /// Makes a node wait for events.
    pub(super) fn wait_for(&mut self, live: Live, bucket: Option<u64>) {
        let step = self.at(live.slot).step;
        let waiting =
            self.waiting.entry(step).or_insert_with(|| Waiting { any: NONE, buckets: HashMap::new() });
        let head = match bucket {
            None => &mut waiting.any,
            Some(bucket) => waiting.buckets.entry(bucket).or_insert(NONE),
        };
        let next = std::mem::replace(head, live.slot);
        if next != NONE {
            self.link(next, |previous, _| *previous = live.slot);
        }
        self.at_mut(live.slot).detail = Detail::Waits { bucket, previous: NONE, next };
        self.retain_waiting();
    }

    /// Removes a node from the list it is in.
    pub(super) fn stop_waiting(&mut self, step: u32, bucket: Option<u64>, previous: u32, next: u32) {
        if next != NONE {
            self.link(next, |link, _| *link = previous);
        }
        if previous != NONE {
            self.link(previous, |_, link| *link = next);
            return;
        }
        let Some(waiting) = self.waiting.get_mut(&step) else { return };
        match bucket {
            None => waiting.any = next,
            Some(bucket) if next == NONE => {
                waiting.buckets.remove(&bucket);
            }
            Some(bucket) => {
                waiting.buckets.insert(bucket, next);
            }
        }
        if waiting.any == NONE && waiting.buckets.is_empty() {
            self.waiting.remove(&step);
        }
    }

    /// Returns whether any node of the step waits.
    pub(super) fn waits(&self, step: u32) -> bool {
        self.waiting.contains_key(&step)
    }

    /// Returns whether nodes of the step wait in buckets.
    pub(super) fn waits_in_buckets(&self, step: u32) -> bool {
        self.waiting.get(&step).is_some_and(|waiting| !waiting.buckets.is_empty())
    }

    /// Returns the nodes of a step that wait for every event, or those of a bucket.
    pub(super) fn waiting_in(&self, step: u32, bucket: Option<u64>) -> impl Iterator<Item = Live> + '_ {
        let mut slot = match (self.waiting.get(&step), bucket) {
            (None, _) => NONE,
            (Some(waiting), None) => waiting.any,
            (Some(waiting), Some(bucket)) => waiting.buckets.get(&bucket).copied().unwrap_or(NONE),
        };
        std::iter::from_fn(move || {
            if slot == NONE {
                return None;
            }
            let live = self.live_at(slot);
            slot = match self.at(slot).detail {
                Detail::Waits { next, .. } => next,
                _ => NONE,
            };
            Some(live)
        })
    }

    /// Returns the bucket of values. Values that are equal to each other share one.
    pub(super) fn bucket(&self, values: &[Value]) -> Bucket {
        let mut hasher = self.waiting.hasher().build_hasher();
        for value in values {
            match value {
                Value::Null => return Bucket::Nothing,
                Value::Boolean(value) => (0_u8, value).hash(&mut hasher),
                Value::Integer(number) => hash_number(*number as f64, &mut hasher),
                Value::Double(number) => hash_number(*number, &mut hasher),
                Value::Text(text) => (2_u8, &**text).hash(&mut hasher),
                Value::Id(id) => (2_u8, &*id.value).hash(&mut hasher),
                _ => return Bucket::Unknown,
            }
        }
        Bucket::Found(hasher.finish())
    }

    fn link(&mut self, slot: u32, change: impl FnOnce(&mut u32, &mut u32)) {
        if let Detail::Waits { previous, next, .. } = &mut self.at_mut(slot).detail {
            change(previous, next);
        }
    }
}

fn hash_number(number: f64, hasher: &mut impl Hasher) {
    // Both zeros are equal, and NaN equals itself.
    let number = match number {
        0.0 => 0.0,
        number if number.is_nan() => f64::NAN,
        number => number,
    };
    (1_u8, number.to_bits()).hash(hasher);
}
