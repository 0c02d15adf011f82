//! Contexts: every key that its streams had so far is a partition, in which statements keep a state of their own.
//!
//! A partition begins with the first event of its key on any stream of the context and stays. Null is a key like others.

use std::collections::HashMap;
use std::sync::Arc;

use super::Scope;
use super::step::Step;
use crate::event_processing::plan::{ContextPlan, PartitionPlan};
use crate::event_processing::stream::StreamEvent;
use crate::event_processing::value::Key;
use crate::event_processing::value::Value;

/// About how many bytes a partition takes, besides what statements keep in it.
const PARTITION: usize = 256;

/// The partitions of a context, by the order they began.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    numbers: HashMap<Key, usize>,
    keys: Vec<Arc<[Value]>>,
}

/// Where an event belongs.
#[derive(Debug, Default, Clone)]
pub(super) struct Located {
    /// One for each part of the context that names its stream and lets it through; each once.
    pub(super) partitions: Vec<usize>,
    /// How many of them are new; these are the last of all.
    pub(super) begun: usize,
}

impl Partitions {
    /// The partitions an event belongs to; they begin where there are none.
    pub(super) fn locate(
        &mut self,
        plan: &ContextPlan,
        stream: usize,
        event: &StreamEvent,
        step: &mut Step<'_>,
    ) -> Located {
        let mut located = Located::default();
        for part in plan.partitions.iter().filter(|part| part.stream == stream) {
            let Some(key) = key_of(part, event, step) else { continue };
            let number = match self.numbers.get(&key) {
                Some(number) => *number,
                None => {
                    located.begun += 1;
                    self.begin(key, step)
                }
            };
            if !located.partitions.contains(&number) {
                located.partitions.push(number);
            }
        }
        located
    }

    pub(super) fn keys(&self, number: usize) -> Arc<[Value]> {
        self.keys[number].clone()
    }

    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    fn begin(&mut self, key: Key, step: &mut Step<'_>) -> usize {
        let number = self.keys.len();
        self.keys.push(key.0.clone().into());
        self.numbers.insert(key, number);
        let bytes: usize = self.keys[number].iter().map(|value| value.size().bytes).sum();
        step.retained.bytes += PARTITION + bytes;
        number
    }
}

/// None when the event is not of this part, or its key cannot be had.
fn key_of(part: &PartitionPlan, event: &StreamEvent, step: &mut Step<'_>) -> Option<Key> {
    let scope = Scope { sources: [Some(event), None], aggregates: &[], keys: &[], world: step.world };
    if let Some(filter) = &part.filter {
        let passes = filter.is_true(&scope);
        if !step.checked(passes)? {
            return None;
        }
    }
    let values: Result<Vec<_>, _> = part.keys.iter().map(|key| key.evaluate(&scope)).collect();
    step.checked(values).map(Key)
}
