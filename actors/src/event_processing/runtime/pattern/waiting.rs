//! Who waits for an event: all nodes of a step, or, where the filter wants a property of the event equal to something known, those
//! that know the same.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use super::tree::{Detail, Live, NONE, Tree};
use crate::event_processing::value::Value;

/// The nodes of one step that wait, in lists through the nodes themselves; here are the heads.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Those that have to be asked about every event.
    any: u32,
    /// Those that can only match events of a bucket. A bucket may hold others too: it is a hash.
    buckets: HashMap<u64, u32>,
}

/// Which bucket values belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bucket {
    /// One of them is null, which equals nothing.
    Nothing,
    Found(u64),
    /// One of them is of a kind that has no buckets.
    Unknown,
}

impl Tree {
    /// Lets a node wait for events.
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

    /// Takes a node out of the list it was in.
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

    /// Whether any node of the step waits.
    pub(super) fn waits(&self, step: u32) -> bool {
        self.waiting.contains_key(&step)
    }

    /// Whether nodes of the step wait in buckets.
    pub(super) fn waits_in_buckets(&self, step: u32) -> bool {
        self.waiting.get(&step).is_some_and(|waiting| !waiting.buckets.is_empty())
    }

    /// The nodes of a step that wait for every event, or for those of a bucket.
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

    /// The bucket of values. Values that are equal to each other share one.
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
    // The two zeros are equal, and what is no number equals itself.
    let number = match number {
        0.0 => 0.0,
        number if number.is_nan() => f64::NAN,
        number => number,
    };
    (1_u8, number.to_bits()).hash(hasher);
}
