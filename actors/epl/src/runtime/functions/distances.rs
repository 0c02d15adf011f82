//! `.after(…)` and `.before(…)`: the distance of two times (Q-10a), as in Esper.

use super::cast;
use crate::plan::expression::{Expression, Function};
use crate::runtime::{Fault, Scope};
use crate::value::{Plain, Seen};

/// Returns whether the first time is after (or before) the second one; with bounds, by at least and at most these
/// milliseconds, both inclusive. The result is null if an operand is null or no time.
///
/// # Errors
/// See [`Expression::evaluate`].
pub(super) fn compare<'a>(
    function: Function,
    operands: &'a [Expression],
    scope: &Scope<'a>,
) -> Result<Seen<'a>, Fault> {
    let [one, other, bounds @ ..] = operands else { return Ok(Seen::Null) };
    let (one, other) = (millis(&one.see(scope)?), millis(&other.see(scope)?));
    let (Some(one), Some(other)) = (one, other) else { return Ok(Seen::Null) };
    let distance = if function == Function::After { one - other } else { other - one };
    let mut limits = Vec::with_capacity(2);
    for bound in bounds {
        match bound.see(scope)?.plain() {
            Plain::Number(bound) => limits.push(bound.double()),
            _ => return Ok(Seen::Null),
        }
    }
    Ok(Seen::Boolean(match limits.as_slice() {
        [] => distance > 0.0,
        [least] => distance >= *least,
        [one, other, ..] => (one.min(*other)..=one.max(*other)).contains(&distance),
    }))
}

/// Returns the milliseconds since 1970 that a time or a number stands for.
fn millis(value: &Seen<'_>) -> Option<f64> {
    match value.plain() {
        Plain::Number(number) => Some(number.double()),
        _ => cast::time(value).map(|time| cast::millis(time) as f64),
    }
}
