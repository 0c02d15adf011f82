//! The live nodes of a pattern: who stands below whom, who waits for which events, and whose time comes when.

use std::collections::{BTreeSet, HashMap};
use std::mem::size_of;
use std::sync::Arc;

use super::conjunction::Conjunction;
use super::waiting::Waiting;
use crate::event_processing::runtime::Retained;
use crate::event_processing::stream::{Match, StreamEvent};

/// What was matched so far.
pub(super) type Tags = Arc<Match>;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// A live node, or one that was: slots are used again, serials never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Live {
    /// Counts nodes in the order they were made.
    pub(super) serial: u64,
    pub(super) slot: u32,
}

#[derive(Debug)]
pub(super) struct Node {
    /// 0 while the slot is free.
    serial: u64,
    /// What it was when it was begun. None in nodes that handed it on to those below.
    pub(super) tags: Option<Tags>,
    pub(super) detail: Detail,
    /// Its place in the plan.
    pub(super) step: u32,
    parent: u32,
    /// Of the nodes with the same parent.
    previous: u32,
    next: u32,
    /// The first of those below; the free slot after this one.
    first: u32,
}

#[derive(Debug, Default)]
pub(super) enum Detail {
    /// Not begun, or nothing to remember.
    #[default]
    Plain,
    /// An `every` while what it began anew is being started.
    Beginning,
    /// That turned true at once.
    BegunTrue,
    Conjunction(Box<Conjunction>),
    /// Waits for an event. `bucket` is where it is found by the equality of its filter.
    Waits {
        bucket: Option<u64>,
        previous: u32,
        next: u32,
    },
    /// Waits for what never comes.
    InVain,
    /// Waits for a time.
    Due(i64),
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    free: u32,
    live: usize,
    serials: u64,
    /// By the place in the plan.
    pub(super) waiting: HashMap<u32, Waiting>,
    /// Whose time comes when; a tie goes to the older.
    deadlines: BTreeSet<(i64, Live)>,
    /// Nodes that wait for something, and matches that others remember.
    retained: Retained,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            live: 0,
            serials: 0,
            waiting: HashMap::new(),
            deadlines: BTreeSet::new(),
            retained: Retained::default(),
        }
    }
}

