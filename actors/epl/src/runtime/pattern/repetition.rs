//! `until`: the events that the repeated part found so far (Q-10a).

use std::sync::Arc;

use super::tree::Tags;
use crate::value::{Match, StreamEvent};

/// The events that the repeated part of an `until` found.
#[derive(Debug)]
pub(super) struct Repetition {
    /// The events in their order, by the position of the tag among those of the repeated part.
    found: Vec<Vec<StreamEvent>>,
}

impl Repetition {
    pub(super) fn new(tags: usize) -> Self {
        Self { found: vec![Vec::new(); tags] }
    }

    /// Remembers the events of one repetition; returns their weight for each.
    pub(super) fn remember(&mut self, of: &[u16], tags: &Tags) -> Vec<usize> {
        let mut weights = Vec::new();
        for (tag, found) in of.iter().zip(&mut self.found) {
            if let Some(event) = tags.get(*tag) {
                weights.push(event.weight());
                found.push(event.clone());
            }
        }
        weights
    }

    pub(super) fn remembered(&self) -> impl Iterator<Item = &StreamEvent> {
        self.found.iter().flatten()
    }

    /// Returns a match of the end together with the lists of the events.
    pub(super) fn ended(&self, of: &[u16], tags: &Tags) -> Tags {
        let mut all = Match::clone(tags);
        for (tag, found) in of.iter().zip(&self.found) {
            let list = Match(found.iter().cloned().map(Some).collect());
            all.0[usize::from(*tag)] = Some(StreamEvent::Match(Arc::new(list)));
        }
        Arc::new(all)
    }
}
