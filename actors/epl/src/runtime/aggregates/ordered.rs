//! Aggregates that need an order: least, greatest, median.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::value::{Number, Value};

/// A value with the total order of all values.
#[derive(Debug, Clone)]
pub(super) struct Ordered(pub(super) Value);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ordered {}

/// The number of occurrences of each value.
#[derive(Debug, Clone, Default)]
pub(super) struct Multiset {
    counts: BTreeMap<Ordered, u32>,
    length: usize,
}

impl Multiset {
    /// Adds a value. Returns whether it was not there before.
    pub(super) fn insert(&mut self, value: Value) -> bool {
        self.length += 1;
        let count = self.counts.entry(Ordered(value)).or_insert(0);
        *count = count.saturating_add(1);
        *count == 1
    }

    /// Removes one occurrence. Returns whether it was the last one of the value, or nothing when the value was not
    /// there.
    pub(super) fn remove(&mut self, value: &Ordered) -> Option<bool> {
        let count = self.counts.get_mut(value)?;
        *count -= 1;
        let gone = *count == 0;
        if gone {
            self.counts.remove(value);
        }
        self.length -= 1;
        Some(gone)
    }

    pub(super) fn least(&self) -> Option<&Value> {
        self.counts.keys().next().map(|value| &value.0)
    }

    pub(super) fn greatest(&self) -> Option<&Value> {
        self.counts.keys().next_back().map(|value| &value.0)
    }

    fn take(&mut self, value: Option<Value>) -> Option<Value> {
        let value = Ordered(value?);
        self.remove(&value);
        Some(value.0)
    }
}

/// The value in the middle, held as a lower and an upper half; the lower half has at most one value more.
#[derive(Debug, Clone, Default)]
pub(super) struct Median {
    lower: Multiset,
    upper: Multiset,
}

impl Median {
    pub(super) fn enter(&mut self, number: Number) {
        let value = Value::Double(number.double());
        let is_low = self.lower.greatest().is_none_or(|middle| value.order(middle).is_le());
        if is_low {
            self.lower.insert(value)
        } else {
            self.upper.insert(value)
        };
        self.balance();
    }

    pub(super) fn leave(&mut self, number: Number) {
        let value = Ordered(Value::Double(number.double()));
        if self.lower.remove(&value).is_none() {
            self.upper.remove(&value);
        }
        self.balance();
    }

    /// Returns the median: the mean of the two values in the middle when their number is even.
    pub(super) fn value(&self) -> Value {
        let Some(Value::Double(low)) = self.lower.greatest() else { return Value::Null };
        match self.upper.least() {
            Some(Value::Double(high)) if self.lower.length == self.upper.length => {
                Value::Double(low / 2.0 + high / 2.0)
            }
            _ => Value::Double(*low),
        }
    }

    fn balance(&mut self) {
        if self.lower.length > self.upper.length + 1 {
            let moved = self.lower.greatest().cloned();
            if let Some(value) = self.lower.take(moved) {
                self.upper.insert(value);
            }
        } else if self.upper.length > self.lower.length {
            let moved = self.upper.least().cloned();
            if let Some(value) = self.upper.take(moved) {
                self.lower.insert(value);
            }
        }
    }
}
