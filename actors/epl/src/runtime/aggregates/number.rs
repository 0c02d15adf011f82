//! Aggregates of numbers: sum, average and standard deviation.

use super::exact_sum::ExactSum;
use crate::value::{Number, Plain, Value};

/// The magnitude above which a square exceeds the range of doubles: 2^480.
const UNSQUARABLE: f64 = 3.121_748_550_315_992e144;

/// Returns the value as a number; a value that is not a number and cannot be converted to one does not count.
pub(super) fn number_of(value: &Value) -> Option<Number> {
    match value.plain() {
        Plain::Number(number) if !number.double().is_nan() => Some(number),
        _ => None,
    }
}

/// The sum and average of the values that are present now.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    count: u64,
    /// The number of values that are doubles; without any the sum is an integer.
    doubles: u64,
    integers: i128,
    sum: ExactSum,
}

impl Sum {
    pub(super) fn enter(&mut self, number: Number) {
        self.count += 1;
        match number {
            Number::Integer(value) => self.integers += i128::from(value),
            Number::Double(value) => {
                self.doubles += 1;
                self.sum.add(value);
            }
        }
    }

    pub(super) fn leave(&mut self, number: Number) {
        self.count = self.count.saturating_sub(1);
        match number {
            Number::Integer(value) => self.integers -= i128::from(value),
            Number::Double(value) => {
                self.doubles = self.doubles.saturating_sub(1);
                self.sum.subtract(value);
            }
        }
    }

    /// Returns the sum; null when there are no values.
    pub(super) fn sum(&self) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        match i64::try_from(self.integers) {
            Ok(sum) if self.doubles == 0 => Value::Integer(sum),
            _ => finite(self.total()),
        }
    }

    /// Returns the average; null when there are no values.
    pub(super) fn average(&self) -> Value {
        if self.count == 0 { Value::Null } else { finite(self.total() / self.count as f64) }
    }

    fn total(&self) -> f64 {
        if self.integers == 0 {
            return self.sum.rounded();
        }
        let high = self.integers as f64;
        let low = (self.integers - high as i128) as f64;
        let mut all = self.sum.clone();
        all.add(high);
        all.add(low);
        all.rounded()
    }
}

/// The standard deviation of a sample. The sum of the squares is held exactly too, so there is no cancellation.
#[derive(Debug, Clone, Default)]
pub(super) struct Deviation {
    count: u64,
    sum: ExactSum,
    squares: ExactSum,
    /// The number of values that cannot be squared; while there is one, the result is null.
    unsquarable: u64,
}

impl Deviation {
    pub(super) fn enter(&mut self, value: f64) {
        if value.abs() < UNSQUARABLE {
            self.count += 1;
            self.sum.add(value);
            self.squares.add_product(value, value);
        } else {
            self.unsquarable += 1;
        }
    }

    pub(super) fn leave(&mut self, value: f64) {
        if value.abs() < UNSQUARABLE {
            self.count = self.count.saturating_sub(1);
            self.sum.subtract(value);
            self.squares.subtract_product(value, value);
        } else {
            self.unsquarable = self.unsquarable.saturating_sub(1);
        }
    }

    /// Returns the deviation; null when there are fewer than two values.
    pub(super) fn value(&self) -> Value {
        if self.count < 2 || self.unsquarable > 0 {
            return Value::Null;
        }
        let count = self.count as f64;
        let mean = self.sum.rounded() / count;
        // The sum of the squared distances from the mean: squares − 2·mean·sum + count·mean².
        let mut distances = self.squares.clone();
        for part in self.sum.parts() {
            distances.add_product(-2.0 * mean, *part);
        }
        let square = mean * mean;
        distances.add_product(count, square);
        distances.add_product(count, mean.mul_add(mean, -square));
        finite((distances.rounded().max(0.0) / (count - 1.0)).sqrt())
    }
}

/// Returns null instead of an infinite value, which JSON cannot express.
fn finite(value: f64) -> Value {
    if value.is_finite() { Value::Double(value) } else { Value::Null }
}
