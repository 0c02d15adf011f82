//! Parses periods: `1 hour 30 minutes`, or a bare number of seconds.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::literal;
use super::super::syntax::{ExpressionKind, Period};
use super::Parser;

/// The longest period in milliseconds: a hundred years of 365 days. With this limit, a time plus a period stays
/// within the range of times.
const LONGEST: f64 = 100.0 * 365.0 * 24.0 * 60.0 * 60.0 * 1000.0;

/// The units with their length in milliseconds.
const UNITS: [(&str, f64); 13] = [
    ("milliseconds", 1.0),
    ("seconds", 1000.0),
    ("minutes", 60_000.0),
    ("hours", 3_600_000.0),
    ("days", 86_400_000.0),
    ("millisecond", 1.0),
    ("second", 1000.0),
    ("minute", 60_000.0),
    ("hour", 3_600_000.0),
    ("day", 86_400_000.0),
    ("msec", 1.0),
    ("sec", 1000.0),
    ("min", 60_000.0),
];

impl Parser<'_> {
    pub(super) fn period(&mut self) -> Result<Period, Mistake> {
        let start = self.current.span;
        let mut millis = 0.0;
        let mut parts = 0;
        while self.current.kind == Kind::Number {
            let number = self.amount()?;
            match self.unit() {
                Some(unit) => millis += number * unit,
                // A number without a unit counts seconds.
                None if parts == 0 && self.current.kind != Kind::Word => millis += number * 1000.0,
                None => {
                    self.tried.extend(UNITS.map(|(word, _)| word).into_iter().take(5));
                    return Err(self.found());
                }
            }
            parts += 1;
        }
        if parts == 0 {
            return Err(self.found_instead_of("a period such as 10 minutes"));
        }
        let span = self.since(start);
        if millis > LONGEST {
            return Err(Mistake::new(span, "a period is at most 36500 days long"));
        }
        // The cast loses nothing, because the value is between 0 and the longest period.
        Ok(Period { millis: millis.round() as u64, span })
    }

    fn amount(&mut self) -> Result<f64, Mistake> {
        let span = self.current.span;
        let number = match literal::number(self.written(span), span)? {
            ExpressionKind::Integer(integer) => integer as f64,
            ExpressionKind::Double(double) => double,
            _ => 0.0,
        };
        self.advance();
        Ok(number)
    }

    /// Consumes a unit and returns its length in milliseconds.
    fn unit(&mut self) -> Option<f64> {
        let (_, millis) = UNITS.into_iter().find(|(word, _)| self.at_word(word))?;
        self.advance();
        Some(millis)
    }
}
