//! The live nodes of a pattern: their parents and children, the events they wait for, and their deadlines.

use std::collections::{BTreeSet, HashMap};
use std::mem::size_of;
use std::sync::Arc;

use super::conjunction::Conjunction;
use super::repetition::Repetition;
use super::waiting::Waiting;
use crate::runtime::Retained;
use crate::value::{Match, StreamEvent};

/// The events matched so far, by tag.
pub(super) type Tags = Arc<Match>;

/// The value for "no slot".
pub(super) const NONE: u32 = u32::MAX;

/// A reference to a node that is live or was: slots are reused, serials never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Live {
    /// The serial of the node; nodes are counted in the order they were made.
    pub(super) serial: u64,
    pub(super) slot: u32,
}

#[derive(Debug)]
pub(super) struct Node {
    /// The serial of the node; 0 while the slot is free.
    serial: u64,
    /// The match with which the node was begun. None in nodes that passed it on to their children.
    pub(super) tags: Option<Tags>,
    pub(super) detail: Detail,
    /// The position of the node's part in the plan.
    pub(super) step: u32,
    parent: u32,
    /// The siblings of the node.
    previous: u32,
    next: u32,
    /// The first child of the node; in a free slot, the next free slot.
    first: u32,
}

#[derive(Debug, Default)]
pub(super) enum Detail {
    /// The node is not begun, or has nothing to remember.
    #[default]
    Plain,
    /// An `every` while the child that it restarted is being started.
    Beginning,
    /// An `every` whose restarted child turned true at once.
    BegunTrue,
    Conjunction(Box<Conjunction>),
    Repetition(Box<Repetition>),
    /// The node waits for an event. `bucket` is the one in which the equality of its filter places it.
    Waits {
        bucket: Option<u64>,
        previous: u32,
        next: u32,
    },
    /// The node waits for an event that never comes.
    InVain,
    /// The node waits for a time.
    Due(i64),
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    free: u32,
    live: usize,
    serials: u64,
    /// The waiting nodes, by their position in the plan.
    pub(super) waiting: HashMap<u32, Waiting>,
    /// The deadlines of the nodes; of equal ones, the older node comes first.
    deadlines: BTreeSet<(i64, Live)>,
    /// The nodes that wait, and the matches that conjunctions remember.
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
    /// Returns the number of live nodes.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn retained(&self) -> Retained {
        self.retained
    }

    /// Returns the node if it is still live.
    pub(super) fn get(&self, live: Live) -> Option<&Node> {
        self.nodes.get(live.slot as usize).filter(|node| node.serial == live.serial)
    }

    pub(super) fn get_mut(&mut self, live: Live) -> Option<&mut Node> {
        self.nodes.get_mut(live.slot as usize).filter(|node| node.serial == live.serial)
    }

    /// Returns the node in a slot that is known to be used.
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

    /// Returns the steps of the children.
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

    /// Gives a node a new serial as the youngest, because it begins to wait only now.
    pub(super) fn renew(&mut self, live: Live) -> Live {
        self.serials += 1;
        self.at_mut(live.slot).serial = self.serials;
        self.live_at(live.slot)
    }

    /// Takes the match out of a node, because its children remember it.
    pub(super) fn take_tags(&mut self, slot: u32) -> Option<Tags> {
        let tags = self.at_mut(slot).tags.take()?;
        self.retained.bytes -= weight(&tags);
        Some(tags)
    }

    /// Makes a node wait for a time.
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

    /// Counts a match that a conjunction remembers.
    pub(super) fn retain(&mut self, tags: &Tags) {
        self.retained.add(weight(tags));
    }

    /// Counts an event that an `until` remembers.
    pub(super) fn retain_repeated(&mut self, weight: usize) {
        self.retained.add(weight);
    }

    /// Counts a node that waits for events.
    pub(super) fn retain_waiting(&mut self) {
        self.retained.add(0);
    }

    /// Removes a node and all of its descendants.
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

    /// Removes all nodes.
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
            let slot =
                u32::try_from(self.nodes.len()).expect("budgets permit far fewer than four billion nodes");
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
            Detail::Repetition(repetition) => {
                for event in repetition.remembered() {
                    self.retained.remove(event.weight());
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

/// Returns the bytes that a match holds: its own and those of its events.
fn weight(tags: &Tags) -> usize {
    size_of::<Match>() + size_of_val(&*tags.0) + tags.events().map(StreamEvent::weight).sum::<usize>()
}
