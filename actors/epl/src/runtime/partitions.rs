//! Contexts: every key that occurred on the streams of a context is a partition, in which statements keep separate
//! state.
//!
//! A partition begins with the first event of its key on any stream of the context and stays. Null is a key like any
//! other.

use std::collections::HashMap;
use std::sync::Arc;

use super::Retained;
use super::step::Step;
use crate::plan::{ContextPlan, PartitionPlan};
use crate::value::{Key, StreamEvent, Value};

/// The approximate size of a partition in bytes, besides the state of statements in it.
const PARTITION: usize = 256;

/// The partitions of a context, in the order they began.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    numbers: HashMap<Key, usize>,
    keys: Vec<Arc<[Value]>>,
}

impl Partitions {
    /// Returns the partition of an event and creates it if there is none; none when the context does not admit the
    /// event. Each stream occurs in a context once.
    pub(super) fn locate(
        &mut self,
        plan: &ContextPlan,
        stream: usize,
        event: &StreamEvent,
        step: &mut Step<'_>,
        retained: &mut Retained,
    ) -> Option<usize> {
        let part = plan.partitions.iter().find(|part| part.stream == stream)?;
        let key = key_of(part, event, step)?;
        match self.numbers.get(&key) {
            Some(number) => Some(*number),
            None => Some(self.begin(key, retained)),
        }
    }

    pub(super) fn keys(&self, number: usize) -> Arc<[Value]> {
        self.keys[number].clone()
    }

    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    fn begin(&mut self, key: Key, retained: &mut Retained) -> usize {
        let number = self.keys.len();
        self.keys.push(key.0.clone().into());
        self.numbers.insert(key, number);
        let bytes: usize = self.keys[number].iter().map(|value| value.size().bytes).sum();
        retained.bytes += PARTITION + bytes;
        number
    }
}

/// Returns the key of an event; none when the event is not of this part or the key cannot be evaluated.
fn key_of(part: &PartitionPlan, event: &StreamEvent, step: &mut Step<'_>) -> Option<Key> {
    if !step.passes(part.filter.as_ref(), event, &[]) {
        return None;
    }
    let scope = step.scope([Some(event), None], &[]);
    let values: Result<Vec<_>, _> = part.keys.iter().map(|key| key.evaluate(&scope)).collect();
    step.checked(values).map(Key)
}
