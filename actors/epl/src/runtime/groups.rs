//! The groups of a statement, each with its aggregates.
//!
//! A statement without `group by` has one group, which is always there. Other groups begin with their first event and
//! are removed with their last one; when events never leave the statement, they stay.

use std::collections::{BTreeMap, HashMap};

use super::Retained;
use super::aggregates::{AggregateState, Span};
use super::output_rate::GroupOutput;
use crate::plan::expression::Aggregate;
use crate::value::{Key, StreamEvent};

/// The approximate size of a group and of each of its aggregates, in bytes.
const GROUP: usize = 256;
const AGGREGATE: usize = 96;

/// The number of a group. Numbers are assigned in the order in which groups begin and are never reused.
pub(super) type GroupId = u64;

#[derive(Debug)]
pub(super) struct Group {
    key: Option<Key>,
    pub(super) aggregates: Box<[AggregateState]>,
    /// The number of events in the group.
    pub(super) events: usize,
    /// The last event that entered, from which the grouping values can be read.
    pub(super) sample: [Option<StreamEvent>; 2],
    sample_bytes: usize,
    /// Whether an event entered or left since the group was last handled.
    pub(super) touched: bool,
    pub(super) output: GroupOutput,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Groups {
    numbers: HashMap<Key, GroupId>,
    groups: BTreeMap<GroupId, Group>,
    next: GroupId,
    span: Span,
    is_grouped: bool,
}

impl Groups {
    pub(super) fn new(is_grouped: bool, aggregates: &[Aggregate], span: Span) -> Self {
        let mut groups = Self { numbers: HashMap::new(), groups: BTreeMap::new(), next: 1, span, is_grouped };
        if !is_grouped {
            groups.groups.insert(0, Group::new(None, aggregates, span));
        }
        groups
    }

    pub(super) fn is_grouped(&self) -> bool {
        self.is_grouped
    }

    /// Returns the group of a key and creates it if there is none.
    pub(super) fn of_key(&mut self, key: Key, aggregates: &[Aggregate], retained: &mut Retained) -> GroupId {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.next;
        self.next += 1;
        let mut group = Group::new(Some(key.clone()), aggregates, self.span);
        group.bytes += group.key_bytes();
        retained.bytes += group.bytes;
        self.groups.insert(number, group);
        self.numbers.insert(key, number);
        number
    }

    pub(super) fn get(&self, number: GroupId) -> Option<&Group> {
        self.groups.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: GroupId) -> Option<&mut Group> {
        self.groups.get_mut(&number)
    }

    /// Marks a group in which an event enters or leaves. With `group by`, its number is added to `touched` once.
    pub(super) fn touch(&mut self, number: GroupId, touched: &mut Vec<GroupId>) -> Option<&mut Group> {
        let group = self.groups.get_mut(&number)?;
        if self.is_grouped && !group.touched {
            group.touched = true;
            touched.push(number);
        }
        Some(group)
    }

    /// Returns the numbers of all groups, in the order they began.
    pub(super) fn numbers(&self) -> Vec<GroupId> {
        self.groups.keys().copied().collect()
    }

    /// Removes a group if no event is in it any more.
    pub(super) fn forget_if_empty(&mut self, number: GroupId, retained: &mut Retained) {
        let is_empty = self.groups.get(&number).is_some_and(|group| group.events == 0 && group.key.is_some());
        if is_empty && self.span == Span::Window {
            self.remove(number, retained);
        }
    }

    /// Resets all groups to the empty state.
    pub(super) fn clear(&mut self, aggregates: &[Aggregate], retained: &mut Retained) {
        if self.is_grouped {
            for number in self.numbers() {
                self.remove(number, retained);
            }
        } else if let Some(group) = self.groups.get_mut(&0) {
            retained.bytes = retained.bytes.saturating_sub(group.grown());
            let output = std::mem::take(&mut group.output);
            *group = Group::new(None, aggregates, self.span);
            group.output = output;
        }
    }

    fn remove(&mut self, number: GroupId, retained: &mut Retained) {
        let Some(mut group) = self.groups.remove(&number) else { return };
        group.output.release(retained);
        if let Some(key) = group.key {
            self.numbers.remove(&key);
            retained.bytes = retained.bytes.saturating_sub(group.bytes);
        }
    }
}

impl Group {
    fn new(key: Option<Key>, aggregates: &[Aggregate], span: Span) -> Self {
        Self {
            key,
            aggregates: aggregates.iter().map(|aggregate| AggregateState::new(aggregate, span)).collect(),
            events: 0,
            sample: [None, None],
            sample_bytes: 0,
            touched: false,
            output: GroupOutput::default(),
            bytes: Self::least(aggregates.len()),
        }
    }

    fn least(aggregates: usize) -> usize {
        GROUP + AGGREGATE * aggregates
    }

    /// Returns the bytes that the aggregates retain beyond the base size of a group.
    fn grown(&self) -> usize {
        self.bytes - Self::least(self.aggregates.len()) - self.key_bytes() - self.sample_bytes
    }

    fn key_bytes(&self) -> usize {
        self.key.iter().flat_map(|key| &key.0).map(|value| value.size().bytes).sum()
    }

    /// Keeps the last event that entered.
    pub(super) fn keep(&mut self, sources: [Option<&StreamEvent>; 2], retained: &mut Retained) {
        let bytes: usize = sources.into_iter().flatten().map(StreamEvent::weight).sum();
        self.bytes = self.bytes - self.sample_bytes + bytes;
        retained.bytes = (retained.bytes + bytes).saturating_sub(self.sample_bytes);
        self.sample_bytes = bytes;
        self.sample = sources.map(Option::<&StreamEvent>::cloned);
    }

    /// Adds bytes by which the aggregates grew.
    pub(super) fn grow(&mut self, bytes: usize, retained: &mut Retained) {
        self.bytes += bytes;
        retained.bytes += bytes;
    }

    /// Subtracts bytes by which the aggregates shrank.
    pub(super) fn shrink(&mut self, bytes: usize, retained: &mut Retained) {
        let bytes = bytes.min(self.grown());
        self.bytes -= bytes;
        retained.bytes = retained.bytes.saturating_sub(bytes);
    }
}
