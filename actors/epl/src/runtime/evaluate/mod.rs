//! Evaluates expressions.
//!
//! An operator on null gives null, and so do values whose types do not match; `and` and `or` follow three-valued
//! logic. Nothing here panics, whatever the numbers are; an expensive operation counts as several evaluations.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use super::functions::{call, cast, fragments, like};
use super::{Fault, Scope};
use crate::language::syntax::Operator;
use crate::plan::expression::{EventPlace, Expression};
use crate::value::{Plain, Seen, StreamEvent, Value, negate, reckon};

impl Expression {
    /// Evaluates the expression.
    ///
    /// # Errors
    /// A [`Fault`] when the step used up its budget, a look-up fails, or a value exceeds its limits.
    pub(crate) fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, Fault> {
        scope.world.evaluations.spend()?;
        value_of(self, scope)
    }

    /// Returns whether a condition is true; an unknown result counts as false.
    ///
    /// # Errors
    /// See [`evaluate`](Self::evaluate).
    pub(crate) fn is_true(&self, scope: &Scope<'_>) -> Result<bool, Fault> {
        scope.world.evaluations.spend()?;
        Ok(self.see(scope)?.truth() == Some(true))
    }

    /// Evaluates the expression without copying a value that exists already.
    pub(super) fn see<'a>(&'a self, scope: &Scope<'a>) -> Result<Seen<'a>, Fault> {
        let world = scope.world;
        Ok(match self {
            Self::Literal(value) => Seen::Kept(value),
            Self::Event(place) => event(*place, scope).map_or(Seen::Null, Seen::Event),
            Self::Column(place, column) => match event(*place, scope) {
                Some(StreamEvent::Row(row)) => row.values.get(*column).map_or(Seen::Null, Seen::Kept),
                _ => Seen::Null,
            },
            Self::Property(place, property) => match event(*place, scope) {
                Some(StreamEvent::Input(input)) => input.property(*property),
                _ => Seen::Null,
            },
            Self::Member(of, name) => of.see(scope)?.member(name, world.evaluations)?,
            Self::Index(of, at) => {
                let of = of.see(scope)?;
                match at.see(scope)?.plain() {
                    Plain::Number(at) => match at.whole().and_then(|at| usize::try_from(at).ok()) {
                        Some(at) => of.element(at, world.evaluations)?,
                        None => Seen::Null,
                    },
                    Plain::Text(name) => of.member(name, world.evaluations)?,
                    _ => Seen::Null,
                }
            }
            Self::Variable(at) => world.variables.get(*at).map_or(Seen::Null, Seen::Kept),
            Self::ContextKey(at) => scope.keys.get(*at).map_or(Seen::Null, Seen::Kept),
            Self::Aggregate(at) => scope.aggregates.get(*at).map_or(Seen::Null, Seen::Kept),
            Self::Not(value) => truth(value.see(scope)?.truth().map(|value| !value)),
            Self::Negate(value) => match value.see(scope)?.plain() {
                Plain::Number(number) => Seen::Number(negate(number)),
                _ => Seen::Null,
            },
            Self::Binary(operator, left, right) => binary(*operator, left, right, scope)?,
            Self::IsNull { value, negated } => Seen::Boolean(value.see(scope)?.is_null() != *negated),
            Self::In { value, among, negated } => {
                truth(is_among(value, among, scope)?.map(|found| found != *negated))
            }
            Self::Between { value, low, high, negated } => {
                let (value, low, high) = (value.see(scope)?, low.see(scope)?, high.see(scope)?);
                truth(is_between(value.plain(), low.plain(), high.plain()).map(|is| is != *negated))
            }
            Self::Like { value, pattern, escape, negated } => {
                world.evaluations.spend()?;
                let (value, pattern) = (value.see(scope)?, pattern.see(scope)?);
                match (value.plain().text(), pattern.plain().text()) {
                    (Some(value), Some(pattern)) => {
                        Seen::Boolean(like::matches(&value, &pattern, *escape, world)? != *negated)
                    }
                    _ => Seen::Null,
                }
            }
            Self::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    world.evaluations.spend()?;
                    if condition.see(scope)?.truth() == Some(true) {
                        return value.see(scope);
                    }
                }
                match otherwise {
                    Some(otherwise) => otherwise.see(scope)?,
                    None => Seen::Null,
                }
            }
            Self::Cast(value, scalar) => cast::cast(value.see(scope)?, *scalar),
            Self::Call(function, arguments) => call(*function, arguments, scope)?,
            Self::LookUp(finder, arguments) => {
                world.evaluations.spend()?;
                let arguments = values_of(arguments, scope)?;
                Seen::Made(world.look_ups.find(finder, &arguments)?)
            }
            Self::List(elements) => {
                let elements = values_of(elements, scope)?;
                made(Value::List(elements.into()), scope)?
            }
            Self::Fragments(pairs) => made(fragments::nest(pairs, scope)?, scope)?,
        })
    }
}

/// Evaluates an expression into an owned value and charges its size to the budget.
pub(super) fn value_of(expression: &Expression, scope: &Scope<'_>) -> Result<Value, Fault> {
    let seen = expression.see(scope)?;
    scope.world.evaluations.spend_for(seen.cost())?;
    seen.into_value()
}

