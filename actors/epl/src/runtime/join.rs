//! Joins of two sources: an event that comes to one side is paired with each event that the other side retains and
//! that `where` admits.
//!
//! As in Esper, an event that comes to both sides at once enters both before pairs are made. With `unidirectional`,
//! only events of that side make pairs, and each of them stands by itself, so aggregates start afresh with it. A side
//! without a view retains nothing; a named window without a view of its own is represented by its contents. A pair
//! leaves with the first of its events. Where a side retains nothing, aggregates run over all pairs since deployment.

use std::collections::{BTreeMap, HashMap};

use super::aggregates::Span;
use super::join_conditions::JoinKeys;
use super::named_windows::WindowChange;
use super::results::{Remembered, Results};
use super::step::Step;
use super::views::{Entered, Held, View};
use crate::plan::{SelectPlan, SourcePlan, Stream};
use crate::stream::StreamEvent;
use crate::value::Key;
use crate::value::Value;

/// The approximate size, in bytes, of an event on a side and of a pair, besides their own.
const LINKED: usize = 192;
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

#[derive(Debug)]
struct Side {
    kept: Kept,
    /// The events of the side by key, and under each key by sequence number. An event whose key contains a null is
    /// paired with none.
    index: HashMap<Key, BTreeMap<u64, StreamEvent>>,
    next: u64,
}

#[derive(Debug)]
enum Kept {
    Nothing,
    View(View<Linked>),
    /// The rows of a named window, by their numbers there.
    Contents(HashMap<u64, Option<Key>>),
}

/// The sequence number and the key under which an event is indexed.
#[derive(Debug, Clone, Default)]
struct Linked {
    number: u64,
    key: Option<Key>,
}

/// A new pair: the sequence numbers of its events, the events, and what is remembered of the pair.
type NewPair = ((u64, u64), [StreamEvent; 2], Remembered);

/// The events that entered and left one side.
#[derive(Debug, Default)]
pub(super) struct SideChange {
    entered: Vec<(u64, Option<Key>, StreamEvent)>,
    left: Vec<(u64, Option<Key>)>,
}

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
        (sources, keys): (&[SourcePlan; 2], &JoinKeys),
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
            result.entered.push((*number, key, event.clone()));
        }
        for number in &change.left {
            if let Some(key) = contents.remove(number) {
                step.retained.bytes = step.retained.bytes.saturating_sub(LINKED);
                result.left.push((*number, key));
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
    ) -> Vec<([StreamEvent; 2], Remembered)> {
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
            self.pair_new((0, &changes[0]), u64::MAX, plan, results, step, &mut made);
        }
        if triggers(1) {
            // Pairs of two new events were made above.
            let first_new = changes[0].entered.first().map(|(number, ..)| *number).filter(|_| triggers(0));
            self.pair_new((1, &changes[1]), first_new.unwrap_or(u64::MAX), plan, results, step, &mut made);
        }
        for (side, change) in self.sides.iter_mut().zip(&changes) {
            side.unlink_passing(change);
        }
        for remembered in gone {
            results.leave(step, &remembered);
        }
        if self.span == Span::Window && !(plan.aggregates.is_empty() && plan.group_by.is_empty()) {
            for (numbers, _, remembered) in &made {
                step.retained.bytes += PAIR;
                self.pairs.insert(*numbers, remembered.clone());
            }
        }
        made.into_iter().map(|(_, events, remembered)| (events, remembered)).collect()
    }

    /// Returns all existing pairs, for a snapshot.
    pub(super) fn contents(
        &self,
        plan: &SelectPlan,
        results: &Results,
        step: &mut Step<'_>,
    ) -> Vec<([StreamEvent; 2], Remembered)> {
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
                    pairs.push(([event.clone(), partner.clone()], remembered.clone()));
                } else if plan.aggregates.is_empty() && plan.group_by.is_empty() && !step.is_spent() {
                    let passes = plan.condition.as_ref().is_none_or(|condition| {
                        let scope = step.scope([Some(event), Some(partner)], results.keys());
                        condition.is_true(&scope).unwrap_or(false)
                    });
                    if passes {
                        pairs.push(([event.clone(), partner.clone()], Remembered::of_all()));
                    }
                }
            }
        }
        pairs
    }

    /// Pairs the new events of one side with the events of the other side whose sequence number is below a limit.
    fn pair_new(
        &self,
        (side, change): (usize, &SideChange),
        below: u64,
        plan: &SelectPlan,
        results: &mut Results,
        step: &mut Step<'_>,
        made: &mut Vec<NewPair>,
    ) {
        for (number, key, event) in &change.entered {
            let partners = self.sides[1 - side].partners(key.as_ref());
            for (other, partner) in partners.take_while(|(other, _)| *other < below) {
                if step.is_spent() {
                    return;
                }
                let (numbers, [first, second]) = match side {
                    0 => ((*number, other), [event, partner]),
                    _ => ((other, *number), [partner, event]),
                };
                let remembered = results.enter(plan, step, [Some(first), Some(second)]);
                if remembered.passed() {
                    made.push((numbers, [first.clone(), second.clone()], remembered));
                }
            }
        }
    }

    /// Removes the pairs of the events that left, and returns what was remembered of them.
    fn unpair(&mut self, changes: &[SideChange; 2], step: &mut Step<'_>) -> Vec<Remembered> {
        let mut gone = Vec::new();
        if self.pairs.is_empty() {
            return gone;
        }
        for (number, key) in &changes[0].left {
            let partners = self.sides[1].partners(key.as_ref());
            gone.extend(partners.filter_map(|(other, _)| self.pairs.remove(&(*number, other))));
        }
        for (number, key) in &changes[1].left {
            let partners = self.sides[0].partners(key.as_ref());
            gone.extend(partners.filter_map(|(other, _)| self.pairs.remove(&(other, *number))));
        }
        step.retained.bytes = step.retained.bytes.saturating_sub(PAIR * gone.len());
        gone
    }
}

