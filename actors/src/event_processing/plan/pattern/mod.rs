//! Patterns with every name resolved.

mod equality;

use std::sync::Arc;
use std::time::Duration;

use super::expression::Expression;
use crate::event_processing::language::syntax::Schedule;
use crate::event_processing::stream::Match;

pub(crate) use equality::Equality;

/// A pattern as its author wrote it.
#[derive(Debug)]
pub(crate) enum PatternNode {
    Every(Box<PatternNode>),
    Not(Box<PatternNode>),
    And(Vec<PatternNode>),
    Or(Vec<PatternNode>),
    FollowedBy(Vec<PatternNode>),
    Event {
        /// Number of the tag under which the event is kept.
        tag: Option<u16>,
        /// Place among the module's streams.
        stream: usize,
        /// What was matched so far is source 0, by its tags; the event in question is source 1.
        filter: Option<Expression>,
    },
    Interval(Duration),
    At(Schedule),
}

/// A pattern as it runs: its nodes in one row, so that those that live name theirs by its place.
#[derive(Debug)]
pub(crate) struct PatternPlan {
    /// The root is the first; each stands before what is below it.
    steps: Vec<Step>,
    /// For each stream it reads the steps that wait for it; both in ascending order.
    waiting: Vec<(usize, Vec<u32>)>,
    /// What every instance begins with.
    nothing: Arc<Match>,
}

/// One node of a pattern.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    /// Its place among the children of the node above.
    pub(crate) position: u32,
    /// Places of the nodes below.
    pub(crate) children: Vec<u32>,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Every,
    Not,
    And,
    Or,
    FollowedBy,
    Event {
        tag: Option<u16>,
        filter: Option<Filter>,
    },
    /// Milliseconds.
    Interval(i64),
    At(Schedule),
}

/// Which events of its stream a step waits for.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) condition: Expression,
    /// Whether it is the same for all instances of the step, because it asks nothing of what was matched so far.
    pub(crate) about: About,
    /// By which instances that can match are found without asking each.
    pub(crate) equality: Option<Equality>,
}

/// What a filter asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// The event alone.
    Event,
    /// The event and what was matched before.
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

    /// How many nodes it has.
    pub(crate) fn size(&self) -> usize {
        self.steps.len()
    }

    /// The streams it reads, by their place among the module's streams.
    pub(crate) fn streams(&self) -> impl Iterator<Item = usize> + '_ {
        self.waiting.iter().map(|(stream, _)| *stream)
    }

    /// The steps that wait for events of a stream.
    pub(crate) fn waiting_for(&self, stream: usize) -> &[u32] {
        match self.waiting.binary_search_by_key(&stream, |(known, _)| *known) {
            Ok(found) => &self.waiting[found].1,
            Err(_) => &[],
        }
    }

    /// A match of which nothing was met yet.
    pub(crate) fn nothing(&self) -> &Arc<Match> {
        &self.nothing
    }

    /// Appends a node and what is below it. As deep as the parser lets patterns nest.
    fn append(&mut self, node: PatternNode, position: u32) -> u32 {
        let place = u32::try_from(self.steps.len()).expect("a text has less than four billion nodes");
        let (kind, below) = match node {
            PatternNode::Every(inner) => (StepKind::Every, vec![*inner]),
            PatternNode::Not(inner) => (StepKind::Not, vec![*inner]),
            PatternNode::And(all) => (StepKind::And, all),
            PatternNode::Or(all) => (StepKind::Or, all),
            PatternNode::FollowedBy(all) => (StepKind::FollowedBy, all),
            PatternNode::Event { tag, stream, filter } => {
                self.note(stream, place);
                (StepKind::Event { tag, filter: filter.map(Filter::new) }, Vec::new())
            }
            PatternNode::Interval(period) => {
                (StepKind::Interval(i64::try_from(period.as_millis()).unwrap_or(i64::MAX)), Vec::new())
            }
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
        let about = if equality::asks_about_match(&condition) { About::Match } else { About::Event };
        Self { condition, about, equality }
    }
}