fn values_of(expressions: &[Expression], scope: &Scope<'_>) -> Result<Vec<Value>, Fault> {
    scope.world.evaluations.spend_for(size_of_val(expressions))?;
    expressions.iter().map(|expression| value_of(expression, scope)).collect()
}

/// Returns the event at a place; none where a tag was not matched.
fn event<'a>(place: EventPlace, scope: &Scope<'a>) -> Option<&'a StreamEvent> {
    let source = (*scope.sources.get(usize::from(place.source))?)?;
    match (place.tag, source) {
        (None, source) => Some(source),
        (Some(tag), StreamEvent::Match(tags)) => tags.get(tag),
        (Some(_), _) => None,
    }
}

fn truth<'a>(value: Option<bool>) -> Seen<'a> {
    value.map_or(Seen::Null, Seen::Boolean)
}

/// Checks that a composed value is within its limits, and charges its size to the budget.
fn made<'a>(value: Value, scope: &Scope<'_>) -> Result<Seen<'a>, Fault> {
    let size = value.size().within_limits()?;
    scope.world.evaluations.spend_for(size.bytes)?;
    Ok(Seen::Made(value))
}

fn binary<'a>(
    operator: Operator,
    left: &'a Expression,
    right: &'a Expression,
    scope: &Scope<'a>,
) -> Result<Seen<'a>, Fault> {
    let ends = match operator {
        Operator::And => false,
        Operator::Or => true,
        _ => {
            let (left, right) = (left.see(scope)?, right.see(scope)?);
            scope.world.evaluations.spend_for(left.length().min(right.length()))?;
            return strict(operator, &left, &right, scope);
        }
    };
    scope.world.evaluations.spend()?;
    let left = left.see(scope)?.truth();
    if left == Some(ends) {
        return Ok(Seen::Boolean(ends));
    }
    let right = right.see(scope)?.truth();
    Ok(match right {
        Some(right) if right == ends => Seen::Boolean(ends),
        // The right operand is known and neutral, so the result is the left operand.
        Some(_) => truth(left),
        None => Seen::Null,
    })
}

/// Evaluates operators for which null on either side gives null.
fn strict<'a>(
    operator: Operator,
    left: &Seen<'_>,
    right: &Seen<'_>,
    scope: &Scope<'_>,
) -> Result<Seen<'a>, Fault> {
    let holds = match operator {
        Operator::Equal => return Ok(truth(left.equals(right))),
        Operator::NotEqual => return Ok(truth(left.equals(right).map(|equal| !equal))),
        Operator::Concatenate => return concatenate(left, right, scope),
        Operator::Less => Ordering::is_lt,
        Operator::LessOrEqual => Ordering::is_le,
        Operator::Greater => Ordering::is_gt,
        Operator::GreaterOrEqual => Ordering::is_ge,
        operator => {
            let (Plain::Number(left), Plain::Number(right)) = (left.plain(), right.plain()) else {
                return Ok(Seen::Null);
            };
            return Ok(reckon(operator, left, right).map_or(Seen::Null, Seen::Number));
        }
    };
    Ok(truth(left.plain().compare(right.plain()).map(holds)))
}

fn concatenate<'a>(left: &Seen<'_>, right: &Seen<'_>, scope: &Scope<'_>) -> Result<Seen<'a>, Fault> {
    let (Some(left), Some(right)) = (left.as_text(), right.as_text()) else { return Ok(Seen::Null) };
    made(Value::Text([left, right].concat().into()), scope)
}

/// Returns whether a value equals one of the given values; lists among them stand for their elements. The result is
/// unknown when none is equal and some cannot be compared.
fn is_among<'a>(
    value: &'a Expression,
    among: &'a [Expression],
    scope: &Scope<'a>,
) -> Result<Option<bool>, Fault> {
    let value = value.see(scope)?;
    if value.is_null() {
        return Ok(None);
    }
    let mut answer = Some(false);
    let length = value.length();
    for expression in among {
        scope.world.evaluations.spend()?;
        scope.world.evaluations.spend_for(length)?;
        let candidate = expression.see(scope)?;
        let made;
        let list = match &candidate {
            Seen::Kept(Value::List(list)) | Seen::Made(Value::List(list)) => Some(list),
            Seen::Json(_) => {
                scope.world.evaluations.spend_for(candidate.cost())?;
                made = candidate.value()?;
                match &made {
                    Value::List(list) => Some(list),
                    _ => None,
                }
            }
            _ => None,
        };
        match list {
            None => match value.equals(&candidate) {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => answer = None,
            },
            Some(list) => {
                scope
                    .world
                    .evaluations
                    .spend_for(list.len().saturating_mul(size_of::<Value>().saturating_add(length)))?;
                for element in &**list {
                    match value.equals(&Seen::Kept(element)) {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => answer = None,
                    }
                }
            }
        }
    }
    Ok(answer)
}

/// Returns whether a value is between two others, both inclusive, whichever of them is larger (as in Esper).
fn is_between(value: Plain<'_>, low: Plain<'_>, high: Plain<'_>) -> Option<bool> {
    let (low, high) = if low.compare(high)?.is_gt() { (high, low) } else { (low, high) };
    Some(value.compare(low)?.is_ge() && value.compare(high)?.is_le())
}
