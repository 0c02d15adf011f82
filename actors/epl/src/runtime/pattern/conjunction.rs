//! `and`: the matches that each side found so far, and their combinations.

use std::sync::Arc;

use super::BURST;
use super::tree::Tags;
use crate::value::Match;

/// The matches that the children of an `and` found.
#[derive(Debug)]
pub(super) struct Conjunction {
    /// The matches, by the position of the child.
    found: Vec<Vec<Tags>>,
    /// The number of children without a match so far.
    missing: usize,
}

/// The error that one event causes more combinations than a pattern may make.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Conjunction {
    pub(super) fn new(children: usize) -> Self {
        Self { found: vec![Vec::new(); children], missing: children }
    }

    /// Returns whether every other child found a match.
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

    /// Returns the match of a child in every combination with the matches that the other children found before.
    ///
    /// # Errors
    /// [`TooMany`] when there are more combinations than a step may make.
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

/// Returns the combination with this number; the matches of the last child vary fastest.
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