impl Tree {
    /// How many nodes live.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn retained(&self) -> Retained {
        self.retained
    }

    /// The node, if it still lives.
    pub(super) fn get(&self, live: Live) -> Option<&Node> {
        self.nodes.get(live.slot as usize).filter(|node| node.serial == live.serial)
    }

    pub(super) fn get_mut(&mut self, live: Live) -> Option<&mut Node> {
        self.nodes.get_mut(live.slot as usize).filter(|node| node.serial == live.serial)
    }

    /// The node in a slot that is known to be used.
    pub(super) fn at(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> &mut Node {
        &mut self.nodes[slot as usize]
    }

    pub(super) fn live_at(&self, slot: u32) -> Live {
        Live { serial: self.at(slot).serial, slot }
    }

    pub(super) fn parent_of(&self, node: &Node) -> Option<Live> {
        (node.parent != NONE).then(|| self.live_at(node.parent))
    }

    /// The steps of the nodes right below.
    pub(super) fn steps_below(&self, node: &Node) -> impl Iterator<Item = u32> + '_ {
        let mut slot = node.first;
        std::iter::from_fn(move || {
            let child = self.nodes.get(slot as usize)?;
            slot = child.next;
            Some(child.step)
        })
    }

    /// Adds a node that is not begun yet.
    pub(super) fn insert(&mut self, step: u32, parent: Option<Live>, tags: Tags) -> Live {
        self.serials += 1;
        let serial = self.serials;
        let parent_slot = parent.map_or(NONE, |parent| parent.slot);
        let next = parent.map_or(NONE, |parent| self.at(parent.slot).first);
        self.retained.bytes += size_of::<Node>() + weight(&tags);
        let node = Node {
            serial,
            tags: Some(tags),
            detail: Detail::Plain,
            step,
            parent: parent_slot,
            previous: NONE,
            next,
            first: NONE,
        };
        let slot = self.occupy(node);
        if next != NONE {
            self.at_mut(next).previous = slot;
        }
        if parent_slot != NONE {
            self.at_mut(parent_slot).first = slot;
        }
        Live { serial, slot }
    }

    /// Counts a node as the youngest, because it begins to wait only now.
    pub(super) fn renew(&mut self, live: Live) -> Live {
        self.serials += 1;
        self.at_mut(live.slot).serial = self.serials;
        self.live_at(live.slot)
    }

    /// Takes from a node what it was begun with, because those below remember it.
    pub(super) fn take_tags(&mut self, slot: u32) -> Option<Tags> {
        let tags = self.at_mut(slot).tags.take()?;
        self.retained.bytes -= weight(&tags);
        Some(tags)
    }

    /// Lets a node wait for a time.
    pub(super) fn wait_until(&mut self, live: Live, due: i64) {
        self.at_mut(live.slot).detail = Detail::Due(due);
        self.deadlines.insert((due, live));
        self.retained.add(0);
    }

    pub(super) fn wait_in_vain(&mut self, live: Live) {
        self.at_mut(live.slot).detail = Detail::InVain;
        self.retained.add(0);
    }

    pub(super) fn next_deadline(&self) -> Option<(i64, Live)> {
        self.deadlines.first().copied()
    }

    /// A conjunction remembers a match.
    pub(super) fn retain(&mut self, tags: &Tags) {
        self.retained.add(weight(tags));
    }

    /// A node waits for events.
    pub(super) fn retain_waiting(&mut self) {
        self.retained.add(0);
    }

    /// Removes a node and all below it.
    pub(super) fn remove(&mut self, slot: u32) {
        self.unlink(slot);
        let mut rest = vec![slot];
        while let Some(slot) = rest.pop() {
            let mut child = self.at(slot).first;
            while child != NONE {
                rest.push(child);
                child = self.at(child).next;
            }
            self.vacate(slot);
        }
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        *self = Self { serials: self.serials, ..Self::default() };
    }

    fn unlink(&mut self, slot: u32) {
        let Node { parent, previous, next, .. } = *self.at(slot);
        if next != NONE {
            self.at_mut(next).previous = previous;
        }
        if previous != NONE {
            self.at_mut(previous).next = next;
        } else if parent != NONE {
            self.at_mut(parent).first = next;
        }
    }

    fn occupy(&mut self, node: Node) -> u32 {
        self.live += 1;
        if self.free == NONE {
            let slot = u32::try_from(self.nodes.len()).expect("budgets end far below four billion nodes");
            self.nodes.push(node);
            return slot;
        }
        let slot = self.free;
        self.free = self.at(slot).first;
        *self.at_mut(slot) = node;
        slot
    }

    fn vacate(&mut self, slot: u32) {
        let live = self.live_at(slot);
        let node = self.at_mut(slot);
        let step = node.step;
        let tags = node.tags.take();
        let detail = std::mem::take(&mut node.detail);
        match detail {
            Detail::Plain | Detail::Beginning | Detail::BegunTrue => {}
            Detail::Conjunction(conjunction) => {
                for tags in conjunction.remembered() {
                    self.retained.remove(weight(tags));
                }
            }
            Detail::Waits { bucket, previous, next } => {
                self.stop_waiting(step, bucket, previous, next);
                self.retained.remove(0);
            }
            Detail::InVain => self.retained.remove(0),
            Detail::Due(due) => {
                self.deadlines.remove(&(due, live));
                self.retained.remove(0);
            }
        }
        self.retained.bytes -= size_of::<Node>() + tags.as_ref().map_or(0, weight);
        let free = self.free;
        let node = self.at_mut(slot);
        node.serial = 0;
        node.first = free;
        self.free = slot;
        self.live -= 1;
        if self.live == 0 {
            self.clear();
        }
    }
}

/// Bytes that a match holds: its own and those of its events.
fn weight(tags: &Tags) -> usize {
    size_of::<Match>() + size_of_val(&*tags.0) + tags.events().map(StreamEvent::weight).sum::<usize>()
}
