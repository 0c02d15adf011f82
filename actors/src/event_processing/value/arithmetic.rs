//! Reckoning with values: whole numbers stay whole where they can, and nothing panics.

use time::OffsetDateTime;

use super::Value;
use crate::event_processing::language::syntax::Operator;
use crate::model::timestamp::Timestamp;

/// A number of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Integer(i64),
    Double(f64),
}

impl Number {
    pub(crate) fn double(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Double(number) => number,
        }
    }

    /// The number without its fraction; `None` beyond 64 bits.
    pub(crate) fn whole(self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(number),
            Self::Double(number) => whole(number.trunc()),
        }
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Integer(number) => Self::Integer(number),
            Number::Double(number) => Self::Double(number),
        }
    }
}

/// The 64-bit number that is exactly this.
pub(super) fn whole(number: f64) -> Option<i64> {
    /// 2 to the 63rd, the first that is too large; its negative is the last that fits.
    const END: f64 = 9_223_372_036_854_775_808.0;
    (number.fract() == 0.0 && (-END..END).contains(&number)).then_some(number as i64)
}

/// The result of an arithmetic operator; `None`, which is null, for a division by zero and for other operators.
///
/// Two whole numbers give a whole number, but `/` always gives a double; so does what 64 bits cannot hold.
pub(crate) fn reckon(operator: Operator, left: Number, right: Number) -> Option<Number> {
    if let (Number::Integer(left), Number::Integer(right)) = (left, right) {
        let exact = match operator {
            Operator::Add => left.checked_add(right),
            Operator::Subtract => left.checked_sub(right),
            Operator::Multiply => left.checked_mul(right),
            // The smallest number modulo -1 overflows in the machine; it is 0.
            Operator::Modulo if right != 0 => Some(left.wrapping_rem(right)),
            _ => None,
        };
        if let Some(exact) = exact {
            return Some(Number::Integer(exact));
        }
    }
    let (left, right) = (left.double(), right.double());
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide if right != 0.0 => left / right,
        Operator::Modulo if right != 0.0 => left % right,
        _ => return None,
    };
    Some(Number::Double(result))
}

/// The number with the other sign.
pub(crate) fn negate(number: Number) -> Number {
    match number {
        Number::Integer(number) => {
            number.checked_neg().map_or(Number::Double(-(number as f64)), Number::Integer)
        }
        Number::Double(number) => Number::Double(-number),
    }
}

/// The time so many milliseconds after 1970, in UTC; of the years a timestamp may have.
pub(crate) fn time_of(milliseconds: i64) -> Option<Timestamp> {
    let nanoseconds = i128::from(milliseconds).checked_mul(1_000_000)?;
    let instant = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok()?;
    (1970..=9999).contains(&instant.year()).then(|| Timestamp::stored(instant, 0))
}
