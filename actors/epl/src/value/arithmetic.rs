//! Arithmetic with values: integers stay integers where possible, and nothing panics.

use platform_model::timestamp::Timestamp;
use time::OffsetDateTime;

use super::Value;
use crate::language::syntax::Operator;

/// A number in an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Double(f64),
}

impl Number {
    pub(crate) fn double(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Double(number) => number,
        }
    }

    /// Returns the number truncated to an integer, or `None` if it does not fit into 64 bits.
    pub fn whole(self) -> Option<i64> {
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

/// Returns the 64-bit integer that equals the number exactly.
pub(super) fn whole(number: f64) -> Option<i64> {
    /// 2 to the power of 63 is the first number that is too large; its negative is the smallest that fits.
    const END: f64 = 9_223_372_036_854_775_808.0;
    (number.fract() == 0.0 && (-END..END).contains(&number)).then_some(number as i64)
}

/// Computes an arithmetic operator. Returns `None`, which means null, for a division by zero and for other
/// operators.
///
/// Two integers give an integer, except that `/` always gives a double and that a result beyond 64 bits is a
/// double.
pub(crate) fn reckon(operator: Operator, left: Number, right: Number) -> Option<Number> {
    if let (Number::Integer(left), Number::Integer(right)) = (left, right) {
        let exact = match operator {
            Operator::Add => left.checked_add(right),
            Operator::Subtract => left.checked_sub(right),
            Operator::Multiply => left.checked_mul(right),
            // The smallest integer modulo -1 overflows in hardware; the result is 0.
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

/// Negates the number.
pub(crate) fn negate(number: Number) -> Number {
    match number {
        Number::Integer(number) => {
            number.checked_neg().map_or(Number::Double(-(number as f64)), Number::Integer)
        }
        Number::Double(number) => Number::Double(-number),
    }
}

/// Returns the UTC time that is this many milliseconds after 1970, if its year is valid for a timestamp.
pub fn time_of(milliseconds: i64) -> Option<Timestamp> {
    let nanoseconds = i128::from(milliseconds).checked_mul(1_000_000)?;
    let instant = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok()?;
    (1..=9999).contains(&instant.year()).then(|| Timestamp::stored(instant, 0))
}
