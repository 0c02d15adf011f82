//! Parses patterns. The precedence from high to low is: `every` and `not`, `until`, `and`, `or`,
//! `->`.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::syntax::Pattern;
use super::Parser;

impl Parser<'_> {
    /// Parses a pattern within brackets or parentheses.
    pub(super) fn pattern(&mut self) -> Result<Pattern, Mistake> {
        self.chain("->", Pattern::FollowedBy, |parser| {
            parser.chain("or", Pattern::Or, |parser| parser.chain("and", Pattern::And, Self::repetition))
        })
    }

    /// Parses `part` or `part until part`.
    fn repetition(&mut self) -> Result<Pattern, Mistake> {
        let first = self.pattern_part()?;
        if !self.accept("until") {
            return Ok(first);
        }
        let end = Box::new(self.pattern_part()?);
        Ok(Pattern::Until { repeated: Box::new(first), end })
    }

    fn chain(
        &mut self,
        operator: &'static str,
        join: fn(Vec<Pattern>) -> Pattern,
        read: impl Fn(&mut Self) -> Result<Pattern, Mistake>,
    ) -> Result<Pattern, Mistake> {
        let first = read(self)?;
        if !self.accept(operator) {
            return Ok(first);
        }
        let mut parts = vec![first, read(self)?];
        while self.accept(operator) {
            parts.push(read(self)?);
        }
        Ok(join(parts))
    }

    fn pattern_part(&mut self) -> Result<Pattern, Mistake> {
        let span = self.current.span;
        if self.accept("every") {
            return Ok(Pattern::Every(Box::new(self.nested(Self::pattern_part)?)));
        }
        if self.accept("not") {
            return Ok(Pattern::Not(Box::new(self.nested(Self::pattern_part)?), span));
        }
        if self.accept("(") {
            let pattern = self.nested(Self::pattern)?;
            self.expect(")")?;
            return Ok(pattern);
        }
        if self.at_word("timer") && self.next.kind == Kind::Symbol(":") {
            self.advance();
            self.advance();
            return self.timer();
        }
        let has_tag = self.next.kind == Kind::Symbol("=");
        let tag = if has_tag { Some(self.name("a tag")?) } else { None };
        if has_tag {
            self.expect("=")?;
        }
        let (stream, filter) = self.filtered_stream()?;
        Ok(Pattern::Event { tag, stream, filter })
    }

    /// Parses the rest of a timer after `timer:`.
    fn timer(&mut self) -> Result<Pattern, Mistake> {
        let start = self.current.span;
        if self.accept("interval") {
            self.expect("(")?;
            let period = self.period()?;
            self.expect(")")?;
            return Ok(Pattern::Interval(period));
        }
        self.expect("at")?;
        self.expect("(")?;
        let schedule = self.schedule()?;
        self.expect(")")?;
        Ok(Pattern::At(Box::new(schedule), self.since(start)))
    }
}
