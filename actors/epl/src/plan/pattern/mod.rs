//! Patterns in which every name is resolved.

mod equality;

use std::sync::Arc;

use super::expression::Expression;
use super::periods::PeriodPlan;
use crate::language::syntax::Schedule;
use crate::value::Match;

pub use equality::Equality;

/// A node of a pattern, in the tree structure of the source text.
#[derive(Debug)]
pub(crate) enum PatternNode {
    Every(Box<PatternNode>),
    Not(Box<PatternNode>),
    /// `repeated until end`; the tags are those of the repeated part.
    Until {
        end: Box<PatternNode>,
        repeated: Box<PatternNode>,
        tags: Vec<u16>,
    },
    And(Vec<PatternNode>),
    Or(Vec<PatternNode>),
    FollowedBy(Vec<PatternNode>),
    Event {
        /// The number of the tag under which the event is kept.
        tag: Option<u16>,
        /// An index into the module's streams.
        stream: usize,
        /// The filter. The match so far is source 0, with an event per tag; the event being tested is source 1.
        filter: Option<Expression>,
    },
    Interval(PeriodPlan),
    At(Schedule),
}

/// A pattern in the form in which it runs: a flat list of nodes, so that running instances refer to a node by
/// index.
#[derive(Debug)]
pub struct PatternPlan {
    /// The nodes in preorder: the root is the first, and each node comes before its descendants.
    steps: Vec<Step>,
    /// For each stream that the pattern reads, the steps that wait for its events. Both are in ascending order.
    waiting: Vec<(usize, Vec<u32>)>,
    /// The empty match, with which every instance starts.
    nothing: Arc<Match>,
}

/// A node of a pattern.
#[derive(Debug)]
pub struct Step {
    pub(crate) kind: StepKind,
    /// The index of this node among its siblings.
    pub position: u32,
    /// The indexes of the child nodes.
    pub children: Vec<u32>,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Every,
    Not,
    /// The first child ends the repetition of the second one. The matches of these tags are collected.
    Until(Vec<u16>),
    And,
    Or,
    FollowedBy,
    Event {
        tag: Option<u16>,
        filter: Option<Filter>,
    },
    Interval(PeriodPlan),
    At(Schedule),
}

/// The filter for the events that a step waits for.
#[derive(Debug)]
pub struct Filter {
    pub(crate) condition: Expression,
    /// Whether the filter depends on the match so far. If it does not, it is the same for all instances of the
    /// step.
    pub about: About,
    /// The equality pairs that serve to find the matching instances without testing each of them.
    pub equality: Option<Equality>,
}

/// The input on which a filter depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The event alone.
    Event,
    /// The event and the match so far.
    Match,
}

impl PatternPlan {
    pub(crate) fn new(root: PatternNode, tags: usize) -> Self {
        let nothing = Arc::new(Match(vec![None; tags].into()));
        let mut plan = Self { steps: Vec::new(), waiting: Vec::new(), nothing };
        plan.append(root, 0);
        plan
    }

    pub(crate) fn step(&self, place: u32) -> &Step {
        &self.steps[place as usize]
    }

    /// Returns the number of nodes.
    pub fn size(&self) -> usize {
        self.steps.len()
    }

    /// Returns the streams that the pattern reads, as indexes into the module's streams.
    pub fn streams(&self) -> impl Iterator<Item = usize> + '_ {
        self.waiting.iter().map(|(stream, _)| *stream)
    }

    /// Returns the steps that wait for events of a stream.
    pub fn waiting_for(&self, stream: usize) -> &[u32] {
        match self.waiting.binary_search_by_key(&stream, |(known, _)| *known) {
            Ok(found) => &self.waiting[found].1,
            Err(_) => &[],
        }
    }

    /// Returns the empty match.
    pub(crate) fn nothing(&self) -> &Arc<Match> {
        &self.nothing
    }

    /// Appends a node and its descendants and returns the node's index. The recursion depth is bounded by the
    /// parser's limit for patterns.
    fn append(&mut self, node: PatternNode, position: u32) -> u32 {
        let place = u32::try_from(self.steps.len()).expect("a text has less than four billion nodes");
        let (kind, below) = match node {
            PatternNode::Every(inner) => (StepKind::Every, vec![*inner]),
            PatternNode::Not(inner) => (StepKind::Not, vec![*inner]),
            PatternNode::Until { end, repeated, tags } => (StepKind::Until(tags), vec![*end, *repeated]),
            PatternNode::And(all) => (StepKind::And, all),
            PatternNode::Or(all) => (StepKind::Or, all),
            PatternNode::FollowedBy(all) => (StepKind::FollowedBy, all),
            PatternNode::Event { tag, stream, filter } => {
                self.note(stream, place);
                (StepKind::Event { tag, filter: filter.map(Filter::new) }, Vec::new())
            }
            PatternNode::Interval(period) => (StepKind::Interval(period), Vec::new()),
            PatternNode::At(schedule) => (StepKind::At(schedule), Vec::new()),
        };
        self.steps.push(Step { kind, position, children: Vec::new() });
        let children = (0..).zip(below).map(|(position, child)| self.append(child, position)).collect();
        self.steps[place as usize].children = children;
        place
    }

    fn note(&mut self, stream: usize, place: u32) {
        match self.waiting.binary_search_by_key(&stream, |(known, _)| *known) {
            Ok(found) => self.waiting[found].1.push(place),
            Err(missing) => self.waiting.insert(missing, (stream, vec![place])),
        }
    }
}

impl Filter {
    fn new(condition: Expression) -> Self {
        let equality = Equality::of(&condition);
        let about = if equality::depends_on_match(&condition) { About::Match } else { About::Event };
        Self { condition, about, equality }
    }
}
