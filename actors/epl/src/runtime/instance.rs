//! A `select` at work in one partition: it reads events, retains what its views require, and makes rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::World;
use super::aggregates::{Memories, Span};
use super::join::{Join, Pair};
use super::join_conditions::JoinKeys;
use super::join_sides::SideChange;
use super::named_windows::WindowChange;
use super::output_rate::Due;
use super::pattern::{Found, PatternState};
use super::results::{Remembered, Results, Sources};
use super::step::Step;
use super::timers::Armed;
use super::views::{Entered, Held, Ring, View};
use crate::plan::pattern::PatternPlan;
use crate::plan::{From, SelectPlan, SourcePlan, Stream, ViewPlan};
use crate::value::{StreamEvent, Value};

/// The approximate size of a retained event in bytes, besides its own and its contributions to further aggregates.
const HELD: usize = 72;
/// The approximate size, in bytes, of the memory of an event that is not needed itself any more, besides its
/// contributions to further aggregates.
const MEMORY: usize = 48;

/// The state of one `select`, in one partition where it has a context.
#[derive(Debug)]
pub(super) struct Instance {
    reading: Reading,
    results: Results,
    pub(super) armed: Armed,
}

#[derive(Debug)]
enum Reading {
    /// The instance retains no events.
    Passing,
    View(View<Remembered>),
    /// The contributions of each event to the aggregates, to be removed when the event leaves: once its row is made,
    /// the event itself is not needed any more.
    Memories(Ring<Remembered, ()>),
    /// The contents of a named window, by the numbers of its rows.
    Contents(BTreeMap<u64, Held<Remembered>>),
    Join(Box<Join>),
    Pattern {
        state: Box<PatternState>,
        view: Option<View<Remembered>>,
    },
}

impl Instance {
    pub(super) fn new(plan: &SelectPlan, streams: &[Stream], keys: Arc<[Value]>, world: &World<'_>) -> Self {
        let reading = match &plan.from {
            From::One(source) => match (&source.view, &streams[source.stream]) {
                (Some(view), _) => Reading::of_view(view, plan),
                (None, Stream::Window(_)) => Reading::Contents(BTreeMap::new()),
                (None, _) => Reading::Passing,
            },
            From::Join(sources) => Reading::Join(Box::new(Join::new(sources, streams))),
            From::Pattern { pattern, view } => Reading::Pattern {
                state: Box::new(PatternState::start(pattern, &keys, world)),
                view: view.as_ref().map(View::new),
            },
        };
        let span = match &reading {
            Reading::Passing | Reading::Pattern { view: None, .. } => Span::Forever,
            Reading::Join(join) => join.span(),
            _ => Span::Window,
        };
        Self { reading, results: Results::new(plan, keys, span), armed: Armed::default() }
    }

    /// Handles an event of a stream, or one that was inserted into a window that is read as a stream.
    pub(super) fn take_event(
        &mut self,
        plan: &SelectPlan,
        keys: &JoinKeys,
        stream: usize,
        event: &StreamEvent,
        step: &mut Step<'_>,
    ) {
        match &plan.from {
            From::One(source) => {
                if self.passes(source, event, step) {
                    self.take_one(plan, event, step);
                }
            }
            From::Join(sources) => {
                let mut changes = [SideChange::default(), SideChange::default()];
                for (side, source) in sources.iter().enumerate() {
                    if source.stream == stream
                        && self.passes(source, event, step)
                        && let Reading::Join(join) = &mut self.reading
                    {
                        changes[side] = join.insert(side, event, sources, keys, &self.results, step);
                    }
                }
                self.pair(plan, changes, step);
            }
            From::Pattern { .. } => self.seek(plan, step, |state, pattern, keys, world, found| {
                state.feed(pattern, stream, event, keys, world, found);
            }),
        }
    }

    /// Handles a change of a named window whose contents the statement reads.
    pub(super) fn take_change(
        &mut self,
        plan: &SelectPlan,
        keys: &JoinKeys,
        stream: usize,
        change: &WindowChange,
        step: &mut Step<'_>,
    ) {
        match &plan.from {
            From::One(source) => self.take_contents(plan, source, change, step),
            From::Join(sources) => {
                let mut changes = [SideChange::default(), SideChange::default()];
                for (side, source) in sources.iter().enumerate() {
                    if source.stream != stream {
                        continue;
                    }
                    let admitted = self.admitted(source, change, step);
                    let Reading::Join(join) = &mut self.reading else { continue };
                    if source.view.is_none() {
                        changes[side] = join.change_window(side, &admitted, keys, &self.results, step);
                    } else {
                        for (_, event) in &admitted.entered {
                            let inserted = join.insert(side, event, sources, keys, &self.results, step);
                            changes[side].append(inserted);
                        }
                    }
                }
                self.pair(plan, changes, step);
            }
            From::Pattern { .. } => {
                for (_, event) in &change.entered {
                    self.take_event(plan, keys, stream, event, step);
                }
            }
        }
    }

