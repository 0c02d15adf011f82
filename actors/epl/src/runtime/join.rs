//! Joins of two sources: an event that enters one side is paired with each event that the other side retains and that
//! `where` admits.
//!
//! As in Esper, an event that comes to both sides at once enters both before pairs are made. With `unidirectional`,
//! only events of that side make pairs, and each of them stands by itself, so aggregates start afresh with it. A side
//! without a view retains nothing; a named window without a view of its own is represented by its contents. A pair
//! leaves with the first of its events. Where a side retains nothing, aggregates run over all pairs since deployment.

use std::collections::HashMap;

use super::aggregates::Span;
use super::join_conditions::JoinKeys;
use super::join_sides::{EnteredEvent, Kept, LINKED, Linked, Side, SideChange, link_key};
use super::named_windows::WindowChange;
use super::results::{Remembered, Results, Sources};
use super::step::Step;
use super::views::Entered;
use crate::plan::{SelectPlan, SourcePlan, Stream};
use crate::value::StreamEvent;

/// The approximate size, in bytes, of a pair, besides those of its events.
const PAIR: usize = 128;

/// Both sides of a join in one partition.
#[derive(Debug)]
pub(super) struct Join {
    sides: [Side; 2],
    /// The data that is remembered of each pair that passed, by the sequence numbers of its events.
    pairs: HashMap<(u64, u64), Remembered>,
    span: Span,
    /// The only side that makes pairs, for a `unidirectional` join.
    only: Option<usize>,
}

/// Two events that belong together, and what is remembered of them.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) events: [StreamEvent; 2],
    pub(super) remembered: Remembered,
}

impl Pair {
    /// Returns the events as the sources of a row, with what is remembered of them.
    pub(super) fn as_sources(&self) -> (Sources<'_>, &Remembered) {
        let [first, second] = &self.events;
        ([Some(first), Some(second)], &self.remembered)
    }
}

/// A pair that was just made, with the sequence numbers of its events.
type NewPair = ((u64, u64), Pair);

impl Join {
    pub(super) fn new(sources: &[SourcePlan; 2], streams: &[Stream]) -> Self {
        let sides = sources.each_ref().map(|source| Side::new(source, streams));
        let only = sources.iter().position(|source| source.unidirectional);
        let retains = |side: &Side| !matches!(side.kept, Kept::Nothing);
        let span = if only.is_none() && sides.iter().all(retains) { Span::Window } else { Span::Forever };
        Self { sides, pairs: HashMap::new(), span, only }
    }

    pub(super) fn span(&self) -> Span {
        self.span
    }

    /// Adds an event to one side.
    pub(super) fn insert(
        &mut self,
        side: usize,
        event: &StreamEvent,
        sources: &[SourcePlan; 2],
        keys: &JoinKeys,
        results: &Results,
        step: &mut Step<'_>,
    ) -> SideChange {
        let Some(unique) = step.key_in(sources[side].view.as_ref(), event, results.keys()) else {
            return SideChange::default();
        };
        let mut left = Vec::new();
        let this = &mut self.sides[side];
        let now = step.world.now;
        let entered = match &mut this.kept {
            Kept::View(view) => {
                step.retained.add(event.weight() + LINKED);
                view.insert(event.clone(), unique, now, &mut left)
            }
            Kept::Nothing => return this.pass(side, event, keys, results, step),
            Kept::Contents(_) => Entered::Nothing,
        };
        this.change(side, entered, left, keys, results, step)
    }

    /// Applies a change of a named window to its side.
    pub(super) fn change_window(
        &mut self,
        side: usize,
        change: &WindowChange,
        keys: &JoinKeys,
        results: &Results,
        step: &mut Step<'_>,
    ) -> SideChange {
        let Kept::Contents(contents) = &mut self.sides[side].kept else { return SideChange::default() };
        let mut result = SideChange::default();
        for (number, event) in &change.entered {
            let key = link_key(side, event, keys, results, step);
            contents.insert(*number, key.clone());
            step.retained.bytes += LINKED;
            result.entered.push(EnteredEvent { number: *number, key, event: event.clone() });
        }
        for number in &change.left {
            if let Some(key) = contents.remove(number) {
                step.retained.bytes = step.retained.bytes.saturating_sub(LINKED);
                result.left.push(Linked { number: *number, key });
            }
        }
        result
    }

    /// Advances the time of a side to `now`: removes expired events and releases batches.
    pub(super) fn expire(
        &mut self,
        side: usize,
        keys: &JoinKeys,
        results: &Results,
        step: &mut Step<'_>,
    ) -> SideChange {
        let this = &mut self.sides[side];
        let Kept::View(view) = &mut this.kept else { return SideChange::default() };
        let mut left = Vec::new();
        let entered = view.expire(step.world.now, &mut left);
        this.change(side, entered, left, keys, results, step)
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.sides
            .iter()
            .filter_map(|side| match &side.kept {
                Kept::View(view) => view.next_deadline(),
                _ => None,
            })
            .min()
    }

