//! Parses the sources of a statement: streams with filters, patterns, and their views.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::literal;
use super::super::syntax::{
    Direction, Expression, ExpressionKind, Name, Operator, SourceKind, Span, StatementSource, StreamSource,
    View, ViewKind,
};
use super::Parser;

impl Parser<'_> {
    pub(super) fn source(&mut self) -> Result<StatementSource, Mistake> {
        let start = self.current.span;
        let kind = if self.at_word("pattern") && self.next.kind == Kind::Symbol("[") {
            self.advance();
            self.advance();
            let pattern = self.pattern()?;
            self.expect("]")?;
            SourceKind::Pattern(pattern)
        } else {
            let (name, filter) = self.filtered_stream()?;
            SourceKind::Stream { name, filter }
        };
        let view = self.view()?;
        if view.is_some() && self.at(".") {
            return Err(Mistake::new(self.current.span, "a source has one view"));
        }
        let first = self.accept("unidirectional");
        let alias = self.alias()?;
        let only = first || self.accept("unidirectional");
        let direction = if only { Direction::Only } else { Direction::Both };
        Ok(StatementSource { kind, view, alias, direction, span: self.since(start) })
    }

    /// Parses `Stream [alias]` or `Stream(filter) [alias]`.
    pub(super) fn stream(&mut self) -> Result<StreamSource, Mistake> {
        let (name, filter) = self.filtered_stream()?;
        Ok(StreamSource { name, filter, alias: self.alias()? })
    }

    /// Parses a stream name and the filter in parentheses after it.
    pub(super) fn filtered_stream(&mut self) -> Result<(Name, Option<Expression>), Mistake> {
        let name = self.name("the name of a stream")?;
        if !self.accept("(") || self.accept(")") {
            return Ok((name, None));
        }
        let mut filter = self.nested(Self::expression)?;
        let mut height = self.height;
        // Filters separated by commas must all be true.
        while self.accept(",") {
            let other = self.nested(Self::expression)?;
            height = self.grown(height.max(self.height), filter.span)?;
            let span = Span { start: filter.span.start, end: other.span.end };
            let kind = ExpressionKind::Binary(Operator::And, Box::new(filter), Box::new(other));
            filter = Expression { kind, span };
        }
        self.expect(")")?;
        Ok((name, Some(filter)))
    }

    /// Parses a view such as `.win:time(…)`.
    pub(super) fn view(&mut self) -> Result<Option<View>, Mistake> {
        let start = self.current.span;
        if !self.accept(".") {
            return Ok(None);
        }
        let kind = if self.accept("win") {
            self.expect(":")?;
            self.window_view()?
        } else {
            self.expect("std")?;
            self.expect(":")?;
            self.standard_view()?
        };
        self.expect(")")?;
        Ok(Some(View { kind, span: self.since(start) }))
    }

    fn window_view(&mut self) -> Result<ViewKind, Mistake> {
        if self.accept("time") {
            self.expect("(")?;
            Ok(ViewKind::Time(self.period()?))
        } else if self.accept("length") {
            self.expect("(")?;
            Ok(ViewKind::Length(self.count("a number of events")?))
        } else if self.accept("time_batch") {
            self.expect("(")?;
            Ok(ViewKind::TimeBatch(self.period()?))
        } else if self.accept("length_batch") {
            self.expect("(")?;
            Ok(ViewKind::LengthBatch(self.count("a number of events")?))
        } else {
            self.expect("keepall")?;
            self.expect("(")?;
            Ok(ViewKind::KeepAll)
        }
    }

    fn standard_view(&mut self) -> Result<ViewKind, Mistake> {
        if self.accept("lastevent") {
            self.expect("(")?;
            return Ok(ViewKind::LastEvent);
        }
        self.expect("unique")?;
        self.expect("(")?;
        Ok(ViewKind::Unique(self.listed(Self::expression)?))
    }

    /// Parses an integer of at least 1.
    pub(super) fn count(&mut self, what: &'static str) -> Result<u32, Mistake> {
        if self.current.kind != Kind::Number {
            return Err(self.found_instead_of(what));
        }
        let span = self.current.span;
        let ExpressionKind::Integer(number) = literal::number(self.written(span), span)? else {
            return Err(Mistake::new(span, "expected a whole number from 1 to 4294967295"));
        };
        let count = u32::try_from(number).ok().filter(|count| *count > 0);
        let count =
            count.ok_or_else(|| Mistake::new(span, "expected a whole number from 1 to 4294967295"))?;
        self.advance();
        Ok(count)
    }
}
