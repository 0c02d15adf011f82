//! Aggregates over the events that are in a window now, or over all events since deployment where there is no window
//!
//!
//! Each event costs O(1) or O(log n), regardless of the size of the window. The value that an event contributes is
//! remembered as a [`Memory`], and exactly that value is removed later: the expression is not evaluated again, since a
//! variable in it may have changed by then.
//!
//! As in Esper, null is ignored (for `first` and `last` too, beyond Esper), and an aggregate over no values is null,
//! except `count`, which is 0. `count(*)` counts events. The deviation is that of a sample. `avg`, `median` and
//! `stddev` give doubles; a sum of integers is an integer. Aggregates of numbers ignore values that are not numbers.

mod exact_sum;
mod memories;
mod number;
mod ordered;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use crate::language::syntax::Quantifier;
use crate::plan::expression::{Aggregate, AggregateKind};
use crate::value::{Key, Number, Plain, Value};
pub(super) use memories::Memories;
use number::{Deviation, Sum, number_of};
use ordered::{Median, Multiset, Ordered};

/// Whether the events that enter will leave again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// The events are in a window, so they will leave.
    Window,
    /// The events count since deployment and never leave, so nothing is remembered for them.
    Forever,
}

/// The value that an event contributed to an aggregate. It is small, because it is kept with each event of a window.
#[derive(Debug, Clone, Default)]
pub(super) enum Memory {
    /// The event did not count.
    #[default]
    Nothing,
    /// The event counted; its value is not needed.
    Counted,
    Number(Number),
    /// The sequence number of an event among those that entered.
    Sequence(u64),
    Value(Box<Value>),
}

/// One aggregate of one group.
#[derive(Debug, Clone)]
pub(super) struct AggregateState {
    kind: Kind,
    /// The number of occurrences of each value, for an aggregate over distinct values.
    distinct: Option<HashMap<Key, u32>>,
}

#[derive(Debug, Clone)]
enum Kind {
    Count(u64),
    Sum(Sum),
    Average(Sum),
    Deviation(Deviation),
    Median(Median),
    Least(Multiset),
    Greatest(Multiset),
    /// The least value since deployment; only the best one is kept.
    LeastEver(Best),
    GreatestEver(Best),
    FirstEver(Best),
    LastEver(Best),
    /// The events by their sequence number.
    First(Sequences),
    Last(Sequences),
}

/// The one value that decides the result.
#[derive(Debug, Clone, Default)]
struct Best {
    value: Option<Value>,
    /// The largest number of bytes that it ever took.
    bytes: usize,
}

#[derive(Debug, Clone, Default)]
struct Sequences {
    next: u64,
    values: BTreeMap<u64, Value>,
}

/// The approximate size, in bytes, of a value that an aggregate keeps for itself.
const NODE: usize = 64;

impl AggregateState {
    pub(super) fn new(plan: &Aggregate, span: Span) -> Self {
        let kind = match (plan.kind, span) {
            (AggregateKind::Count, _) => Kind::Count(0),
            (AggregateKind::Sum, _) => Kind::Sum(Sum::default()),
            (AggregateKind::Avg, _) => Kind::Average(Sum::default()),
            (AggregateKind::Stddev, _) => Kind::Deviation(Deviation::default()),
            (AggregateKind::Median, _) => Kind::Median(Median::default()),
            (AggregateKind::Min, Span::Window) => Kind::Least(Multiset::default()),
            (AggregateKind::Max, Span::Window) => Kind::Greatest(Multiset::default()),
            (AggregateKind::First, Span::Window) => Kind::First(Sequences::default()),
            (AggregateKind::Last, Span::Window) => Kind::Last(Sequences::default()),
            (AggregateKind::Min, Span::Forever) => Kind::LeastEver(Best::default()),
            (AggregateKind::Max, Span::Forever) => Kind::GreatestEver(Best::default()),
            (AggregateKind::First, Span::Forever) => Kind::FirstEver(Best::default()),
            (AggregateKind::Last, Span::Forever) => Kind::LastEver(Best::default()),
        };
        // First, last, least and greatest are the same for distinct values as for all values.
        let matters = matches!(
            kind,
            Kind::Count(_) | Kind::Sum(_) | Kind::Average(_) | Kind::Deviation(_) | Kind::Median(_)
        );
        Self { kind, distinct: (plan.quantifier == Quantifier::Distinct && matters).then(HashMap::new) }
    }

    /// Adds the value of an event; `None` is that of `count(*)`. Returns what to remove when the event leaves, and the
    /// approximate number of bytes by which the aggregate grew.
    pub(super) fn enter(&mut self, value: Option<Value>) -> (Memory, usize) {
        let value = match value {
            None => {
                self.kind.enter(&Value::Boolean(true));
                return (Memory::Counted, 0);
            }
            Some(Value::Null) => return (Memory::Nothing, 0),
            Some(value) => value,
        };
        let Some(seen) = &mut self.distinct else { return self.kind.enter(&value) };
        let count = seen.entry(Key(vec![value.clone()])).or_insert(0);
        *count = count.saturating_add(1);
        if *count > 1 {
            return Memory::of_distinct(value, 0);
        }
        let (_, grown) = self.kind.enter(&value);
        Memory::of_distinct(value, grown + NODE)
    }

