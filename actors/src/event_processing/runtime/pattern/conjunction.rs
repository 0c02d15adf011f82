//! `and`: what each side found so far, and what they make together.

use std::sync::Arc;

use super::BURST;
use super::tree::Tags;
use crate::event_processing::stream::Match;

/// What the children of an `and` found.
#[derive(Debug)]
pub(super) struct Conjunction {
    /// By the position of the child.
    found: Vec<Vec<Tags>>,
    /// How many children found nothing yet.
    missing: usize,
}

/// More comes together at once than a pattern may do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Conjunction {
    pub(super) fn new(children: usize) -> Self {
        Self { found: vec![Vec::new(); children], missing: children }
    }

    /// Whether every child but this one found something.
    pub(super) fn completes(&self, position: usize) -> bool {
        self.missing == usize::from(self.found[position].is_empty())
    }

    pub(super) fn remember(&mut self, position: usize, tags: Tags) {
        self.missing -= usize::from(self.found[position].is_empty());
        self.found[position].push(tags);
    }

    pub(super) fn remembered(&self) -> impl Iterator<Item = &Tags> {
        self.found.iter().flatten()
    }

    /// What a child found, with every combination of what the others found before.
    ///
    /// # Errors
    /// When there are more than a step may make.
    pub(super) fn combinations(&self, position: usize, tags: &Tags) -> Result<Vec<Tags>, TooMany> {
        let mut others: Vec<&[Tags]> = self.found.iter().map(Vec::as_slice).collect();
        others.remove(position);
        let count = others.iter().map(|found| found.len()).fold(1, usize::saturating_mul);
        if count > BURST {
            return Err(TooMany);
        }
        Ok((0..count).map(|number| combination(&others, number, tags)).collect())
    }
}

/// The combination of this number; the last child's finds change fastest.
fn combination(others: &[&[Tags]], mut number: usize, tags: &Tags) -> Tags {
    let mut all = Match::clone(tags);
    for found in others.iter().rev() {
        let chosen = &found[number % found.len()];
        number /= found.len();
        for (tag, event) in all.0.iter_mut().zip(&chosen.0) {
            if let Some(event) = event {
                *tag = Some(event.clone());
            }
        }
    }
    Arc::new(all)
}
