//! Runs scripts: `A1 B1{A1,B1} +10m{A1}` feeds `A1`, then `B1`, which makes a match, then advances the time by ten
//! minutes in one step.
//!
//! The letter is the stream, the number the column `n`, and the value after a colon the column `id`. The run writes
//! the script again with the actual matches, so that a test compares two scripts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use platform_model::origin::Depth;

use crate::language::parse;
use crate::language::syntax::{self, ExpressionKind, Operator, SourceKind, StatementKind};
use crate::plan::expression::{EventPlace, Expression, Filter, Finder, Take};
use crate::plan::pattern::{PatternNode, PatternPlan};
use crate::plan::periods::PeriodPlan;
use crate::runtime::pattern::Found;
use crate::runtime::pattern::PatternState;
use crate::runtime::{Fault, LookUps, World};
use crate::value::{Columns, EvaluationsLeft, ObjectKind, Row, StreamEvent, Type, Value};

/// 2026-11-21T00:00:00Z, a Saturday.
pub(super) const MIDNIGHT: i64 = 1_795_219_200_000;

/// A pattern under test, and its clock.
pub(super) struct Bench {
    pub(super) plan: PatternPlan,
    pub(super) state: PatternState,
    pub(super) now: i64,
    pub(super) found: Found,
    /// The number of expressions that the last step evaluated.
    pub(super) evaluated: u64,
}

/// Runs a script and returns it with the actual matches.
pub(super) fn run(pattern: &str, script: &str) -> String {
    let mut bench = Bench::new(pattern);
    bench.go_on(0);
    let mut written = bench.take_matches();
    for word in script.split_whitespace() {
        let word = word.split('{').next().unwrap();
        if word.is_empty() {
            continue;
        }
        if !written.is_empty() {
            written.push(' ');
        }
        written.push_str(word);
        match word.strip_prefix('+') {
            Some(period) => bench.go_on(millis(period)),
            None => bench.feed(word),
        }
        written.push_str(&bench.take_matches());
    }
    assert_eq!(bench.found.faults, []);
    written
}

/// Runs each script of a table of patterns and scripts.
pub(super) fn check(table: &[(&str, &str)]) {
    for (pattern, script) in table {
        assert_eq!(run(pattern, script), *script, "{pattern}");
    }
}

impl Bench {
    pub(super) fn new(pattern: &str) -> Self {
        let plan = plan(pattern);
        let evaluations = EvaluationsLeft::new(1_000_000);
        let world = World { variables: &[], now: MIDNIGHT, look_ups: &NoStore, evaluations: &evaluations };
        let state = PatternState::start(&plan, &[], &world);
        Self { plan, state, now: MIDNIGHT, found: Found::default(), evaluated: 0 }
    }

    /// Feeds `A1` or `A1:7`.
    pub(super) fn feed(&mut self, word: &str) {
        let stream = usize::from(word.as_bytes()[0] - b'A');
        let (n, id) = word[1..].split_once(':').unwrap_or((&word[1..], "0"));
        self.feed_row(stream, row(stream, n.parse().unwrap(), id.parse().unwrap()));
    }

    pub(super) fn feed_row(&mut self, stream: usize, event: StreamEvent) {
        let evaluations = EvaluationsLeft::new(1_000_000);
        let world = World { variables: &[], now: self.now, look_ups: &NoStore, evaluations: &evaluations };
        self.state.feed(&self.plan, stream, &event, &[], &world, &mut self.found);
        self.evaluated = 1_000_000 - evaluations.get();
    }

    /// Advances the time in one step.
    pub(super) fn go_on(&mut self, millis: i64) {
        self.now += millis;
        while self.state.next_deadline().is_some_and(|deadline| deadline <= self.now) {
            self.advance();
        }
    }

    /// Takes one step at the current time.
    pub(super) fn advance(&mut self) {
        let evaluations = EvaluationsLeft::new(1_000_000);
        let world = World { variables: &[], now: self.now, look_ups: &NoStore, evaluations: &evaluations };
        self.state.advance(&self.plan, &[], &world, &mut self.found);
    }

    pub(super) fn take_matches(&mut self) -> String {
        std::mem::take(&mut self.found.matches).iter().map(shown).collect()
    }
}

pub(super) fn row(stream: usize, n: i64, id: i64) -> StreamEvent {
    let columns = ["stream", "n", "id"].map(|name| (Arc::from(name), Type::Integer)).to_vec();
    let values = [i64::try_from(stream).unwrap(), n, id].map(Value::Integer);
    StreamEvent::Row(Arc::new(Row::new(Arc::new(Columns(columns)), Box::new(values), Depth::default())))
}

fn shown(event: &StreamEvent) -> String {
    let StreamEvent::Match(tags) = event else { panic!("{event:?}") };
    let mut written = String::from("{");
    let all: Vec<_> = tags.events().map(shown_event).collect();
    written += &all.join(",");
    written + "}"
}

/// Writes `A1`, or `[A1,A2]` for the events of a tag before `until`.
fn shown_event(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Match(list) => {
            let all: Vec<_> = list.events().map(shown_event).collect();
            format!("[{}]", all.join(","))
        }
        StreamEvent::Row(row) => {
            let [Value::Integer(stream), Value::Integer(n), _] = &*row.values else { panic!("{row:?}") };
            format!("{}{n}", char::from(b'A' + u8::try_from(*stream).unwrap()))
        }
        StreamEvent::Input(input) => panic!("{input:?}"),
    }
}