    /// Advances the time to `now`: first events leave the views, then timers of the pattern fire, then rows that wait
    /// for an output are released.
    pub(super) fn advance(&mut self, plan: &SelectPlan, keys: &JoinKeys, step: &mut Step<'_>) {
        let now = step.world.now;
        match &mut self.reading {
            Reading::View(view) | Reading::Pattern { view: Some(view), .. } => {
                let mut left = Vec::new();
                let entered = view.expire(now, &mut left);
                self.change(plan, entered, left, step);
            }
            Reading::Memories(memories) => {
                let mut left = Vec::new();
                memories.expire(now, &mut left);
                self.let_go(plan, left, step);
                let due = self.results.finish(plan, step, std::iter::empty());
                self.put_out_if(due, plan, step);
            }
            Reading::Join(join) => {
                let changes = [0, 1].map(|side| join.expire(side, keys, &self.results, step));
                self.pair(plan, changes, step);
            }
            _ => {}
        }
        self.seek(plan, step, PatternState::advance);
        if self.results.expire(now) == Due::Now {
            self.put_out(plan, step);
        }
    }

    /// Returns the time at which [`advance`](Self::advance) has something to do next.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        let reading = match &self.reading {
            Reading::View(view) => view.next_deadline(),
            Reading::Memories(memories) => memories.next_deadline(),
            Reading::Join(join) => join.next_deadline(),
            Reading::Pattern { state, view } => {
                earlier(state.next_deadline(), view.as_ref().and_then(View::next_deadline))
            }
            Reading::Passing | Reading::Contents(_) => None,
        };
        earlier(reading, self.results.next_deadline())
    }

    fn passes(&self, source: &SourcePlan, event: &StreamEvent, step: &mut Step<'_>) -> bool {
        step.passes(source.filter.as_ref(), event, self.results.keys())
    }

    /// Returns the part of a change that the filter of the source admits; rows that leave are looked up by their
    /// numbers.
    fn admitted<'c>(
        &self,
        source: &SourcePlan,
        change: &'c WindowChange,
        step: &mut Step<'_>,
    ) -> Cow<'c, WindowChange> {
        if source.filter.is_none() {
            return Cow::Borrowed(change);
        }
        let entered =
            change.entered.iter().filter(|(_, event)| self.passes(source, event, step)).cloned().collect();
        Cow::Owned(WindowChange { entered, left: change.left.clone() })
    }

    /// Advances the pattern, if there is one, and takes in its matches.
    fn seek(
        &mut self,
        plan: &SelectPlan,
        step: &mut Step<'_>,
        seek: impl FnOnce(&mut PatternState, &PatternPlan, &[Value], &World<'_>, &mut Found),
    ) {
        let (Reading::Pattern { state, .. }, From::Pattern { pattern, .. }) = (&mut self.reading, &plan.from)
        else {
            return;
        };
        let mut found = Found::default();
        let before = state.retained();
        seek(state, pattern, self.results.keys(), step.world, &mut found);
        step.retained.replace(before, state.retained());
        found.faults.into_iter().for_each(|fault| step.fault(fault));
        for found in found.matches {
            self.take_one(plan, &found, step);
        }
    }

    fn take_one(&mut self, plan: &SelectPlan, event: &StreamEvent, step: &mut Step<'_>) {
        let view = match &plan.from {
            From::One(source) => source.view.as_ref(),
            From::Pattern { view, .. } => view.as_ref(),
            From::Join(_) => None,
        };
        let Some(key) = step.key_in(view, event, self.results.keys()) else { return };
        match &mut self.reading {
            Reading::View(view) | Reading::Pattern { view: Some(view), .. } => {
                step.retained.add(event.weight() + bytes_beside(plan));
                let mut left = Vec::new();
                let entered = view.insert(event.clone(), key, step.world.now, &mut left);
                self.change(plan, entered, left, step);
            }
            Reading::Memories(memories) => {
                let sources = [Some(event), None];
                let memory = self.results.enter(plan, step, sources);
                let entered = memory.without_values();
                let mut left = Vec::new();
                // A time window removes only events that entered: one that did not pass `where` need not be kept.
                if memory.passed() || memories.counts() {
                    step.retained.bytes += bytes_of_memory(plan);
                    memories.insert(Held { event: (), at: step.world.now, memory }, &mut left);
                }
                self.let_go(plan, left, step);
                let due = self.results.finish(plan, step, std::iter::once((sources, &entered)));
                self.put_out_if(due, plan, step);
            }
            _ => {
                let sources = [Some(event), None];
                let remembered = self.results.enter(plan, step, sources);
                let due = self.results.finish(plan, step, std::iter::once((sources, &remembered)));
                self.put_out_if(due, plan, step);
            }
        }
    }

    /// Updates the results with the events that entered the view and those that left it.
    fn change(
        &mut self,
        plan: &SelectPlan,
        entered: Entered,
        left: Vec<Held<Remembered>>,
        step: &mut Step<'_>,
    ) {
        let (Reading::View(view) | Reading::Pattern { view: Some(view), .. }) = &mut self.reading else {
            return;
        };
        let entered = view.entered_mut(entered);
        for held in entered.iter_mut() {
            held.memory = self.results.enter(plan, step, [Some(&held.event), None]);
        }
        for held in &left {
            step.retained.remove(held.event.weight() + bytes_beside(plan));
            self.results.leave(step, &held.memory);
        }
        let due = self.results.finish(plan, step, entered.iter().map(as_single));
        self.put_out_if(due, plan, step);
    }

    /// Removes the contributions of events that left from the aggregates.
    fn let_go(&mut self, plan: &SelectPlan, left: Vec<Held<Remembered, ()>>, step: &mut Step<'_>) {
        for held in left {
            step.retained.bytes = step.retained.bytes.saturating_sub(bytes_of_memory(plan));
            self.results.leave(step, &held.memory);
        }
    }

    fn take_contents(
        &mut self,
        plan: &SelectPlan,
        source: &SourcePlan,
        change: &WindowChange,
        step: &mut Step<'_>,
    ) {
        let change = self.admitted(source, change, step);
        let Reading::Contents(contents) = &mut self.reading else {
            for (_, event) in &change.entered {
                self.take_one(plan, event, step);
            }
            return;
        };
        for (number, event) in &change.entered {
            let memory = self.results.enter(plan, step, [Some(event), None]);
            step.retained.bytes += bytes_beside(plan);
            contents.insert(*number, Held { event: event.clone(), at: step.world.now, memory });
        }
        for number in &change.left {
            if let Some(held) = contents.remove(number) {
                step.retained.bytes = step.retained.bytes.saturating_sub(bytes_beside(plan));
                self.results.leave(step, &held.memory);
            }
        }
        let entered = change.entered.iter().filter_map(|(number, _)| contents.get(number)).map(as_single);
        let due = self.results.finish(plan, step, entered);
        self.put_out_if(due, plan, step);
    }

    fn pair(&mut self, plan: &SelectPlan, changes: [SideChange; 2], step: &mut Step<'_>) {
        let Reading::Join(join) = &mut self.reading else { return };
        let made = join.pair(changes, plan, &mut self.results, step);
        let due = self.results.finish(plan, step, made.iter().map(Pair::as_sources));
        self.put_out_if(due, plan, step);
    }

    fn put_out_if(&mut self, due: Due, plan: &SelectPlan, step: &mut Step<'_>) {
        if due == Due::Now {
            self.put_out(plan, step);
        }
    }

    fn put_out(&mut self, plan: &SelectPlan, step: &mut Step<'_>) {
        let results = &mut self.results;
        if !Results::needs_contents(plan) {
            return results.put_out(plan, step, std::iter::empty());
        }
        match &self.reading {
            Reading::View(view) | Reading::Pattern { view: Some(view), .. } => {
                results.put_out(plan, step, view.contents().map(as_single));
            }
            Reading::Contents(contents) => results.put_out(plan, step, contents.values().map(as_single)),
            Reading::Join(join) => {
                let pairs = join.contents(plan, results, step);
                results.put_out(plan, step, pairs.iter().map(Pair::as_sources));
            }
            Reading::Passing | Reading::Memories(_) | Reading::Pattern { view: None, .. } => {
                results.put_out(plan, step, std::iter::empty())
            }
        }
    }
}

impl Reading {
    /// Returns the reading of a view: of its events, or only of their contributions where that is enough.
    fn of_view(view: &ViewPlan, plan: &SelectPlan) -> Self {
        if Results::needs_contents(plan) {
            return Self::View(View::new(view));
        }
        match (view, Ring::of(view)) {
            // Events never leave, so nothing need be remembered.
            (ViewPlan::KeepAll, _) => Self::Passing,
            (_, Some(memories)) => Self::Memories(memories),
            (_, None) => Self::View(View::new(view)),
        }
    }
}

/// Returns the approximate size, in bytes, of an event of which only the contributions are kept.
fn bytes_of_memory(plan: &SelectPlan) -> usize {
    MEMORY + Memories::bytes(plan.aggregates.len())
}

/// Returns the approximate size, in bytes, of an event in a window, besides its own.
fn bytes_beside(plan: &SelectPlan) -> usize {
    HELD + Memories::bytes(plan.aggregates.len())
}

fn as_single(held: &Held<Remembered>) -> (Sources<'_>, &Remembered) {
    ([Some(&held.event), None], &held.memory)
}

fn earlier(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