    /// Removes a contribution. Returns the approximate number of bytes by which the aggregate shrank.
    pub(super) fn leave(&mut self, memory: &Memory) -> usize {
        let Some(seen) = &mut self.distinct else { return self.kind.leave(memory) };
        let Memory::Value(value) = memory else { return self.kind.leave(memory) };
        let key = Key(vec![Value::clone(value)]);
        let bytes = NODE + bytes_of(value);
        let Some(count) = seen.get_mut(&key) else { return 0 };
        *count -= 1;
        if *count > 0 {
            return bytes;
        }
        seen.remove(&key);
        self.kind.leave(&Kind::memory_of(value)) + NODE + bytes
    }

    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Count(count) => Value::Integer(i64::try_from(*count).unwrap_or(i64::MAX)),
            Kind::Sum(sum) => sum.sum(),
            Kind::Average(sum) => sum.average(),
            Kind::Deviation(deviation) => deviation.value(),
            Kind::Median(median) => median.value(),
            Kind::Least(values) => values.least().cloned().unwrap_or(Value::Null),
            Kind::Greatest(values) => values.greatest().cloned().unwrap_or(Value::Null),
            Kind::LeastEver(best)
            | Kind::GreatestEver(best)
            | Kind::FirstEver(best)
            | Kind::LastEver(best) => best.value.clone().unwrap_or(Value::Null),
            Kind::First(all) => all.values.values().next().cloned().unwrap_or(Value::Null),
            Kind::Last(all) => all.values.values().next_back().cloned().unwrap_or(Value::Null),
        }
    }
}

impl Kind {
    fn enter(&mut self, value: &Value) -> (Memory, usize) {
        match self {
            Self::Count(count) => {
                *count += 1;
                (Memory::Counted, 0)
            }
            Self::Sum(sum) | Self::Average(sum) => enter_number(value, |number| {
                sum.enter(number);
                0
            }),
            Self::Deviation(deviation) => enter_number(value, |number| {
                deviation.enter(number.double());
                0
            }),
            Self::Median(median) => enter_number(value, |number| {
                median.enter(number);
                NODE
            }),
            Self::Least(values) | Self::Greatest(values) => {
                let bytes = bytes_of(value);
                let grown = if values.insert(value.clone()) { NODE } else { 0 };
                (Self::memory_of(value), grown + bytes)
            }
            Self::LeastEver(best) => keep_if(best, value, Ordering::is_lt),
            Self::GreatestEver(best) => keep_if(best, value, Ordering::is_gt),
            Self::FirstEver(first) => keep_if(first, value, |_| false),
            Self::LastEver(last) => keep_if(last, value, |_| true),
            Self::First(all) | Self::Last(all) => {
                let number = all.next;
                all.next += 1;
                all.values.insert(number, value.clone());
                (Memory::Sequence(number), NODE + bytes_of(value))
            }
        }
    }

    fn leave(&mut self, memory: &Memory) -> usize {
        match (self, memory) {
            (_, Memory::Nothing) => 0,
            (Self::Count(count), _) => {
                *count = count.saturating_sub(1);
                0
            }
            (Self::Sum(sum) | Self::Average(sum), memory) => {
                if let Some(number) = memory.number() {
                    sum.leave(number);
                }
                0
            }
            (Self::Deviation(deviation), memory) => {
                if let Some(number) = memory.number() {
                    deviation.leave(number.double());
                }
                0
            }
            (Self::Median(median), memory) => memory.number().map_or(0, |number| {
                median.leave(number);
                NODE
            }),
            (Self::Least(values) | Self::Greatest(values), memory) => {
                let Some(value) = memory.value().map(Ordered) else { return 0 };
                let gone = values.remove(&value) == Some(true);
                bytes_of(&value.0) + if gone { NODE } else { 0 }
            }
            (Self::First(all) | Self::Last(all), Memory::Sequence(number)) => {
                all.values.remove(number).map_or(0, |value| NODE + bytes_of(&value))
            }
            _ => 0,
        }
    }

    /// Returns the smallest memory from which the value can be restored.
    fn memory_of(value: &Value) -> Memory {
        match value.plain() {
            Plain::Number(number) => Memory::Number(number),
            _ => Memory::Value(Box::new(value.clone())),
        }
    }
}

impl Memory {
    /// Returns the memory of a distinct value, which is kept whole with each event.
    fn of_distinct(value: Value, grown: usize) -> (Self, usize) {
        let bytes = NODE + bytes_of(&value);
        (Self::Value(Box::new(value)), grown + bytes)
    }

    fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn value(&self) -> Option<Value> {
        match self {
            Self::Number(number) => Some((*number).into()),
            Self::Value(value) => Some(Value::clone(value)),
            Self::Nothing | Self::Counted | Self::Sequence(_) => None,
        }
    }
}

fn enter_number(value: &Value, enter: impl FnOnce(Number) -> usize) -> (Memory, usize) {
    match number_of(value) {
        Some(number) => {
            let grown = enter(number);
            (Kind::memory_of(value), grown)
        }
        None => (Memory::Nothing, 0),
    }
}

/// Keeps the value if it is better; `is_better` receives the comparison of the value with the one that is kept.
fn keep_if(best: &mut Best, value: &Value, is_better: impl FnOnce(Ordering) -> bool) -> (Memory, usize) {
    if best.value.as_ref().is_some_and(|old| !is_better(value.order(old))) {
        return (Memory::Counted, 0);
    }
    let bytes = bytes_of(value);
    let grown = bytes.saturating_sub(best.bytes);
    best.value = Some(value.clone());
    best.bytes += grown;
    (Memory::Counted, grown)
}

/// Returns the bytes that a value takes beyond a number.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Boolean(_) | Value::Integer(_) | Value::Double(_) | Value::Time(_) => 0,
        other => other.size().bytes,
    }
}