    /// Makes and removes pairs. Returns the new pairs, with what is remembered of each.
    pub(super) fn pair(
        &mut self,
        changes: [SideChange; 2],
        plan: &SelectPlan,
        results: &mut Results,
        step: &mut Step<'_>,
    ) -> Vec<Pair> {
        let gone = self.unpair(&changes, step);
        for (side, change) in self.sides.iter_mut().zip(&changes) {
            side.link(change);
        }
        let triggers = |side: usize| self.only.is_none_or(|only| only == side);
        if self.only.is_some_and(|only| !changes[only].entered.is_empty()) {
            results.clear(plan, step);
        }
        let mut made = Vec::new();
        if triggers(0) {
            made = self.pair_new(0, &changes[0], u64::MAX, plan, results, step);
        }
        if triggers(1) {
            // Pairs of two new events were made above.
            let first_new = changes[0].entered.first().map(|first| first.number).filter(|_| triggers(0));
            made.extend(self.pair_new(1, &changes[1], first_new.unwrap_or(u64::MAX), plan, results, step));
        }
        for (side, change) in self.sides.iter_mut().zip(&changes) {
            side.unlink_passing(change);
        }
        for remembered in gone {
            results.leave(step, &remembered);
        }
        if self.span == Span::Window && !(plan.aggregates.is_empty() && plan.group_by.is_empty()) {
            for (numbers, pair) in &made {
                step.retained.bytes += PAIR;
                self.pairs.insert(*numbers, pair.remembered.clone());
            }
        }
        made.into_iter().map(|(_, pair)| pair).collect()
    }

    /// Returns all existing pairs, for a snapshot.
    pub(super) fn contents(&self, plan: &SelectPlan, results: &Results, step: &mut Step<'_>) -> Vec<Pair> {
        let mut pairs = Vec::new();
        let mut first: Vec<_> = self.sides[0]
            .index
            .iter()
            .flat_map(|(key, events)| events.iter().map(move |(number, event)| (*number, key, event)))
            .collect();
        first.sort_unstable_by_key(|(number, ..)| *number);
        for (number, key, event) in first {
            for (other, partner) in self.sides[1].partners(Some(key)) {
                if let Some(remembered) = self.pairs.get(&(number, other)) {
                    let events = [event.clone(), partner.clone()];
                    pairs.push(Pair { events, remembered: remembered.clone() });
                } else if plan.aggregates.is_empty() && plan.group_by.is_empty() && !step.is_spent() {
                    let passes = plan.condition.as_ref().is_none_or(|condition| {
                        let scope = step.scope([Some(event), Some(partner)], results.keys());
                        condition.is_true(&scope).unwrap_or(false)
                    });
                    if passes {
                        let events = [event.clone(), partner.clone()];
                        pairs.push(Pair { events, remembered: Remembered::of_all() });
                    }
                }
            }
        }
        pairs
    }

    /// Pairs the new events of one side with the events of the other side whose sequence number is below a limit.
    fn pair_new(
        &self,
        side: usize,
        change: &SideChange,
        below: u64,
        plan: &SelectPlan,
        results: &mut Results,
        step: &mut Step<'_>,
    ) -> Vec<NewPair> {
        let mut made = Vec::new();
        for EnteredEvent { number, key, event } in &change.entered {
            let partners = self.sides[1 - side].partners(key.as_ref());
            for (other, partner) in partners.take_while(|(other, _)| *other < below) {
                if step.is_spent() {
                    return made;
                }
                let (numbers, [first, second]) = match side {
                    0 => ((*number, other), [event, partner]),
                    _ => ((other, *number), [partner, event]),
                };
                let remembered = results.enter(plan, step, [Some(first), Some(second)]);
                if remembered.passed() {
                    made.push((numbers, Pair { events: [first.clone(), second.clone()], remembered }));
                }
            }
        }
        made
    }

    /// Removes the pairs of the events that left, and returns what was remembered of them.
    fn unpair(&mut self, changes: &[SideChange; 2], step: &mut Step<'_>) -> Vec<Remembered> {
        let mut gone = Vec::new();
        if self.pairs.is_empty() {
            return gone;
        }
        for Linked { number, key } in &changes[0].left {
            let partners = self.sides[1].partners(key.as_ref());
            gone.extend(partners.filter_map(|(other, _)| self.pairs.remove(&(*number, other))));
        }
        for Linked { number, key } in &changes[1].left {
            let partners = self.sides[0].partners(key.as_ref());
            gone.extend(partners.filter_map(|(other, _)| self.pairs.remove(&(other, *number))));
        }
        step.retained.bytes = step.retained.bytes.saturating_sub(PAIR * gone.len());
        gone
    }
}