impl Side {
    fn new(source: &SourcePlan, streams: &[Stream]) -> Self {
        let kept = match (&source.view, &streams[source.stream]) {
            (Some(view), _) => Kept::View(View::new(view)),
            (None, Stream::Window(_)) => Kept::Contents(HashMap::new()),
            (None, _) => Kept::Nothing,
        };
        Self { kept, index: HashMap::new(), next: 1 }
    }

    /// Returns the events that may be paired with one of this key, in the order they came.
    fn partners(&self, key: Option<&Key>) -> impl Iterator<Item = (u64, &StreamEvent)> {
        key.and_then(|key| self.index.get(key)).into_iter().flatten().map(|(number, event)| (*number, event))
    }

    /// Adds an event that is not retained.
    fn pass(
        &mut self,
        side: usize,
        event: &StreamEvent,
        keys: &JoinKeys,
        results: &Results,
        step: &mut Step<'_>,
    ) -> SideChange {
        let key = link_key(side, event, keys, results, step);
        let number = self.number();
        SideChange { entered: vec![(number, key, event.clone())], left: Vec::new() }
    }

    fn change(
        &mut self,
        side: usize,
        entered: Entered,
        left: Vec<Held<Linked>>,
        keys: &JoinKeys,
        results: &Results,
        step: &mut Step<'_>,
    ) -> SideChange {
        let mut change = SideChange::default();
        let Kept::View(view) = &mut self.kept else { return change };
        for held in view.entered_mut(entered) {
            let key = link_key(side, &held.event, keys, results, step);
            held.memory = Linked { number: self.next, key: key.clone() };
            self.next += 1;
            change.entered.push((held.memory.number, key, held.event.clone()));
        }
        for held in left {
            step.retained.remove(held.event.weight() + LINKED);
            change.left.push((held.memory.number, held.memory.key));
        }
        change
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    fn link(&mut self, change: &SideChange) {
        for (number, key, event) in &change.entered {
            if let Some(key) = key {
                self.index.entry(key.clone()).or_default().insert(*number, event.clone());
            }
        }
        for (number, key) in &change.left {
            self.unlink(*number, key.as_ref());
        }
    }

    /// Removes events that are not retained from the index.
    fn unlink_passing(&mut self, change: &SideChange) {
        if matches!(self.kept, Kept::Nothing) {
            for (number, key, _) in &change.entered {
                self.unlink(*number, key.as_ref());
            }
        }
    }

    fn unlink(&mut self, number: u64, key: Option<&Key>) {
        let Some(key) = key else { return };
        if let Some(events) = self.index.get_mut(key) {
            events.remove(&number);
            if events.is_empty() {
                self.index.remove(key);
            }
        }
    }
}

impl SideChange {
    pub(super) fn append(&mut self, mut other: Self) {
        self.entered.append(&mut other.entered);
        self.left.append(&mut other.left);
    }
}

/// Returns the key by which the other side looks up the event; none when a part of it is null or cannot be evaluated.
fn link_key(
    side: usize,
    event: &StreamEvent,
    keys: &JoinKeys,
    results: &Results,
    step: &mut Step<'_>,
) -> Option<Key> {
    let sources = if side == 0 { [Some(event), None] } else { [None, Some(event)] };
    let key = step.key(&keys.0[side], sources, results.keys())?;
    (!key.0.iter().any(|value| matches!(value, Value::Null))).then_some(key)
}
