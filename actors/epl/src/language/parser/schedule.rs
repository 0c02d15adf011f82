//! Parses `timer:at(minute, hour, day of month, month, day of week[, second])`.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::literal;
use super::super::syntax::{ExpressionKind, Schedule, Span};
use super::Parser;

/// A field: its name in messages and its range of values.
#[derive(Debug, Clone, Copy)]
struct Field {
    name: &'static str,
    low: u8,
    high: u8,
}

const MINUTES: Field = Field { name: "minutes", low: 0, high: 59 };
const HOURS: Field = Field { name: "hours", low: 0, high: 23 };
const DAYS_OF_MONTH: Field = Field { name: "days of the month", low: 1, high: 31 };
const MONTHS: Field = Field { name: "months", low: 1, high: 12 };
/// Both 0 and 7 stand for Sunday.
const DAYS_OF_WEEK: Field = Field { name: "days of the week", low: 0, high: 7 };
const SECONDS: Field = Field { name: "seconds", low: 0, high: 59 };

impl Parser<'_> {
    /// Parses the fields between the parentheses.
    pub(super) fn schedule(&mut self) -> Result<Schedule, Mistake> {
        let minutes = self.field(MINUTES)?;
        self.expect(",")?;
        let hours = self.field(HOURS)?;
        self.expect(",")?;
        let days_of_month = self.field(DAYS_OF_MONTH)?;
        self.expect(",")?;
        let months = self.field(MONTHS)?;
        self.expect(",")?;
        let days_of_week = self.field(DAYS_OF_WEEK)?;
        let seconds = if self.accept(",") { self.field(SECONDS)? } else { vec![0] };
        Ok(Schedule { minutes, hours, days_of_month, months, days_of_week, seconds })
    }

    /// Returns the values of a field in ascending order; the list is empty if all values are allowed.
    fn field(&mut self, field: Field) -> Result<Vec<u8>, Mistake> {
        let mut values = Vec::new();
        let closing = if self.accept("[") {
            Some("]")
        } else if self.accept("(") {
            Some(")")
        } else {
            None
        };
        self.values(field, &mut values)?;
        if let Some(closing) = closing {
            while self.accept(",") {
                self.values(field, &mut values)?;
            }
            self.expect(closing)?;
        }
        if (field.low, field.high) == (DAYS_OF_WEEK.low, DAYS_OF_WEEK.high) {
            values.iter_mut().for_each(|day| *day %= 7);
        }
        values.sort_unstable();
        values.dedup();
        let days_of_week = usize::from(field.high == DAYS_OF_WEEK.high);
        let all = usize::from(field.high - field.low) + 1 - days_of_week;
        Ok(if values.len() == all { Vec::new() } else { values })
    }

    /// Parses `*`, `*/10`, `5` or `1-7`.
    fn values(&mut self, field: Field, values: &mut Vec<u8>) -> Result<(), Mistake> {
        if self.accept("*") {
            let mut step = 1;
            if self.accept("/") {
                step = self.step(field)?;
            }
            values.extend((field.low..=field.high).filter(|value| value % step == 0));
            return Ok(());
        }
        let start = self.current.span;
        let low = self.value(field)?;
        if !self.accept("-") && !self.accept(":") {
            values.push(low);
            return Ok(());
        }
        let high = self.value(field)?;
        if low > high {
            let message = format!("a range begins with its lower end, expected {high}-{low}");
            return Err(Mistake::new(self.since(start), message));
        }
        values.extend(low..=high);
        Ok(())
    }

    /// Parses a step. It is at least 1, and small enough for at least one value to match.
    fn step(&mut self, field: Field) -> Result<u8, Mistake> {
        self.number_between(1, field.high, field)
    }

    fn value(&mut self, field: Field) -> Result<u8, Mistake> {
        self.number_between(field.low, field.high, field)
    }

    fn number_between(&mut self, low: u8, high: u8, field: Field) -> Result<u8, Mistake> {
        let Field { name, .. } = field;
        if self.current.kind != Kind::Number {
            return Err(self.found_instead_of("a number"));
        }
        let span: Span = self.current.span;
        let number = match literal::number(self.written(span), span)? {
            ExpressionKind::Integer(number) => u8::try_from(number).ok(),
            _ => None,
        };
        let number = number.filter(|number| (low..=high).contains(number)).ok_or_else(|| {
            let written = self.written(span);
            Mistake::new(span, format!("found '{written}', expected {name} from {low} to {high}"))
        })?;
        self.advance();
        Ok(number)
    }
}
