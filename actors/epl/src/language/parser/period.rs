//! Parses periods: `1 hour 30 minutes`, `secs seconds`, or a bare number of seconds (Q-10; Q-10a).

use super::super::Mistake;
use super::super::lexer::{Kind, Token};
use super::super::literal;
use super::super::syntax::{Expression, ExpressionKind, Period, Span, Unit};
use super::Parser;

/// The longest period in milliseconds: a hundred years of 365 days. With this limit, a time plus a period stays
/// within the range of times.
pub(crate) const LONGEST: f64 = 100.0 * 365.0 * 24.0 * 60.0 * 60.0 * 1000.0;

/// The maximum number of amounts of a period that are not numbers. They are added up by nested operators.
const MAX_AMOUNTS: usize = 16;

const UNITS: [(&str, Unit); 13] = [
    ("milliseconds", Unit::Millisecond),
    ("seconds", Unit::Second),
    ("minutes", Unit::Minute),
    ("hours", Unit::Hour),
    ("days", Unit::Day),
    ("millisecond", Unit::Millisecond),
    ("second", Unit::Second),
    ("minute", Unit::Minute),
    ("hour", Unit::Hour),
    ("day", Unit::Day),
    ("msec", Unit::Millisecond),
    ("sec", Unit::Second),
    ("min", Unit::Minute),
];

/// A period while its parts are parsed.
struct Sum {
    millis: f64,
    amounts: Vec<(Expression, Unit)>,
    /// The maximum height of the amounts.
    height: usize,
}

impl Parser<'_> {
    pub(super) fn period(&mut self) -> Result<Period, Mistake> {
        let start = self.current.span;
        let begins =
            matches!(self.current.kind, Kind::Number | Kind::Word | Kind::Escaped | Kind::Symbol("("));
        if !begins {
            return Err(self.found_instead_of("a period such as 10 minutes"));
        }
        let first = self.amount()?;
        let unit = match self.unit() {
            Some(unit) => unit,
            // An amount without a unit counts seconds.
            None if self.current.kind != Kind::Word => Unit::Second,
            None => return Err(self.found_no_unit()),
        };
        self.period_from(first, unit, start)
    }

    /// Parses the period that follows an argument, if a unit does.
    pub(super) fn period_of_argument(&mut self, argument: Expression) -> Result<Expression, Mistake> {
        let span = argument.span;
        let Some(unit) = self.unit() else { return Ok(argument) };
        let period = self.period_from(argument, unit, span)?;
        self.height = self.grown(self.height, span)?;
        let span = period.span;
        Ok(Expression { kind: ExpressionKind::Period(Box::new(period)), span })
    }

    /// Parses the further parts of a period after its first one. The height is the maximum of its amounts.
    fn period_from(&mut self, first: Expression, unit: Unit, start: Span) -> Result<Period, Mistake> {
        let mut sum = Sum { millis: 0.0, amounts: Vec::new(), height: 0 };
        self.add(&mut sum, first, unit)?;
        while self.continues_period() {
            let amount = self.amount()?;
            let Some(unit) = self.unit() else { return Err(self.found_no_unit()) };
            self.add(&mut sum, amount, unit)?;
        }
        let span = self.since(start);
        if sum.millis > LONGEST {
            return Err(Mistake::new(span, "a period is at most 36500 days long"));
        }
        self.height = sum.height;
        // The cast loses nothing, because the value is between 0 and the longest period.
        Ok(Period { millis: sum.millis.round() as u64, amounts: sum.amounts, span })
    }

    fn add(&self, sum: &mut Sum, amount: Expression, unit: Unit) -> Result<(), Mistake> {
        match amount.kind {
            ExpressionKind::Integer(number) => sum.millis += number as f64 * unit.millis(),
            ExpressionKind::Double(number) => sum.millis += number * unit.millis(),
            _ if sum.amounts.len() == MAX_AMOUNTS => {
                let message = format!("a period has at most {MAX_AMOUNTS} amounts that are not numbers");
                return Err(Mistake::new(amount.span, message));
            }
            _ => {
                sum.height = sum.height.max(self.height);
                sum.amounts.push((amount, unit));
            }
        }
        Ok(())
    }

    /// Returns whether another amount follows. A word is one only if a unit or a path follows it.
    fn continues_period(&self) -> bool {
        match self.current.kind {
            Kind::Number | Kind::Symbol("(") => true,
            Kind::Word | Kind::Escaped => {
                matches!(self.next.kind, Kind::Symbol("." | "(" | "[")) || self.unit_of(self.next).is_some()
            }
            _ => false,
        }
    }

    /// Parses a number, a name, a path, a call or an expression in parentheses.
    fn amount(&mut self) -> Result<Expression, Mistake> {
        if self.current.kind != Kind::Number {
            return self.nested(Self::chained);
        }
        let span = self.current.span;
        let kind = literal::number(self.written(span), span)?;
        self.advance();
        Ok(Expression { kind, span })
    }

    /// Consumes a unit.
    fn unit(&mut self) -> Option<Unit> {
        let unit = self.unit_of(self.current)?;
        self.advance();
        Some(unit)
    }

    fn unit_of(&self, token: Token) -> Option<Unit> {
        UNITS.into_iter().find(|(word, _)| self.is_word(token, word)).map(|(_, unit)| unit)
    }

    fn found_no_unit(&mut self) -> Mistake {
        self.tried.extend(UNITS.map(|(word, _)| word).into_iter().take(5));
        self.found()
    }
}