fn millis(period: &str) -> i64 {
    let split = period.find(|letter: char| letter.is_alphabetic()).unwrap();
    let number: i64 = period[..split].parse().unwrap();
    number
        * match &period[split..] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            unit => panic!("{unit}"),
        }
}

/// Returns the plan of a pattern over the streams A, B, …; in filters `fails()` fails.
pub(super) fn plan(pattern: &str) -> PatternPlan {
    let module = parse(&format!("module m; select * from pattern [{pattern}];"))
        .unwrap_or_else(|mistake| panic!("{}: {}", mistake.message, &pattern[..pattern.len().min(200)]));
    let StatementKind::Select(select) = &module.statements[0].kind else { panic!("{pattern}") };
    let SourceKind::Pattern(pattern) = &select.sources[0].kind else { panic!("no pattern") };
    let mut tags = BTreeMap::new();
    let root = node(pattern, &mut tags);
    PatternPlan::new(root, tags.len())
}

type TagNumbers = BTreeMap<Arc<str>, u16>;

fn node(pattern: &syntax::Pattern, tags: &mut TagNumbers) -> PatternNode {
    let mut all = |nodes: &[syntax::Pattern]| nodes.iter().map(|inner| node(inner, tags)).collect();
    match pattern {
        syntax::Pattern::Every(inner) => PatternNode::Every(Box::new(node(inner, tags))),
        syntax::Pattern::Not(inner, _) => PatternNode::Not(Box::new(node(inner, tags))),
        syntax::Pattern::Until { repeated, end } => {
            let before = tags.clone();
            let repeated = Box::new(node(repeated, tags));
            let of =
                tags.iter().filter(|(tag, _)| !before.contains_key(*tag)).map(|(_, slot)| *slot).collect();
            PatternNode::Until { end: Box::new(node(end, tags)), repeated, tags: of }
        }
        syntax::Pattern::And(nodes) => PatternNode::And(all(nodes)),
        syntax::Pattern::Or(nodes) => PatternNode::Or(all(nodes)),
        syntax::Pattern::FollowedBy(nodes) => PatternNode::FollowedBy(all(nodes)),
        syntax::Pattern::Event { tag, stream, filter } => {
            let next = u16::try_from(tags.len()).unwrap();
            let tag = tag.as_ref().map(|tag| *tags.entry(Arc::clone(&tag.text)).or_insert(next));
            let filter = filter.as_ref().map(|filter| expression(filter, tag, tags));
            PatternNode::Event { tag, stream: usize::from(stream.text.as_bytes()[0] - b'A'), filter }
        }
        syntax::Pattern::Interval(period) => interval(period, tags),
        syntax::Pattern::At(schedule, _) => PatternNode::At((**schedule).clone()),
    }
}

/// Returns a timer. At most one amount of its period is not a number.
fn interval(period: &syntax::Period, tags: &TagNumbers) -> PatternNode {
    PatternNode::Interval(match period.amounts.first() {
        None => PeriodPlan::Fixed(Duration::from_millis(period.millis)),
        Some((amount, unit)) => {
            let unit = Expression::Literal(Value::Double(unit.millis()));
            let amount = Box::new(expression(amount, None, tags));
            let computed = Expression::Binary(Operator::Multiply, amount, Box::new(unit));
            let fixed = Expression::Literal(Value::Integer(period.millis.try_into().unwrap()));
            let millis = Expression::Binary(Operator::Add, Box::new(fixed), Box::new(computed));
            PeriodPlan::Computed { millis, least: Duration::ZERO }
        }
    })
}

fn expression(source: &syntax::Expression, own: Option<u16>, tags: &TagNumbers) -> Expression {
    let column = |name: &str| ["stream", "n", "id"].iter().position(|known| *known == name).expect(name);
    match &source.kind {
        ExpressionKind::Integer(number) => Expression::Literal(Value::Integer(*number)),
        ExpressionKind::Null => Expression::Literal(Value::Null),
        ExpressionKind::Name(name) => Expression::Column(EventPlace { source: 1, tag: None }, column(name)),
        ExpressionKind::Member(of, member) => {
            let ExpressionKind::Name(name) = &of.kind else { panic!("{of:?}") };
            let tag = tags[name];
            let place = if own == Some(tag) { (1, None) } else { (0, Some(tag)) };
            Expression::Column(EventPlace { source: place.0, tag: place.1 }, column(&member.text))
        }
        ExpressionKind::Call { .. } => Expression::LookUp(
            Finder::By { kind: ObjectKind::Alarm, take: Take::One, filters: vec![Filter::Source] },
            Vec::new(),
        ),
        ExpressionKind::Binary(operator, left, right) => Expression::Binary(
            *operator,
            Box::new(expression(left, own, tags)),
            Box::new(expression(right, own, tags)),
        ),
        other => panic!("{other:?}"),
    }
}

struct NoStore;

impl LookUps for NoStore {
    fn find(&self, _: &Finder, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::new("there is no store"))
    }
}
