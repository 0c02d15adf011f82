//! Plans periods, whose amounts may be variables or properties (Q-10; Q-10a).

use std::time::Duration;

use super::expression::Expression;
use super::module::Planner;
use super::resolve::{Resolver, Sight};
use super::types::{describe, is_number};
use crate::language::syntax::{Operator, Period, Unit, VariableKind};
use crate::language::{LONGEST_PERIOD, Mistake};
use crate::value::{Number, Value, negate, reckon};

/// The shortest period of anything that repeats.
pub(super) const SHORTEST: Duration = Duration::from_millis(100);

/// A period of a plan.
#[derive(Debug)]
pub(crate) enum PeriodPlan {
    Fixed(Duration),
    /// The milliseconds, which are determined when the period begins, and the least of them that is allowed.
    Computed {
        millis: Expression,
        least: Duration,
    },
}

impl Planner<'_> {
    /// Plans a period that is known when the module is deployed: numbers and constant variables. It repeats, so it
    /// must not be shorter than [`SHORTEST`].
    pub(super) fn fixed_period(&self, period: &Period) -> Result<Duration, Mistake> {
        match self.period(period, Sight::of(&[], 0), SHORTEST)? {
            PeriodPlan::Fixed(duration) => Ok(duration),
            PeriodPlan::Computed { .. } => Err(Mistake::new(
                period.span,
                "this period is known when the module is deployed: it consists of numbers and constant variables",
            )),
        }
    }

    /// Plans a period of at least this length.
    pub(super) fn period(
        &self,
        period: &Period,
        sight: Sight<'_>,
        least: Duration,
    ) -> Result<PeriodPlan, Mistake> {
        let millis = Resolver::new(self, sight, "a period").millis(period)?;
        let Some(known) = self.known_number(&millis) else {
            return Ok(PeriodPlan::Computed { millis, least });
        };
        check(known.double(), least).map_err(|message| Mistake::new(period.span, message))?;
        // The cast loses nothing, because the value is between 0 and the longest period.
        Ok(PeriodPlan::Fixed(Duration::from_millis(known.double().round() as u64)))
    }

    /// Returns the number that an expression always has: it consists of numbers and constant variables.
    fn known_number(&self, expression: &Expression) -> Option<Number> {
        match expression {
            Expression::Negate(inner) => self.known_number(inner).map(negate),
            Expression::Binary(operator, one, other) => {
                reckon(*operator, self.known_number(one)?, self.known_number(other)?)
            }
            // The value of a constant is not searched for further constants, which could be exponentially many.
            Expression::Variable(at) if self.variable_kind(*at) == VariableKind::Constant => {
                number(self.variables[*at].initial.as_ref()?)
            }
            expression => number(expression),
        }
    }
}

/// Returns the number that a literal stands for.
fn number(expression: &Expression) -> Option<Number> {
    match expression {
        Expression::Literal(Value::Integer(number)) => Some(Number::Integer(*number)),
        Expression::Literal(Value::Double(number)) => Some(Number::Double(*number)),
        Expression::Negate(inner) => number(inner).map(negate),
        _ => None,
    }
}

impl Resolver<'_, '_> {
    /// Resolves a period to its milliseconds.
    pub(super) fn millis(&mut self, period: &Period) -> Result<Expression, Mistake> {
        let mut sum = Expression::Literal(Value::Integer(i64::try_from(period.millis).unwrap_or(i64::MAX)));
        for (amount, unit) in &period.amounts {
            let typed = self.resolve(amount)?;
            if !is_number(&typed.type_) {
                let given = describe(&typed.type_);
                return Err(Mistake::new(
                    amount.span,
                    format!("a period counts {}, this is {given}", unit.word()),
                ));
            }
            self.planner.spend(4, amount.span)?;
            sum = added(sum, typed.expression, *unit);
        }
        Ok(sum)
    }
}

fn added(sum: Expression, amount: Expression, unit: Unit) -> Expression {
    let unit = Box::new(Expression::Literal(Value::Double(unit.millis())));
    let millis = Expression::Binary(Operator::Multiply, Box::new(amount), unit);
    Expression::Binary(Operator::Add, Box::new(sum), Box::new(millis))
}

/// Checks the length of a period.
///
/// # Errors
/// Returns a sentence that says what is allowed.
pub(crate) fn check(millis: f64, least: Duration) -> Result<(), &'static str> {
    if millis > LONGEST_PERIOD {
        Err("a period is at most 36500 days long")
    } else if millis.is_nan() || millis < 0.0 {
        Err("a period is not negative")
    } else if millis.round() < least.as_millis() as f64 {
        Err("the shortest period is 100 milliseconds")
    } else {
        Ok(())
    }
}
